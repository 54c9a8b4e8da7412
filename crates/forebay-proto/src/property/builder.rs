//! Writing property blocks.
//!
//! Owns [`PropertiesBuilder`]. Never checks which packet a block is for, nor how often a property
//! occurs: that is the caller's to know.

use alloc::vec::Vec;
use bytes::Bytes;

use super::{Properties, Property, PropertyId, Raw};
use crate::{
    packet::{QoS, wire},
    text, topic,
};

/// Writes a property block.
///
/// ```
/// use forebay_proto::{PropertiesBuilder, Property};
///
/// let mut builder = PropertiesBuilder::new();
/// builder.push(Property::ReceiveMaximum(20)).push(Property::ReasonString("so be it"));
/// let properties = builder.build();
/// assert_eq!(properties.receive_maximum(), Some(20));
/// ```
#[derive(Clone, Debug, Default)]
pub struct PropertiesBuilder(Vec<u8>);

impl PropertiesBuilder {
    /// An empty block.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// An empty block with room for `bytes` bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        Self(Vec::with_capacity(bytes))
    }

    /// Appends `property`.
    ///
    /// A property whose value the protocol can't carry is left out: a string or binary data of
    /// more than 65,535 bytes, a string with U+0000, a 0 or a wildcard where the specification
    /// forbids it, a Maximum QoS of 2 (which absence stands for).
    pub fn push(&mut self, property: Property<'_>) -> &mut Self {
        match property {
            Property::PayloadFormatIndicator(value) => {
                self.bool(PropertyId::PayloadFormatIndicator, value)
            }
            Property::MessageExpiryInterval(value) => {
                self.u32(PropertyId::MessageExpiryInterval, value)
            }
            Property::ContentType(value) => self.text(PropertyId::ContentType, value),
            Property::ResponseTopic(value) => {
                if value.is_empty() || topic::has_wildcard(value.as_bytes()) {
                    self
                } else {
                    self.text(PropertyId::ResponseTopic, value)
                }
            }
            Property::CorrelationData(value) => self.binary(PropertyId::CorrelationData, value),
            Property::SubscriptionIdentifier(value) => {
                if value != 0 && value as usize <= wire::VARIABLE_MAX {
                    self.0.push(PropertyId::SubscriptionIdentifier.get());
                    wire::put_variable(&mut self.0, value as usize);
                }
                self
            }
            Property::SessionExpiryInterval(value) => {
                self.u32(PropertyId::SessionExpiryInterval, value)
            }
            Property::AssignedClientIdentifier(value) => {
                self.text(PropertyId::AssignedClientIdentifier, value)
            }
            Property::ServerKeepAlive(value) => self.u16(PropertyId::ServerKeepAlive, value),
            Property::AuthenticationMethod(value) => {
                self.text(PropertyId::AuthenticationMethod, value)
            }
            Property::AuthenticationData(value) => {
                self.binary(PropertyId::AuthenticationData, value)
            }
            Property::RequestProblemInformation(value) => {
                self.bool(PropertyId::RequestProblemInformation, value)
            }
            Property::WillDelayInterval(value) => self.u32(PropertyId::WillDelayInterval, value),
            Property::RequestResponseInformation(value) => {
                self.bool(PropertyId::RequestResponseInformation, value)
            }
            Property::ResponseInformation(value) => {
                self.text(PropertyId::ResponseInformation, value)
            }
            Property::ServerReference(value) => self.text(PropertyId::ServerReference, value),
            Property::ReasonString(value) => self.text(PropertyId::ReasonString, value),
            Property::ReceiveMaximum(0)
            | Property::TopicAlias(0)
            | Property::MaximumPacketSize(0)
            | Property::MaximumQoS(QoS::ExactlyOnce) => self,
            Property::ReceiveMaximum(value) => self.u16(PropertyId::ReceiveMaximum, value),
            Property::TopicAliasMaximum(value) => self.u16(PropertyId::TopicAliasMaximum, value),
            Property::TopicAlias(value) => self.u16(PropertyId::TopicAlias, value),
            Property::MaximumQoS(value) => {
                self.bool(PropertyId::MaximumQoS, value != QoS::AtMostOnce)
            }
            Property::RetainAvailable(value) => self.bool(PropertyId::RetainAvailable, value),
            Property::UserProperty(name, value) => {
                if text::check(name.as_bytes()).is_ok() && text::check(value.as_bytes()).is_ok() {
                    self.0.push(PropertyId::UserProperty.get());
                    wire::put_binary(&mut self.0, name.as_bytes());
                    wire::put_binary(&mut self.0, value.as_bytes());
                }
                self
            }
            Property::MaximumPacketSize(value) => self.u32(PropertyId::MaximumPacketSize, value),
            Property::WildcardSubscriptionAvailable(value) => {
                self.bool(PropertyId::WildcardSubscriptionAvailable, value)
            }
            Property::SubscriptionIdentifierAvailable(value) => {
                self.bool(PropertyId::SubscriptionIdentifierAvailable, value)
            }
            Property::SharedSubscriptionAvailable(value) => {
                self.bool(PropertyId::SharedSubscriptionAvailable, value)
            }
        }
    }

    /// Appends the properties of `other` whose identifier `keep` wants, as they are.
    pub fn extend_from(
        &mut self,
        other: &Properties,
        mut keep: impl FnMut(PropertyId) -> bool,
    ) -> &mut Self {
        for Raw { id, value } in other.raw() {
            if keep(id) {
                self.0.push(id.get());
                self.0.extend_from_slice(value);
            }
        }
        self
    }

    /// Whether nothing was written.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bytes written.
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// The block.
    pub fn build(self) -> Properties {
        Properties(Bytes::from(self.0))
    }

    fn bool(&mut self, id: PropertyId, value: bool) -> &mut Self {
        self.0.extend_from_slice(&[id.get(), u8::from(value)]);
        self
    }

    fn u16(&mut self, id: PropertyId, value: u16) -> &mut Self {
        self.0.push(id.get());
        self.0.extend_from_slice(&value.to_be_bytes());
        self
    }

    fn u32(&mut self, id: PropertyId, value: u32) -> &mut Self {
        self.0.push(id.get());
        self.0.extend_from_slice(&value.to_be_bytes());
        self
    }

    fn text(&mut self, id: PropertyId, value: &str) -> &mut Self {
        if text::check(value.as_bytes()).is_ok() {
            self.binary(id, value.as_bytes())
        } else {
            self
        }
    }

    fn binary(&mut self, id: PropertyId, value: &[u8]) -> &mut Self {
        if u16::try_from(value.len()).is_ok() {
            self.0.push(id.get());
            wire::put_binary(&mut self.0, value);
        }
        self
    }
}
