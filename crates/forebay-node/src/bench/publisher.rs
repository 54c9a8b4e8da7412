//! A connection that publishes.
//!
//! Owns the window of a publisher and its packet identifiers, which are places in the window.

use std::{future::pending, rc::Rc, time::Duration};

use bytes::Bytes;
use forebay_proto::{Ack, Packet, PacketId, Properties, Publish, QoS, Version, encode};
use tokio::time::sleep;

use super::{
    BenchError, Shared,
    connection::{Connection, text},
    judge,
};

/// Bytes that may wait to be sent before the kernel is asked to take them.
const WRITE_BYTES: usize = 64 * 1024;

struct Publisher {
    shared: Rc<Shared>,
    index: usize,
    connection: Connection,
    /// An encoded message, to copy from.
    template: Vec<u8>,
    /// Where the packet identifier is in it.
    id_at: usize,
    /// Identifiers that are free, and when the message of each was sent.
    free: Vec<u16>,
    sent_at: Vec<u64>,
    sent: u64,
    answered: u64,
    quota: u64,
    audience: u64,
}

/// Publishes the share of publisher `index`.
pub(super) async fn run(shared: Rc<Shared>, index: usize, topic: String, connection: Connection) {
    let window = shared.load.window.min(connection.receive_maximum);
    let (template, id_at) = template(&shared, &topic, connection.version);
    let (quota, audience) = {
        let judge = shared.judge.borrow();
        (judge.quota(index), judge.audience(index))
    };
    let mut publisher = Publisher {
        index,
        connection,
        template,
        id_at,
        free: (1..=window).rev().collect(),
        sent_at: vec![0; usize::from(window) + 1],
        sent: 0,
        answered: 0,
        quota,
        audience,
        shared: Rc::clone(&shared),
    };
    if let Err(error) = publisher.publish().await {
        shared.fail(error);
    }
}

impl Publisher {
    async fn publish(&mut self) -> Result<(), BenchError> {
        loop {
            let pause = self.send()?;
            self.connection.flush()?;
            if self.sent == self.quota && self.answered == self.quota {
                self.shared.news.notify_one();
            }
            let read = self.shared.read.get(self.index);
            tokio::select! {
                waited = self.connection.wait() => waited?,
                () = async {
                    match pause {
                        Some(pause) => sleep(pause).await,
                        None => pending().await,
                    }
                } => {}
                () = async {
                    match read {
                        Some(read) => read.notified().await,
                        None => pending().await,
                    }
                } => {}
            }
            self.receive()?;
        }
    }

    /// Sends what the window and the rate allow; how long to wait for the rate.
    fn send(&mut self) -> Result<Option<Duration>, BenchError> {
        let now = self.shared.now();
        let (allowed, pause) = self.allowed(now);
        let goal = self.quota.min(allowed);
        let before = self.sent;
        while self.sent < goal && self.connection.waiting() < WRITE_BYTES {
            let id = match self.shared.load.qos {
                QoS::AtMostOnce if self.unread() >= u64::from(self.shared.load.window) => break,
                QoS::AtMostOnce => None,
                QoS::AtLeastOnce | QoS::ExactlyOnce => match self.free.pop() {
                    Some(id) => Some(id),
                    None => break,
                },
            };
            self.write(id, now);
            self.sent += 1;
            if self.connection.waiting() >= WRITE_BYTES {
                self.connection.flush()?;
            }
        }
        let count = self.sent - before;
        self.shared
            .published
            .set(self.shared.published.get() + count);
        if self.shared.load.qos == QoS::AtMostOnce && count > 0 {
            self.answered += count;
            self.shared
                .acknowledged
                .set(self.shared.acknowledged.get() + count);
            self.shared.last_ack.set(now);
        }
        Ok(pause.filter(|_| self.sent < self.quota && self.sent >= allowed))
    }

    /// How many messages the rate allows up to `now`, and how long it is to the next.
    #[expect(clippy::cast_sign_loss, reason = "none of the numbers is below zero")]
    fn allowed(&self, now: u64) -> (u64, Option<Duration>) {
        let Some(rate) = self.shared.load.rate else {
            return (u64::MAX, None);
        };
        let share = rate.max(1) as f64 / self.shared.load.publishers as f64;
        // Not all at the same moment.
        let phase = self.index as f64 / self.shared.load.publishers as f64;
        let allowed = (now as f64 / 1e9 * share + phase) as u64;
        let wait = Duration::from_secs_f64(1.0 / share).max(Duration::from_millis(1));
        (allowed, Some(wait))
    }

    /// QoS 0 messages that not all subscribers have read.
    fn unread(&self) -> u64 {
        if self.audience == 0 {
            return 0;
        }
        let read = self.shared.judge.borrow().read(self.index) / self.audience;
        self.sent.saturating_sub(read)
    }

    fn write(&mut self, id: Option<u16>, now: u64) {
        let out = self.connection.write();
        let start = out.len();
        out.extend_from_slice(&self.template);
        if let Some(id) = id {
            put(out, start + self.id_at, &id.to_be_bytes());
            if let Some(sent_at) = self.sent_at.get_mut(usize::from(id)) {
                *sent_at = now;
            }
        }
        let payload = start + self.template.len() - self.shared.load.size;
        put(
            out,
            payload,
            &judge::header(self.index, self.sent as u32, now),
        );
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "whatever else comes ends the run"
    )]
    fn receive(&mut self) -> Result<(), BenchError> {
        let now = self.shared.now();
        while let Some(packet) = self.connection.packet()? {
            match packet {
                Packet::PubAck(ack) | Packet::PubComp(ack) => self.answered(&ack, now),
                Packet::PubRec(ack) if ack.reason.is_error() => self.answered(&ack, now),
                Packet::PubRec(ack) => {
                    self.connection.acknowledge(Packet::PubRel, ack.packet_id)?;
                }
                other => return Err(self.connection.unexpected(&other)),
            }
        }
        Ok(())
    }

    /// The exchange of a message is over.
    fn answered(&mut self, ack: &Ack, now: u64) {
        let id = ack.packet_id.get();
        let Some(sent_at) = self.sent_at.get(usize::from(id)) else {
            return;
        };
        self.answered += 1;
        self.free.push(id);
        self.shared.last_ack.set(now);
        if ack.reason.is_error() {
            self.shared.refused.set(self.shared.refused.get() + 1);
            self.shared.refusal.set(Some(ack.reason));
        } else {
            self.shared
                .acknowledged
                .set(self.shared.acknowledged.get() + 1);
            self.shared
                .ack_latency
                .borrow_mut()
                .record(now.saturating_sub(*sent_at));
        }
    }
}

fn put(out: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = out.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

/// An encoded message, and where its packet identifier is.
fn template(shared: &Shared, topic: &str, version: Version) -> (Vec<u8>, usize) {
    let load = &shared.load;
    let publish = Publish {
        dup: false,
        qos: load.qos,
        retain: false,
        topic: text(topic),
        packet_id: (load.qos != QoS::AtMostOnce)
            .then(|| PacketId::new(1))
            .flatten(),
        properties: Properties::EMPTY,
        payload: Bytes::from(vec![b'.'; load.size]),
    };
    let mut bytes = Vec::new();
    if let Err(error) = encode(&Packet::Publish(publish), version, &mut bytes) {
        shared.fail(BenchError::Lost {
            client: "publisher".to_owned(),
            what: error.to_string(),
        });
    }
    // The identifier stands before the payload and, in MQTT 5, an empty property block.
    let after = load.size + usize::from(version == Version::V5) + 2;
    let id_at = bytes.len().saturating_sub(after);
    (bytes, id_at)
}
