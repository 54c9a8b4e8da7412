//! The receiving half of a session: QoS 2 messages between PUBLISH and PUBREL.
//!
//! Owns [`Inbound`]. Chapter 4.3.3; each message here is an entry of the IN queue.

use alloc::collections::BTreeMap;

use crate::{
    id::{PacketId, Rowid},
    message::Message,
};

/// The receiving half of a session.
#[derive(Debug, Default)]
pub(crate) struct Inbound {
    next_rowid: u64,
    unreleased: BTreeMap<PacketId, (Rowid, Option<Message>)>,
    bytes: u64,
}

impl Inbound {
    /// The half of a session whose queue hands out `next_rowid` next.
    pub(crate) fn new(next_rowid: u64) -> Self {
        Self {
            next_rowid: next_rowid.max(1),
            ..Self::default()
        }
    }

    /// The number of the next message, which is now taken.
    pub(crate) fn take_rowid(&mut self) -> Rowid {
        let rowid = Rowid(self.next_rowid);
        self.next_rowid += 1;
        rowid
    }

    /// Whether a PUBLISH with this identifier was received and not released.
    ///
    /// Spec: [MQTT-4.3.3-10]
    pub(crate) fn contains(&self, id: PacketId) -> bool {
        self.unreleased.contains_key(&id)
    }

    /// Bytes of content held.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Keeps a message until its PUBREL; without content where the store could not read it.
    pub(crate) fn store(&mut self, id: PacketId, rowid: Rowid, message: Option<Message>) {
        self.bytes += size(message.as_ref());
        if let Some((_, old)) = self.unreleased.insert(id, (rowid, message)) {
            self.bytes -= size(old.as_ref());
        }
    }

    /// Takes a message out at its PUBREL.
    pub(crate) fn release(&mut self, id: PacketId) -> Option<(Rowid, Option<Message>)> {
        let (rowid, message) = self.unreleased.remove(&id)?;
        self.bytes -= size(message.as_ref());
        Some((rowid, message))
    }

    /// Ends a connection: the store has the messages for the next.
    pub(crate) fn pause(&mut self) {
        self.unreleased.clear();
        self.bytes = 0;
    }
}

fn size(message: Option<&Message>) -> u64 {
    message.map_or(0, |it| it.encoded().len() as u64)
}
