//! A client and a server that keeps its session, with a pipe between them that loses what is
//! under way at any step. Replay a failure with `FOREBAY_SEED`.

extern crate std;

use alloc::collections::{BTreeMap, BTreeSet};

use super::*;

/// A small generator: xorshift, so that a seed replays a run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }
}

/// The server's half of a session, written from chapter 4.3 apart from the client.
#[derive(Default)]
struct Server {
    session: bool,
    /// QoS 2 identifiers received and not released.
    stored: BTreeSet<PacketId>,
    received: Vec<bytes::Bytes>,
    /// What it sends: payloads by identifier, and whether PUBREC has come.
    sending: BTreeMap<PacketId, (Publish, bool)>,
    connected: bool,
}

impl Server {
    fn handle(&mut self, packet: Packet) -> Vec<Packet> {
        match packet {
            Packet::Connect(_) => {
                let mut replies = vec![connack(self.session, &[Property::ReceiveMaximum(4)])];
                (self.session, self.connected) = (true, true);
                replies.extend(self.sending.iter().map(|(&id, (publish, received))| {
                    if *received {
                        Packet::PubRel(Ack::new(id, ReasonCode::SUCCESS))
                    } else {
                        Packet::Publish(Publish {
                            dup: true,
                            ..publish.clone()
                        })
                    }
                }));
                replies
            }
            Packet::Publish(publish) => {
                let id = publish.packet_id.expect("no QoS 0 here");
                if publish.qos == QoS::AtLeastOnce {
                    self.received.push(publish.payload);
                    return vec![Packet::PubAck(Ack::new(id, ReasonCode::SUCCESS))];
                }
                if self.stored.insert(id) {
                    assert!(self.stored.len() <= 4, "more in flight than was granted");
                    self.received.push(publish.payload);
                }
                vec![Packet::PubRec(Ack::new(id, ReasonCode::SUCCESS))]
            }
            Packet::PubRel(ack) => {
                let known = self.stored.remove(&ack.packet_id);
                let unknown = ReasonCode::PACKET_IDENTIFIER_NOT_FOUND;
                let reason = if known { ReasonCode::SUCCESS } else { unknown };
                vec![Packet::PubComp(Ack::new(ack.packet_id, reason))]
            }
            Packet::PubAck(ack) | Packet::PubComp(ack) => {
                self.sending.remove(&ack.packet_id);
                vec![]
            }
            Packet::PubRec(ack) => {
                if let Some((_, received)) = self.sending.get_mut(&ack.packet_id) {
                    *received = true;
                }
                vec![Packet::PubRel(ack)]
            }
            other => panic!("unexpected {other:?}"),
        }
    }
}

fn payload(number: u32) -> bytes::Bytes {
    bytes::Bytes::copy_from_slice(&number.to_be_bytes())
}

fn run(seed: u64) {
    const MESSAGES: u32 = 60;
    let mut random = Random(seed);
    let mut server = Server::default();
    let mut client = Client::new(ClientConfig {
        session_expiry_secs: u32::MAX,
        clean_start: true,
        ..config()
    });
    let (mut up, mut down) = (VecDeque::new(), VecDeque::new());
    let (mut published, mut verdicts, mut sent, mut delivered) = (0, 0, 0, Vec::new());
    let mut online = false;
    let qos_of = |number: u32| {
        if number.is_multiple_of(2) {
            QoS::AtLeastOnce
        } else {
            QoS::ExactlyOnce
        }
    };
    for step in 0.. {
        assert!(step < 100_000, "seed {seed} comes to no end");
        let done = verdicts == MESSAGES && sent == MESSAGES && server.sending.is_empty();
        if done && down.is_empty() && up.is_empty() {
            break;
        }
        match random.below(if online { 40 } else { 1 }) {
            0 if online => {
                online = false;
                server.connected = false;
                up.clear();
                down.clear();
                client.handle_closed(NOW);
            }
            0 => {
                online = true;
                client.handle_connected(NOW);
            }
            1..=8 if published < MESSAGES => {
                let made = Publish {
                    payload: payload(published),
                    ..message(qos_of(published), "")
                };
                client.publish(made, NOW).expect("room");
                published += 1;
            }
            9..=16 if server.connected && sent < MESSAGES && server.sending.len() < 8 => {
                let id = PacketId::new(sent as u16 + 1).expect("an id");
                let made = Publish {
                    payload: payload(sent),
                    packet_id: Some(id),
                    ..message(qos_of(sent), "")
                };
                server.sending.insert(id, (made.clone(), false));
                down.push_back(Packet::Publish(made));
                sent += 1;
            }
            17..=28 => {
                if let Some(packet) = up.pop_front() {
                    down.extend(server.handle(packet));
                }
            }
            _ => {
                if let Some(packet) = down.pop_front() {
                    client.handle_packet(packet, NOW);
                }
            }
        }
        for output in outputs(&mut client) {
            match output {
                ClientOutput::Transmit(packet) => up.push_back(packet),
                ClientOutput::Close => panic!("seed {seed}: the client closed"),
                ClientOutput::Event(ClientEvent::Published { verdict, .. }) => {
                    assert!(
                        matches!(verdict, Verdict::Delivered(_)),
                        "seed {seed}: {verdict:?}"
                    );
                    verdicts += 1;
                }
                ClientOutput::Event(ClientEvent::Message { publish, .. }) => {
                    delivered.push(publish.payload);
                }
                ClientOutput::Event(_) => {}
            }
        }
    }
    once_and_in_order(seed, "to the server", &server.received, MESSAGES, qos_of);
    once_and_in_order(seed, "to the client", &delivered, MESSAGES, qos_of);
}

/// QoS 2 exactly once, QoS 1 at least once, and first seen in the order of sending.
fn once_and_in_order(
    seed: u64,
    way: &str,
    seen: &[bytes::Bytes],
    messages: u32,
    qos_of: impl Fn(u32) -> QoS,
) {
    let numbers = seen
        .iter()
        .map(|raw| u32::from_be_bytes(raw[..].try_into().expect("4 bytes")));
    let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
    let mut first_seen = Vec::new();
    for number in numbers {
        let count = counts.entry(number).or_default();
        *count += 1;
        if *count == 1 {
            first_seen.push(number);
        }
    }
    for qos in [QoS::AtLeastOnce, QoS::ExactlyOnce] {
        let wanted: Vec<_> = (0..messages)
            .filter(|&number| qos_of(number) == qos)
            .collect();
        let got: Vec<_> = first_seen
            .iter()
            .copied()
            .filter(|&n| qos_of(n) == qos)
            .collect();
        assert_eq!(got, wanted, "seed {seed} {way} {qos:?}");
    }
    let doubled: Vec<_> = counts
        .iter()
        .filter(|(n, c)| **c > 1 && **n % 2 == 1)
        .collect();
    assert_eq!(doubled, [], "seed {seed} {way}: QoS 2 more than once");
}

#[test]
fn whatever_is_cut_qos_2_arrives_once_and_qos_1_at_least_once_in_order_both_ways() {
    if let Ok(seed) = std::env::var("FOREBAY_SEED") {
        return run(seed.parse().expect("a number"));
    }
    for seed in 1..=300_u64 {
        run(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    }
}
