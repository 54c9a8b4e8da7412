//! What is shown of a queue and of a message.

use bytes::Bytes;
use forebay_proto::Message;
use forebay_store::{Content, Outcome, State, UserFlag};

use crate::kept;

/// A queue as it is on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueRow {
    /// Its name: any bytes.
    pub name: Vec<u8>,
    /// Messages that are not done with.
    pub pending: u64,
    /// Those of them that are on their way: their handshake has begun.
    pub inflight: u64,
    /// Those of them that wait for their turn.
    pub queued: u64,
    /// The rowid that the next message gets.
    pub next_rowid: u64,
    /// The lowest pending rowid, or `next_rowid`.
    pub first_pending: u64,
    /// The time of that message.
    pub oldest: Option<u64>,
    /// Whether something of it can't be read.
    pub partial: bool,
}

impl QueueRow {
    /// The client identifier of the session whose queue it is.
    pub fn client_id(&self) -> Option<&[u8]> {
        Some(kept::owner(&self.name)?.0)
    }
}

/// A message in a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MessageRow {
    /// The name of its queue.
    pub queue: Vec<u8>,
    /// Its number in the queue.
    pub rowid: u64,
    /// When it came; `None` where its content can't be read.
    pub time: Option<u64>,
    /// Its flag, all 16 bits.
    pub flag: u16,
    /// Whether it is not done with.
    pub pending: bool,
    /// Its QoS.
    pub qos: u8,
    /// Whether it is a retained message.
    pub retain: bool,
    /// Whether it may have been sent before.
    pub dup: bool,
    /// `IN`, `OUT`, or empty.
    pub direction: String,
    /// `Client`, `Broker` or `None`.
    pub origin: String,
    /// The step of its handshake.
    pub state: String,
    /// Its packet identifier, while it has one.
    pub packet_id: Option<u16>,
    /// `inflight` once its handshake has begun, `queued` before; `None` once it is done with.
    pub list: Option<&'static str>,
    /// Why it was done with: `acked`, `expired`, `dropped` or `dead_lettered`; `None` while it is
    /// pending, and where the record of it is gone.
    pub outcome: Option<&'static str>,
    /// Why it was given up.
    pub reason: Option<&'static str>,
    /// Bytes of its content: topic, properties, payload and 16 more.
    pub len: u32,
    /// The identifiers of the subscriptions that it matched.
    pub subscription_identifiers: Vec<u32>,
    /// What its content says.
    pub body: Option<Body>,
    /// Why its content can't be read or understood.
    pub error: Option<String>,
}

/// What the content of a message says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Body {
    /// Topic Name.
    pub topic: String,
    /// QoS as published.
    pub qos: u8,
    /// RETAIN as published.
    pub retain: bool,
    /// When it loses its meaning, nanoseconds since 1970.
    pub expires_at: Option<u64>,
    /// Its properties as they are sent.
    pub properties: Bytes,
    /// Its payload.
    pub payload: Bytes,
}

/// What a queue says of a message.
pub(super) struct Entry<'a> {
    pub(super) queue: &'a [u8],
    pub(super) rowid: u64,
    pub(super) flag: UserFlag,
    pub(super) packet_id: u16,
    pub(super) outcome: Option<Outcome>,
    pub(super) note: Bytes,
    pub(super) len: u32,
}

impl MessageRow {
    pub(super) fn new(entry: &Entry<'_>, content: Result<Content, String>) -> Self {
        let flag = entry.flag;
        let (outcome, reason) = match entry.outcome.map(kept::outcome_name) {
            Some((outcome, reason)) => (Some(outcome), reason),
            None => (None, None),
        };
        let list = if flag.state() == State::Queued {
            "queued"
        } else {
            "inflight"
        };
        let (time, body, error) = match content {
            Ok(content) => {
                let body = Message::decode(content.bytes).map(|it| Body::new(&it));
                let error = body.is_none().then(|| "this is no message".to_owned());
                (Some(content.time), body, error)
            }
            Err(error) => (None, None, Some(error)),
        };
        Self {
            queue: entry.queue.to_vec(),
            rowid: entry.rowid,
            time,
            flag: flag.bits(),
            pending: flag.pending(),
            qos: flag.qos(),
            retain: flag.retain(),
            dup: flag.dup(),
            direction: flag.direction().to_string(),
            origin: flag.origin().to_string(),
            state: flag.state().to_string(),
            packet_id: (entry.packet_id != 0).then_some(entry.packet_id),
            list: flag.pending().then_some(list),
            outcome,
            reason,
            len: entry.len,
            subscription_identifiers: identifiers(&entry.note),
            body,
            error,
        }
    }

    /// The client identifier of the session whose queue it is in.
    pub fn client_id(&self) -> Option<&[u8]> {
        Some(kept::owner(&self.queue)?.0)
    }
}

impl Body {
    fn new(message: &Message) -> Self {
        let expires_at = message.expires_at();
        Self {
            topic: message.topic().as_str().to_owned(),
            qos: message.qos() as u8,
            retain: message.retain(),
            expires_at: expires_at.map(|at| at.as_millis().saturating_mul(1_000_000)),
            properties: message.properties().to_bytes(),
            payload: message.payload(),
        }
    }
}

/// The subscription identifiers in the note of a message: four bytes each.
fn identifiers(note: &[u8]) -> Vec<u32> {
    let (each, _) = note.as_chunks::<4>();
    each.iter().map(|it| u32::from_be_bytes(*it)).collect()
}
