//! What a session keeps of a message: the step of its delivery, apart from its content.
//!
//! Owns [`Mark`], [`Handshake`], [`Direction`], [`Origin`] and [`Outcome`]. Chapter 4.1.

pub(crate) mod inbound;
pub(crate) mod outbound;

use crate::packet::QoS;

/// Which way a message goes, seen from the client: `In` is what the broker receives from it,
/// `Out` what the broker sends to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the client.
    In,
    /// To the client.
    Out,
}

/// Who made a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A client published it.
    Client,
    /// The broker made it: a will, a retained message, a system topic.
    Broker,
}

/// The step a message has reached in its exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshake {
    /// Out, not sent yet, no packet identifier.
    Queued,
    /// Out, QoS 1, sent.
    WaitForPubAck,
    /// Out, QoS 2, sent.
    WaitForPubRec,
    /// Out, QoS 2, received; PUBREL is owed or under way.
    WaitForPubComp,
    /// In, QoS 2, stored; PUBREC is owed or sent.
    WaitForPubRel,
}

/// The flags of a message in one queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The QoS of this delivery.
    pub qos: QoS,
    /// The RETAIN flag of this delivery.
    pub retain: bool,
    /// Whether it was sent before.
    pub dup: bool,
    /// Who made it.
    pub origin: Origin,
    /// The step it has reached.
    pub state: Handshake,
}

/// Why a message left its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The exchange came to its end.
    Acked,
    /// The receiver refused it.
    Refused,
    /// Its time was up.
    Expired,
    /// Larger than the receiver takes.
    TooLarge,
    /// The queue was at its bound.
    QueueFull,
    /// Its content could not be read.
    Unreadable,
    /// Its receiver may not read it.
    Denied,
}
