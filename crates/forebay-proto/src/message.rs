//! An application message as it is held and stored: one buffer, read in place.
//!
//! Owns [`Message`]. The encoding is the content of a queue entry and the value of a retained
//! row, so it is a stored format; numbers are big-endian:
//!
//! ```text
//! 0  u8   version, 1
//! 1  u8   bits 0-1 QoS as published, bit 2 RETAIN as published, bit 3 expiry present
//! 2  u64  expiry, milliseconds since the Unix epoch, 0 without
//! 10 u16  length of the topic name
//! 12 u32  length of the properties that travel with the message
//! 16      topic name, properties, payload
//! ```

use alloc::vec::Vec;
use bytes::Bytes;

use crate::{packet::QoS, property::Properties, text::Text, time::Instant};

const VERSION: u8 = 1;
const HEADER: usize = 16;
const RETAIN: u8 = 0x04;
const EXPIRES: u8 = 0x08;

/// An application message in one shared buffer: a clone costs a reference count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    encoded: Bytes,
}

/// What a message is made of.
#[derive(Clone, Debug)]
pub struct Parts<'a> {
    /// Topic Name.
    pub topic: &'a Text,
    /// QoS as published.
    pub qos: QoS,
    /// RETAIN as published.
    pub retain: bool,
    /// When it loses its meaning.
    pub expires_at: Option<Instant>,
    /// The properties that travel with it, without Message Expiry Interval, Topic Alias and
    /// Subscription Identifier.
    pub properties: &'a Properties,
    /// The payload.
    pub payload: &'a Bytes,
}

impl Message {
    /// The message made of `parts`, in a buffer of its own.
    pub fn new(parts: &Parts<'_>) -> Self {
        let (topic, properties) = (parts.topic.as_bytes(), parts.properties.as_bytes());
        let mut bytes =
            Vec::with_capacity(HEADER + topic.len() + properties.len() + parts.payload.len());
        let retain = if parts.retain { RETAIN } else { 0 };
        let expires = if parts.expires_at.is_some() {
            EXPIRES
        } else {
            0
        };
        bytes.extend([VERSION, parts.qos as u8 | retain | expires]);
        bytes.extend(parts.expires_at.map_or(0, Instant::as_millis).to_be_bytes());
        bytes.extend((topic.len() as u16).to_be_bytes());
        bytes.extend((properties.len() as u32).to_be_bytes());
        bytes.extend_from_slice(topic);
        bytes.extend_from_slice(properties);
        bytes.extend_from_slice(parts.payload);
        Self {
            encoded: Bytes::from(bytes),
        }
    }

    /// The message that `encoded` holds, or `None` where it is none of a version known here.
    pub fn decode(encoded: Bytes) -> Option<Self> {
        let message = Self { encoded };
        let [version, flags] = message.array(0)?;
        let body = message.encoded.len().checked_sub(HEADER)?;
        let lengths = message.topic_len().checked_add(message.properties_len())?;
        let known = version == VERSION && QoS::new(flags & 3).is_some() && lengths <= body;
        (known && Text::new(message.topic_bytes()).is_some()).then_some(message)
    }

    /// The stored form.
    pub const fn encoded(&self) -> &Bytes {
        &self.encoded
    }

    /// Topic Name.
    pub fn topic(&self) -> Text {
        Text::new(self.topic_bytes()).unwrap_or_default()
    }

    /// The properties that travel with the message.
    pub fn properties(&self) -> Properties {
        let start = HEADER + self.topic_len();
        Properties::trusted(self.encoded.slice(start..start + self.properties_len()))
    }

    /// The payload.
    pub fn payload(&self) -> Bytes {
        self.encoded
            .slice(HEADER + self.topic_len() + self.properties_len()..)
    }

    /// QoS as published.
    pub fn qos(&self) -> QoS {
        QoS::new(self.flags() & 3).unwrap_or_default()
    }

    /// RETAIN as published.
    pub fn retain(&self) -> bool {
        self.flags() & RETAIN != 0
    }

    /// When the message loses its meaning.
    pub fn expires_at(&self) -> Option<Instant> {
        let at = u64::from_be_bytes(self.array(2).unwrap_or_default());
        (self.flags() & EXPIRES != 0).then_some(Instant::from_millis(at))
    }

    /// Whether the message has lost its meaning at `now`.
    ///
    /// Spec: [MQTT-3.3.2-5]
    pub fn is_expired(&self, now: Instant) -> bool {
        self.expires_at().is_some_and(|at| at <= now)
    }

    fn flags(&self) -> u8 {
        self.array::<1>(1).unwrap_or_default()[0]
    }

    fn topic_len(&self) -> usize {
        usize::from(u16::from_be_bytes(self.array(10).unwrap_or_default()))
    }

    fn properties_len(&self) -> usize {
        u32::from_be_bytes(self.array(12).unwrap_or_default()) as usize
    }

    fn topic_bytes(&self) -> Bytes {
        self.encoded.slice(HEADER..HEADER + self.topic_len())
    }

    fn array<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.encoded.get(at..at + N)?.try_into().ok()
    }
}
