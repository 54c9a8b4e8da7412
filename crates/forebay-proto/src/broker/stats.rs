//! Figures of the machine, as values.

use crate::{
    packet::{Packet, QoS},
    session::Outcome,
};

/// Why a message was not delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DropReason {
    /// Its time was up.
    Expired,
    /// Larger than the receiver takes.
    TooLarge,
    /// QoS 0 for a session without a connection.
    Offline,
    /// Made by the broker, where the queue or the retained messages were at their bound.
    Full,
    /// Its content could not be read; it stays in the store.
    Unreadable,
    /// Its receiver may not read it.
    Denied,
}

impl DropReason {
    /// What a message that leaves its queue for this reason is kept as.
    pub(super) const fn outcome(self) -> Outcome {
        match self {
            Self::Expired => Outcome::Expired,
            Self::TooLarge => Outcome::TooLarge,
            Self::Offline | Self::Full => Outcome::QueueFull,
            Self::Unreadable => Outcome::Unreadable,
            Self::Denied => Outcome::Denied,
        }
    }
}

/// Figures since the start; gauges are as of the call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Open connections.
    pub connections: u64,
    /// Sessions, connected or not.
    pub sessions: u64,
    /// Subscriptions.
    pub subscriptions: u64,
    /// Retained messages.
    pub retained: u64,
    /// Messages to clients that are not done with.
    pub queued: u64,
    /// PUBLISH packets received, by QoS.
    pub received: [u64; 3],
    /// PUBLISH packets sent, by QoS.
    pub sent: [u64; 3],
    /// Publishes answered with a refusal.
    pub refused: u64,
    /// Messages dropped because they had expired.
    pub dropped_expired: u64,
    /// Messages dropped because they were larger than the receiver takes.
    pub dropped_too_large: u64,
    /// QoS 0 messages dropped because the session had no connection.
    pub dropped_offline: u64,
    /// Wills and retained messages dropped because the queue they were for was at its bound, and
    /// wills not retained because as many messages were as may be.
    pub dropped_full: u64,
    /// Messages passed over because their content could not be read.
    pub unreadable: u64,
    /// Acknowledgements for identifiers that were not in use, or of the wrong kind.
    pub acks_ignored: u64,
    /// Wills published.
    pub wills: u64,
    /// What was asked for and is not allowed.
    pub denied: Denied,
}

/// What was asked for and is not allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Denied {
    /// CONNECTs.
    pub connect: u64,
    /// Publishes.
    pub publish: u64,
    /// Filters of SUBSCRIBEs.
    pub subscribe: u64,
    /// Messages that a subscriber may not read, once for each.
    pub delivery: u64,
    /// Wills.
    pub will: u64,
}

impl Stats {
    pub(super) fn count_drop(&mut self, drop: DropReason) {
        match drop {
            DropReason::Expired => self.dropped_expired += 1,
            DropReason::TooLarge => self.dropped_too_large += 1,
            DropReason::Offline => self.dropped_offline += 1,
            DropReason::Full => self.dropped_full += 1,
            DropReason::Unreadable => self.unreadable += 1,
            DropReason::Denied => self.denied.delivery += 1,
        }
    }

    pub(super) fn count_received(&mut self, qos: QoS) {
        count(&mut self.received, qos);
    }

    pub(super) fn count_sent(&mut self, packet: &Packet) {
        if let Packet::Publish(publish) = packet {
            count(&mut self.sent, publish.qos);
        }
    }
}

fn count([at_most_once, at_least_once, exactly_once]: &mut [u64; 3], qos: QoS) {
    *match qos {
        QoS::AtMostOnce => at_most_once,
        QoS::AtLeastOnce => at_least_once,
        QoS::ExactlyOnce => exactly_once,
    } += 1;
}
