//! A publisher and a subscriber that lose their connections, and a broker that loses its power,
//! at any step. Replay one seed with `FOREBAY_SEED=n`.

use forebay_proto::{Ack, ConnectionId, Packet, PacketId, Publish, ReasonCode};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::{
    bed::{Bed, durable, publish},
    random::{Random, seeds},
};

/// A publisher that keeps its side of the exchanges across connections.
#[derive(Default)]
struct Publisher {
    connection: Option<ConnectionId>,
    next: u16,
    /// Sent and not acknowledged, in order; `true` once PUBREC came.
    open: VecDeque<(u16, u8, bool)>,
    acknowledged: BTreeSet<u16>,
}

impl Publisher {
    fn send_next(&mut self, bed: &mut Bed, qos: u8) {
        let Some(connection) = self.connection else {
            return;
        };
        self.next += 1;
        self.open.push_back((self.next, qos, false));
        bed.send(
            connection,
            publish("a", &self.next.to_string(), qos, self.next),
        );
    }

    fn reconnect(&mut self, bed: &mut Bed) {
        let (connection, _) = bed.connect(durable("p"));
        self.connection = Some(connection);
        for (id, qos, released) in self.open.clone() {
            if released {
                bed.send(connection, Packet::PubRel(ack(id)));
            } else {
                let Packet::Publish(it) = publish("a", &id.to_string(), qos, id) else {
                    continue;
                };
                bed.send(connection, Packet::Publish(Publish { dup: true, ..it }));
            }
        }
    }

    fn receive(&mut self, bed: &mut Bed) {
        let Some(connection) = self.connection else {
            return;
        };
        for packet in bed.take(connection) {
            match packet {
                Packet::PubAck(it) | Packet::PubComp(it) => {
                    self.open.retain(|(id, ..)| *id != it.packet_id.get());
                    self.acknowledged.insert(it.packet_id.get());
                }
                Packet::PubRec(it) => {
                    for entry in &mut self.open {
                        entry.2 |= entry.0 == it.packet_id.get();
                    }
                    bed.send(
                        connection,
                        Packet::PubRel(Ack::new(it.packet_id, ReasonCode::SUCCESS)),
                    );
                }
                _ => {}
            }
        }
    }
}

/// A subscriber that keeps its side of QoS 2 across connections.
#[derive(Default)]
struct Subscriber {
    connection: Option<ConnectionId>,
    unreleased: BTreeSet<PacketId>,
    /// How often each message was taken, by number, and the order of first sight by QoS.
    taken: BTreeMap<u16, u32>,
    order: BTreeMap<u8, Vec<u16>>,
}

impl Subscriber {
    fn reconnect(&mut self, bed: &mut Bed) {
        let (connection, _) = bed.connect(durable("s"));
        self.connection = Some(connection);
    }

    fn receive(&mut self, bed: &mut Bed, answers: bool) {
        let Some(connection) = self.connection else {
            return;
        };
        for packet in bed.take(connection) {
            let answer = match packet {
                Packet::Publish(it) => {
                    let Some(id) = it.packet_id else {
                        panic!("QoS 0 was never published")
                    };
                    let number: u16 = std::str::from_utf8(&it.payload).unwrap().parse().unwrap();
                    let qos = it.qos as u8;
                    if qos == 1 || self.unreleased.insert(id) {
                        let times = self.taken.entry(number).or_default();
                        *times += 1;
                        if *times == 1 {
                            self.order.entry(qos).or_default().push(number);
                        }
                    }
                    if qos == 1 {
                        Packet::PubAck(ack(id.get()))
                    } else {
                        Packet::PubRec(ack(id.get()))
                    }
                }
                Packet::PubRel(it) => {
                    self.unreleased.remove(&it.packet_id);
                    Packet::PubComp(ack(it.packet_id.get()))
                }
                _ => continue,
            };
            if answers {
                bed.send(connection, answer);
            }
        }
    }
}

fn ack(id: u16) -> Ack {
    Ack::new(PacketId::new(id).unwrap(), ReasonCode::SUCCESS)
}

fn run(seed: u64) {
    let mut random = Random::new(seed);
    let mut bed = Bed::new();
    let (first, _) = bed.connect(durable("s"));
    bed.subscribe(first, "a", 2);
    bed.take(first);
    let mut subscriber = Subscriber {
        connection: Some(first),
        ..Subscriber::default()
    };
    let mut publisher = Publisher::default();
    publisher.reconnect(&mut bed);
    bed.auto_sync = false;
    let mut qos_of = BTreeMap::new();
    for _ in 0..300 {
        match random.below(20) {
            0..=6 => {
                let qos = 1 + random.below(2) as u8;
                if publisher.connection.is_some() {
                    publisher.send_next(&mut bed, qos);
                    qos_of.insert(publisher.next, qos);
                }
            }
            7..=9 => bed.sync(),
            10..=12 => publisher.receive(&mut bed),
            13..=15 => subscriber.receive(&mut bed, true),
            16 => subscriber.receive(&mut bed, false),
            17 => {
                let cut = if random.below(2) == 0 {
                    &mut publisher.connection
                } else {
                    &mut subscriber.connection
                };
                if let Some(connection) = cut.take() {
                    bed.cut(connection);
                }
            }
            18 if random.below(3) == 0 => {
                bed.crash();
                (publisher.connection, subscriber.connection) = (None, None);
            }
            _ => {
                if publisher.connection.is_none() {
                    publisher.reconnect(&mut bed);
                } else if subscriber.connection.is_none() {
                    subscriber.reconnect(&mut bed);
                }
            }
        }
        if publisher.next > 60_000 {
            break;
        }
    }
    // Everything settles once nothing is lost any more.
    bed.auto_sync = true;
    for connection in [publisher.connection.take(), subscriber.connection.take()]
        .into_iter()
        .flatten()
    {
        bed.cut(connection);
    }
    publisher.reconnect(&mut bed);
    subscriber.reconnect(&mut bed);
    for _ in 0..2000 {
        publisher.receive(&mut bed);
        subscriber.receive(&mut bed, true);
    }
    assert!(
        publisher.open.is_empty(),
        "seed {seed}: never answered: {:?}",
        publisher.open
    );
    for number in &publisher.acknowledged {
        let times = subscriber.taken.get(number).copied().unwrap_or(0);
        assert!(
            times >= 1,
            "seed {seed}: acknowledged message {number} was lost"
        );
        assert!(
            qos_of[number] == 1 || times == 1,
            "seed {seed}: QoS 2 message {number} came {times} times"
        );
    }
    for (qos, order) in &subscriber.order {
        assert!(
            order.is_sorted(),
            "seed {seed}: QoS {qos} out of order: {order:?}"
        );
    }
}

#[test]
fn nothing_acknowledged_is_lost_doubled_or_reordered_whatever_is_cut_or_crashes() {
    seeds(400, run);
}
