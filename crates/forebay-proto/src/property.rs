//! Properties of MQTT 5 packets.
//!
//! Owns [`Properties`], a checked property block that shares the buffer it came in and is read
//! by walking it, [`Property`], one entry of it, and [`PropertiesBuilder`], which writes one.
//! Never decides what a property means. Chapter 2.2.2.

mod builder;
mod check;
mod get;
mod id;
#[cfg(test)]
mod tests;

use bytes::Bytes;
use core::fmt;

pub use builder::PropertiesBuilder;
pub(crate) use check::{Place, Seen};
pub use id::PropertyId;
use id::Shape;

use crate::{
    packet::{
        QoS,
        rule::Parsed,
        wire::{self, Variable},
    },
    text,
};

/// A property block without its length prefix, checked when it was decoded or built.
///
/// Two blocks are equal if their bytes are: the order of properties counts. Reading ends at the
/// first byte that is no property, so that even an unchecked block is safe to read.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Properties(pub(crate) Bytes);

/// One property. Strings and binary data borrow from the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Property<'a> {
    /// Whether the payload is UTF-8 text.
    PayloadFormatIndicator(bool),
    /// Seconds until the message expires; 0 is allowed.
    MessageExpiryInterval(u32),
    /// What the payload is, in the application's words.
    ContentType(&'a str),
    /// The topic to respond to.
    ResponseTopic(&'a str),
    /// What ties a response to its request.
    CorrelationData(&'a [u8]),
    /// The identifier of a subscription, 1 to 268,435,455.
    SubscriptionIdentifier(u32),
    /// Seconds that the session outlives its connection; `u32::MAX` for ever.
    SessionExpiryInterval(u32),
    /// The client identifier that the server chose.
    AssignedClientIdentifier(&'a str),
    /// The keep alive that the server wants, seconds.
    ServerKeepAlive(u16),
    /// The name of the authentication method.
    AuthenticationMethod(&'a str),
    /// What the authentication method exchanges.
    AuthenticationData(&'a [u8]),
    /// Whether reason strings and user properties are wanted on failures.
    RequestProblemInformation(bool),
    /// Seconds to wait before the will is published.
    WillDelayInterval(u32),
    /// Whether response information is wanted.
    RequestResponseInformation(bool),
    /// What to make response topics from.
    ResponseInformation(&'a str),
    /// Another server to use.
    ServerReference(&'a str),
    /// A reason for people to read.
    ReasonString(&'a str),
    /// QoS 1 and 2 messages that may be in flight, not 0.
    ReceiveMaximum(u16),
    /// The highest topic alias that is taken.
    TopicAliasMaximum(u16),
    /// The alias that stands for the topic, not 0.
    TopicAlias(u16),
    /// The highest QoS of the server: 0 or 1.
    MaximumQoS(QoS),
    /// Whether the server keeps retained messages.
    RetainAvailable(bool),
    /// A name and a value.
    UserProperty(&'a str, &'a str),
    /// The largest packet that is taken, bytes, not 0.
    MaximumPacketSize(u32),
    /// Whether the server takes wildcards in subscriptions.
    WildcardSubscriptionAvailable(bool),
    /// Whether the server takes subscription identifiers.
    SubscriptionIdentifierAvailable(bool),
    /// Whether the server takes shared subscriptions.
    SharedSubscriptionAvailable(bool),
}

impl Properties {
    /// No properties.
    pub const EMPTY: Self = Self(Bytes::new());

    /// The block in `bytes`, which was checked before it was stored.
    pub(crate) const fn trusted(bytes: Bytes) -> Self {
        Self(bytes)
    }

    /// The block in `bytes`, and which properties are in it.
    ///
    /// # Errors
    /// The rule that the block breaks as a part of `place`.
    pub(crate) fn checked(bytes: Bytes, place: Place) -> Parsed<(Self, Seen)> {
        let seen = check::check(&bytes, place)?;
        Ok((Self(bytes), seen))
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The block as it is on the wire, without its length.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The block as it is on the wire, without its length, shared.
    pub fn to_bytes(&self) -> Bytes {
        self.0.clone()
    }

    /// The properties, in the order of the wire.
    pub fn iter(&self) -> impl Iterator<Item = Property<'_>> {
        self.raw().filter_map(Raw::read)
    }

    /// The properties without a look at their values.
    fn raw(&self) -> RawIter<'_> {
        RawIter(&self.0)
    }
}

impl fmt::Debug for Properties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// A property, cut out and not looked into.
#[derive(Clone, Copy, Debug)]
struct Raw<'a> {
    id: PropertyId,
    /// The value, lengths included.
    value: &'a [u8],
}

/// Walks a block, and ends at the first thing that is no property.
#[derive(Clone, Debug)]
struct RawIter<'a>(&'a [u8]);

impl<'a> Iterator for RawIter<'a> {
    type Item = Raw<'a>;

    fn next(&mut self) -> Option<Raw<'a>> {
        let (raw, rest) = Raw::split(self.0)?;
        self.0 = rest;
        Some(raw)
    }
}

impl<'a> Raw<'a> {
    /// The first property of `block` and what follows it.
    fn split(block: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (&id, rest) = block.split_first()?;
        let id = PropertyId::new(id)?;
        let len = match id.shape() {
            Shape::Bool => 1,
            Shape::U16 => 2,
            Shape::U32 => 4,
            Shape::Variable => match wire::variable(rest) {
                Variable::Value { size, .. } => size,
                Variable::Incomplete | Variable::Overlong => return None,
            },
            Shape::Text | Shape::Binary => prefixed_len(rest)?,
            Shape::Pair => {
                let name = prefixed_len(rest)?;
                name + prefixed_len(rest.get(name..)?)?
            }
        };
        let (value, rest) = rest.split_at_checked(len)?;
        Some((Self { id, value }, rest))
    }

    fn bool(self) -> Option<bool> {
        match self.value {
            [0] => Some(false),
            [1] => Some(true),
            _ => None,
        }
    }

    fn u16(self) -> Option<u16> {
        Some(u16::from_be_bytes(*self.value.first_chunk()?))
    }

    fn u32(self) -> Option<u32> {
        Some(u32::from_be_bytes(*self.value.first_chunk()?))
    }

    fn variable(self) -> Option<u32> {
        match wire::variable(self.value) {
            Variable::Value { value, .. } => Some(value),
            Variable::Incomplete | Variable::Overlong => None,
        }
    }

    fn binary(self) -> Option<&'a [u8]> {
        self.value.get(2..)
    }

    fn text(self) -> Option<&'a str> {
        text::check(self.binary()?).ok()
    }

    fn pair(self) -> Option<(&'a str, &'a str)> {
        let (name, value) = self.value.split_at_checked(prefixed_len(self.value)?)?;
        Some((
            text::check(name.get(2..)?).ok()?,
            text::check(value.get(2..)?).ok()?,
        ))
    }

    fn read(self) -> Option<Property<'a>> {
        Some(match self.id {
            PropertyId::PayloadFormatIndicator => Property::PayloadFormatIndicator(self.bool()?),
            PropertyId::MessageExpiryInterval => Property::MessageExpiryInterval(self.u32()?),
            PropertyId::ContentType => Property::ContentType(self.text()?),
            PropertyId::ResponseTopic => Property::ResponseTopic(self.text()?),
            PropertyId::CorrelationData => Property::CorrelationData(self.binary()?),
            PropertyId::SubscriptionIdentifier => {
                Property::SubscriptionIdentifier(self.variable()?)
            }
            PropertyId::SessionExpiryInterval => Property::SessionExpiryInterval(self.u32()?),
            PropertyId::AssignedClientIdentifier => {
                Property::AssignedClientIdentifier(self.text()?)
            }
            PropertyId::ServerKeepAlive => Property::ServerKeepAlive(self.u16()?),
            PropertyId::AuthenticationMethod => Property::AuthenticationMethod(self.text()?),
            PropertyId::AuthenticationData => Property::AuthenticationData(self.binary()?),
            PropertyId::RequestProblemInformation => {
                Property::RequestProblemInformation(self.bool()?)
            }
            PropertyId::WillDelayInterval => Property::WillDelayInterval(self.u32()?),
            PropertyId::RequestResponseInformation => {
                Property::RequestResponseInformation(self.bool()?)
            }
            PropertyId::ResponseInformation => Property::ResponseInformation(self.text()?),
            PropertyId::ServerReference => Property::ServerReference(self.text()?),
            PropertyId::ReasonString => Property::ReasonString(self.text()?),
            PropertyId::ReceiveMaximum => Property::ReceiveMaximum(self.u16()?),
            PropertyId::TopicAliasMaximum => Property::TopicAliasMaximum(self.u16()?),
            PropertyId::TopicAlias => Property::TopicAlias(self.u16()?),
            PropertyId::MaximumQoS => Property::MaximumQoS(QoS::new(u8::from(self.bool()?))?),
            PropertyId::RetainAvailable => Property::RetainAvailable(self.bool()?),
            PropertyId::UserProperty => {
                let (name, value) = self.pair()?;
                Property::UserProperty(name, value)
            }
            PropertyId::MaximumPacketSize => Property::MaximumPacketSize(self.u32()?),
            PropertyId::WildcardSubscriptionAvailable => {
                Property::WildcardSubscriptionAvailable(self.bool()?)
            }
            PropertyId::SubscriptionIdentifierAvailable => {
                Property::SubscriptionIdentifierAvailable(self.bool()?)
            }
            PropertyId::SharedSubscriptionAvailable => {
                Property::SharedSubscriptionAvailable(self.bool()?)
            }
        })
    }
}

/// The bytes of the string or binary data at the start of `bytes`, its length included.
fn prefixed_len(bytes: &[u8]) -> Option<usize> {
    Some(2 + usize::from(u16::from_be_bytes(*bytes.first_chunk()?)))
}
