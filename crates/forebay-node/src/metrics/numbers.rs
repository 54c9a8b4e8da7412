//! The numbers behind the metrics of the broker role.
//!
//! Owns [`Numbers`] and [`StoreNumbers`]: plain values, copied at a scrape.

use forebay_proto::Stats;

use super::Histogram;

/// What a broker has counted since it started, and what it holds now.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers {
    /// Connections that did not get through TLS, WebSocket or the PROXY header.
    pub(crate) turned_away: u64,
    /// Logins refused because too many waited to be checked.
    pub(crate) logins_busy: u64,
    /// Open connections.
    pub(crate) connections: u64,
    /// Connections accepted.
    pub(crate) opened: u64,
    /// Connections refused because of the limit.
    pub(crate) refused: u64,
    /// Connections closed because they didn't read.
    pub(crate) stalled: u64,
    /// PUBLISH packets received, by QoS.
    pub(crate) received: [u64; 3],
    /// PUBLISH packets sent, by QoS.
    pub(crate) sent: [u64; 3],
    /// Acknowledgements of received messages sent.
    pub(crate) acknowledged: Acknowledged,
    /// Bytes received.
    pub(crate) received_bytes: u64,
    /// Bytes sent.
    pub(crate) sent_bytes: u64,
    /// QoS 0 messages dropped because the receiver didn't read.
    pub(crate) slow_reader: u64,
    /// What the machine counts.
    pub(crate) machine: Stats,
    /// Commits that are not durable yet.
    pub(crate) lag_commits: u64,
    /// Bytes of those commits.
    pub(crate) lag_bytes: u64,
    /// How often reading was paused because the disk was behind.
    pub(crate) pauses: u64,
    /// Whether the store takes no new messages for want of space.
    pub(crate) full: bool,
    /// What the disk thread has counted.
    pub(crate) store: StoreNumbers,
}

/// What the disk thread has counted since it started.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StoreNumbers {
    /// Commits made durable.
    pub(crate) commits: u64,
    /// Frames written.
    pub(crate) frames: u64,
    /// Bytes written.
    pub(crate) bytes: u64,
    /// Checkpoints completed.
    pub(crate) checkpoints: u64,
    /// Bytes written again so that old segments die.
    pub(crate) compacted: u64,
    /// Bytes of the log's files.
    pub(crate) disk: u64,
    /// From the handing in of a write to its durability.
    pub(crate) sync: Histogram,
}

/// Acknowledgements sent, by packet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Acknowledged {
    /// PUBACK.
    pub(crate) puback: u64,
    /// PUBREC.
    pub(crate) pubrec: u64,
    /// PUBCOMP.
    pub(crate) pubcomp: u64,
}
