//! Identifiers, each a type of its own so that one can't stand for another.

use bytes::Bytes;
use core::{fmt, num::NonZeroU16};

use crate::text::Text;

/// A packet identifier, 1 to 65,535.
///
/// Spec: [MQTT-2.2.1-3]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketId(NonZeroU16);

impl PacketId {
    /// The identifier `value`, or `None` for 0, which the protocol forbids.
    pub const fn new(value: u16) -> Option<Self> {
        match NonZeroU16::new(value) {
            Some(value) => Some(Self(value)),
            None => None,
        }
    }

    /// The number on the wire.
    pub const fn get(self) -> u16 {
        self.0.get()
    }
}

impl fmt::Debug for PacketId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// A network connection, numbered by the driver and never used twice in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// A session in the broker machine; never used twice in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u64);

/// The place of a commit in the order of commits, from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seq(pub u64);

/// The place of a message in its queue, from 1, never used twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rowid(pub u64);

/// The client identifier that names a session.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(Text);

impl ClientId {
    /// The identifier `text`; any MQTT string, the empty one included.
    pub const fn new(text: Text) -> Self {
        Self(text)
    }

    /// The identifier as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The identifier as shared text.
    pub const fn text(&self) -> &Text {
        &self.0
    }

    /// The bytes of the identifier, shared.
    pub fn to_bytes(&self) -> Bytes {
        self.0.to_bytes()
    }
}

impl fmt::Debug for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}
