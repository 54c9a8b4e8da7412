//! What a measurement is asked and what it answers.

use std::{io, time::Duration};

use forebay_proto::{QoS, ReasonCode, Version};
use thiserror::Error;

use super::histogram::Histogram;

/// The bytes of a payload that carry publisher, number and time.
pub const HEADER_BYTES: usize = 16;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Load {
    /// The broker, `host:port`.
    pub peer: String,
    /// The version to speak.
    pub version: Version,
    /// Connections that publish, at least 1.
    pub publishers: usize,
    /// Connections that subscribe.
    pub subscribers: usize,
    /// Whether all share one topic; otherwise publisher and subscriber i have one of their own,
    /// and those left over are shared out.
    pub shared_topic: bool,
    /// The QoS of messages and subscriptions.
    pub qos: QoS,
    /// Bytes of a payload, at least [`HEADER_BYTES`].
    pub size: usize,
    /// Messages in all.
    pub messages: u64,
    /// Most unacknowledged messages of a publisher, for QoS 0 most unread ones.
    pub window: u16,
    /// Messages a second in all.
    pub rate: Option<u64>,
    /// Whether the subscribers' sessions outlive their connections.
    pub persistent: bool,
    /// Time without any progress after which what is missing is lost.
    pub patience: Duration,
}

/// How far a measurement has come.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Since the first message.
    pub elapsed: Duration,
    /// Messages sent.
    pub published: u64,
    /// Messages acknowledged; for QoS 0 sent.
    pub acknowledged: u64,
    /// Messages received, by all subscribers together.
    pub received: u64,
    /// Messages that they should receive in the end.
    pub expected: u64,
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct Report {
    /// From the first message to the last acknowledgement or message.
    pub elapsed: Duration,
    /// From the first message to the last acknowledgement.
    pub publishing: Duration,
    /// Messages sent.
    pub published: u64,
    /// Messages acknowledged with success; for QoS 0 sent.
    pub acknowledged: u64,
    /// Messages refused, and the last reason.
    pub refused: u64,
    /// The reason of the last refusal.
    pub refusal: Option<ReasonCode>,
    /// Messages that should have been received.
    pub expected: u64,
    /// Messages received for the first time.
    pub received: u64,
    /// Acknowledged messages that were not received.
    pub lost: u64,
    /// Messages received once more.
    pub doubled: u64,
    /// Messages received after a later one of the same publisher.
    pub reordered: u64,
    /// Messages that nobody sent.
    pub foreign: u64,
    /// From sending to the last acknowledgement of the exchange, nanoseconds.
    pub ack_latency: Histogram,
    /// From sending to receiving, nanoseconds.
    pub delivery_latency: Histogram,
    /// Processor time of the load client itself, where the system tells.
    pub own_cpu: Option<Duration>,
}

impl Report {
    /// Whether every message arrived once and in order.
    pub fn is_flawless(&self) -> bool {
        let faults = self.refused + self.lost + self.doubled + self.reordered + self.foreign;
        faults == 0 && self.acknowledged == self.published
    }
}

/// Why there is no measurement.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BenchError {
    /// The broker can't be reached: check the address, and whether it runs.
    #[error("can't connect to {peer}")]
    Unreachable {
        /// What was asked for.
        peer: String,
        /// What the system said.
        source: io::Error,
    },
    /// The broker did not take a client or its subscription.
    #[error("{client} was refused: {reason}")]
    Refused {
        /// Which client.
        client: String,
        /// Why.
        reason: ReasonCode,
    },
    /// The broker closed a connection or broke the protocol.
    #[error("{client}: {what}")]
    Lost {
        /// Which client.
        client: String,
        /// What happened.
        what: String,
    },
    /// The system refused a thread or a timer.
    #[error("can't start")]
    System {
        /// Why.
        source: io::Error,
    },
}
