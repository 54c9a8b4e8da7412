//! A session as the machine holds it.

use alloc::{boxed::Box, collections::BTreeSet};

use crate::{
    id::{ClientId, ConnectionId},
    message::Message,
    packet::ConnAck,
    session::{inbound::Inbound, outbound::Outbound},
    text::Text,
    time::Instant,
};

/// The session never ends by itself.
pub(super) const NEVER: u32 = u32::MAX;

/// What to publish when a client goes without a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Will {
    /// Will Delay Interval, seconds.
    pub(super) delay_secs: u32,
    /// Message Expiry Interval, seconds from publication.
    pub(super) expiry_secs: Option<u32>,
    /// The message.
    pub(super) message: Message,
}

/// A session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) client_id: ClientId,
    /// Whose it is: the user of its last connection.
    pub(super) user: Option<Text>,
    pub(super) connection: Option<ConnectionId>,
    /// Rises with every connection, so that answers meant for an earlier one are known.
    pub(super) epoch: u64,
    /// Session Expiry Interval, seconds; [`NEVER`] is without end.
    pub(super) expiry_secs: u32,
    pub(super) disconnected_at: Option<Instant>,
    /// When the machine looks at the session next.
    pub(super) watched_until: Option<Instant>,
    pub(super) out: Outbound,
    pub(super) inbound: Inbound,
    pub(super) will: Option<Box<Will>>,
    pub(super) filters: BTreeSet<Text>,
    /// The CONNACK that is owed.
    pub(super) connack: Option<Box<ConnAck>>,
    /// The most messages the client takes at once.
    pub(super) window: u16,
}

impl Session {
    pub(super) fn new(client_id: ClientId) -> Self {
        Self {
            client_id,
            user: None,
            connection: None,
            epoch: 0,
            expiry_secs: 0,
            disconnected_at: None,
            watched_until: None,
            out: Outbound::new(),
            inbound: Inbound::new(1),
            will: None,
            filters: BTreeSet::new(),
            connack: None,
            window: 0,
        }
    }

    /// When the session ends, if its client does not come back.
    pub(super) fn ends_at(&self) -> Option<Instant> {
        let since = self.disconnected_at?;
        (self.expiry_secs != NEVER).then(|| since.after_secs(self.expiry_secs))
    }

    /// When the will is published, if its client does not come back: after its delay, or with the
    /// end of the session where that is sooner.
    ///
    /// Spec: [MQTT-3.1.2-8]
    pub(super) fn will_due_at(&self) -> Option<Instant> {
        let since = self.disconnected_at?;
        let due = since.after_secs(self.will.as_ref()?.delay_secs);
        Some(self.ends_at().map_or(due, |end| end.min(due)))
    }
}
