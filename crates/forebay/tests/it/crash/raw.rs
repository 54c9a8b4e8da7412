//! Publishers of our own, with durable sessions and a window.

use std::{collections::VecDeque, net::SocketAddr};

use super::{Moment, Published, await_moment};
use crate::harness::{
    Broker, Client, Version,
    wire::{PUBACK, PUBCOMP, PUBREC, PUBREL, ack, durable, publish as message},
};

/// A message on its way: its number and whether its PUBREC has come.
struct Open {
    number: usize,
    received: bool,
}

struct Publisher {
    version: Version,
    known: bool,
    window: usize,
    open: VecDeque<Open>,
    published: Published,
}

/// Packet identifiers come round long after the window has passed.
fn packet_id(number: usize) -> u16 {
    (number % 50_000) as u16 + 1
}

/// Publishes `count` messages of each QoS, kills the broker after `moment` acknowledgements and
/// starts it again; goes on to the end if `again`.
pub(super) fn publish(
    broker: &mut Broker,
    version: Version,
    count: u64,
    moment: u64,
    again: bool,
) -> Vec<Published> {
    let mut publishers = [1, 2].map(|qos| Publisher::new(version, qos, count as usize));
    let (ticker, ticked) = Moment::new();
    let address = broker.address();
    std::thread::scope(|scope| {
        for publisher in &mut publishers {
            let ticker = ticker.clone();
            scope.spawn(move || publisher.run(address, &ticker));
        }
        await_moment(&ticked, moment);
        broker.kill();
    });
    broker.run();
    if again {
        let address = broker.address();
        std::thread::scope(|scope| {
            for publisher in &mut publishers {
                let ticker = ticker.clone();
                scope.spawn(move || publisher.run(address, &ticker));
            }
        });
        for publisher in &publishers {
            assert!(
                publisher.done(),
                "not all was acknowledged by a broker that lives"
            );
        }
    }
    publishers.map(|publisher| publisher.published).into()
}

impl Publisher {
    fn new(version: Version, qos: u8, count: usize) -> Self {
        let published = Published {
            topic: format!("load/{qos}"),
            qos,
            sent: 0,
            acked: vec![false; count],
        };
        Self {
            version,
            known: false,
            window: 100,
            open: VecDeque::new(),
            published,
        }
    }

    fn done(&self) -> bool {
        self.published.sent == self.published.acked.len() && self.open.is_empty()
    }

    /// Publishes until all is acknowledged or the connection ends.
    fn run(&mut self, address: SocketAddr, ticker: &Moment) {
        let name = durable(self.version, format!("p{}", self.published.qos));
        let mut client = Client::open(address, self.version);
        client.send_anyway(name.bytes());
        let Some(answer) = client.connack_or_end() else {
            return;
        };
        assert_eq!(answer.code, 0, "CONNACK");
        assert!(
            answer.present || !self.known,
            "the session of a publisher is gone"
        );
        self.known = true;
        self.window = answer.number(0x21, 100).min(100) as usize;
        let mut bytes = Vec::new();
        for open in &self.open {
            bytes.extend(if open.received {
                ack(PUBREL, packet_id(open.number))
            } else {
                self.bytes(open.number, true)
            });
        }
        while !self.done() {
            while self.open.len() < self.window && self.published.sent < self.published.acked.len()
            {
                let number = self.published.sent;
                bytes.extend(self.bytes(number, false));
                self.open.push_back(Open {
                    number,
                    received: false,
                });
                self.published.sent += 1;
            }
            if !bytes.is_empty() {
                client.send_anyway(&bytes);
                bytes.clear();
            }
            let Some(first) = client.frame_while_alive() else {
                return;
            };
            let mut next = Some(first);
            while let Some(frame) = next {
                self.take(&frame, &mut bytes, ticker);
                next = client.frame_at_hand();
            }
        }
    }

    fn bytes(&self, number: usize, dup: bool) -> Vec<u8> {
        let text = format!("{number:06}{}", "x".repeat(94));
        let publish = message(&self.published.topic, text).dup(dup);
        publish
            .qos(self.published.qos, packet_id(number))
            .bytes(self.version)
    }

    fn take(&mut self, frame: &[u8], answer: &mut Vec<u8>, ticker: &Moment) {
        let id = u16::from_be_bytes([frame[2], frame[3]]);
        let reason = frame.get(4).copied().unwrap_or(0);
        let place = self
            .open
            .iter()
            .position(|open| packet_id(open.number) == id);
        let place = place.unwrap_or_else(|| panic!("nothing is open for {frame:02x?}"));
        match (frame[0], self.published.qos) {
            (PUBREC, 2) => {
                assert!(reason < 0x80, "{frame:02x?}");
                self.open[place].received = true;
                answer.extend(ack(PUBREL, id));
            }
            (PUBACK, 1) | (PUBCOMP, 2) => {
                // A broker that finished before it died does not know the identifier any more.
                assert!(
                    reason < 0x80 || (frame[0], reason) == (PUBCOMP, 0x92),
                    "{frame:02x?}"
                );
                let open = self.open.remove(place).expect("it was found");
                assert!(open.received || frame[0] == PUBACK, "PUBCOMP before PUBREC");
                self.published.acked[open.number] = true;
                ticker.tick();
            }
            _ => panic!("{frame:02x?} to a publisher of QoS {}", self.published.qos),
        }
    }
}
