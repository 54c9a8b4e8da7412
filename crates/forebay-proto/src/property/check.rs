//! What makes a property block valid: which packet it is in, how often, which values.
//!
//! Owns [`Place`] and [`Seen`]. Chapter 2.2.2.2 and the property sections of chapter 3.

use super::{PropertyId, Raw, Shape, prefixed_len};
use crate::{
    packet::{
        rule::{self, Parsed, Rule},
        wire::{self, Variable},
    },
    text::{self, TextFault},
    topic,
};

/// What a property block is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Place {
    Connect = 1,
    Will = 1 << 1,
    ConnAck = 1 << 2,
    Publish = 1 << 3,
    /// PUBACK, PUBREC, PUBREL, PUBCOMP, SUBACK, UNSUBACK.
    Ack = 1 << 4,
    Subscribe = 1 << 5,
    Unsubscribe = 1 << 6,
    Disconnect = 1 << 7,
    Auth = 1 << 8,
}

/// The properties that a block has, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen(u64);

impl Seen {
    const fn bit(id: PropertyId) -> u64 {
        1 << id.get()
    }

    pub(crate) const fn has(self, id: PropertyId) -> bool {
        self.0 & Self::bit(id) != 0
    }
}

/// The places where the property `id` may be.
const fn places(id: PropertyId) -> u16 {
    use Place::{Ack, Auth, ConnAck, Connect, Disconnect, Publish, Subscribe, Will};
    match id {
        PropertyId::PayloadFormatIndicator
        | PropertyId::MessageExpiryInterval
        | PropertyId::ContentType
        | PropertyId::ResponseTopic
        | PropertyId::CorrelationData => Publish as u16 | Will as u16,
        PropertyId::SubscriptionIdentifier => Publish as u16 | Subscribe as u16,
        PropertyId::SessionExpiryInterval => Connect as u16 | ConnAck as u16 | Disconnect as u16,
        PropertyId::AssignedClientIdentifier
        | PropertyId::ServerKeepAlive
        | PropertyId::ResponseInformation
        | PropertyId::MaximumQoS
        | PropertyId::RetainAvailable
        | PropertyId::WildcardSubscriptionAvailable
        | PropertyId::SubscriptionIdentifierAvailable
        | PropertyId::SharedSubscriptionAvailable => ConnAck as u16,
        PropertyId::AuthenticationMethod | PropertyId::AuthenticationData => {
            Connect as u16 | ConnAck as u16 | Auth as u16
        }
        PropertyId::RequestProblemInformation | PropertyId::RequestResponseInformation => {
            Connect as u16
        }
        PropertyId::WillDelayInterval => Will as u16,
        PropertyId::ServerReference => ConnAck as u16 | Disconnect as u16,
        PropertyId::ReasonString => ConnAck as u16 | Ack as u16 | Disconnect as u16 | Auth as u16,
        PropertyId::ReceiveMaximum
        | PropertyId::TopicAliasMaximum
        | PropertyId::MaximumPacketSize => Connect as u16 | ConnAck as u16,
        PropertyId::TopicAlias => Publish as u16,
        PropertyId::UserProperty => u16::MAX,
    }
}

/// Checks a whole block that is a part of `place`.
pub(super) fn check(mut block: &[u8], place: Place) -> Parsed<Seen> {
    let mut seen = Seen::default();
    while let Some(&byte) = block.first() {
        let id = PropertyId::new(byte).ok_or(&rule::PROPERTY_UNKNOWN)?;
        if places(id) & place as u16 == 0 {
            return Err(&rule::PROPERTY_PLACE);
        }
        let (raw, rest) = Raw::split(block).ok_or_else(|| torn(id, block))?;
        if seen.has(id) && !repeats(id, place) {
            return Err(&rule::PROPERTY_TWICE);
        }
        seen.0 |= Seen::bit(id);
        check_value(raw)?;
        block = rest;
    }
    Ok(seen)
}

/// Why no property could be cut from the start of `block`.
fn torn(id: PropertyId, block: &[u8]) -> &'static Rule {
    match block.get(1..).map(wire::variable) {
        Some(Variable::Overlong) if id.shape() == Shape::Variable => &rule::VARIABLE_OVERLONG,
        _ => &rule::PROPERTY_TRUNCATED,
    }
}

/// Whether `place` may hold the property `id` more than once. A PUBLISH of a server names every
/// subscription that it is for.
fn repeats(id: PropertyId, place: Place) -> bool {
    id == PropertyId::UserProperty
        || (id == PropertyId::SubscriptionIdentifier && place == Place::Publish)
}

fn check_value(raw: Raw<'_>) -> Parsed<()> {
    match raw.id.shape() {
        Shape::Bool => raw.bool().map(drop).ok_or(&rule::PROPERTY_NOT_BOOL),
        Shape::U16 | Shape::U32 => match zero_rule(raw.id) {
            Some(rule) if raw.value.iter().all(|&byte| byte == 0) => Err(rule),
            _ => Ok(()),
        },
        Shape::Variable => match wire::variable(raw.value) {
            Variable::Value { padded: true, .. } => Err(&rule::VARIABLE_PADDED),
            Variable::Value { value: 0, .. } => Err(&rule::SUBSCRIPTION_ID_0),
            Variable::Value { .. } => Ok(()),
            Variable::Incomplete | Variable::Overlong => Err(&rule::PROPERTY_TRUNCATED),
        },
        Shape::Text => {
            let text = check_text(raw.value)?;
            if raw.id != PropertyId::ResponseTopic {
                Ok(())
            } else if text.is_empty() {
                Err(&rule::RESPONSE_TOPIC_EMPTY)
            } else if topic::has_wildcard(text.as_bytes()) {
                Err(&rule::RESPONSE_TOPIC_WILDCARD)
            } else {
                Ok(())
            }
        }
        Shape::Binary => Ok(()),
        Shape::Pair => {
            let name = prefixed_len(raw.value).ok_or(&rule::PROPERTY_TRUNCATED)?;
            let (name, value) = raw
                .value
                .split_at_checked(name)
                .ok_or(&rule::PROPERTY_TRUNCATED)?;
            check_text(name)?;
            check_text(value)?;
            Ok(())
        }
    }
}

/// The rule that a 0 breaks, for the numbers that must not be 0.
const fn zero_rule(id: PropertyId) -> Option<&'static Rule> {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "every other number may be 0"
    )]
    match id {
        PropertyId::ReceiveMaximum => Some(&rule::RECEIVE_MAXIMUM_0),
        PropertyId::MaximumPacketSize => Some(&rule::MAXIMUM_PACKET_SIZE_0),
        PropertyId::TopicAlias => Some(&rule::TOPIC_ALIAS_0),
        _ => None,
    }
}

/// Checks a string that still has its length in front.
fn check_text(value: &[u8]) -> Parsed<&str> {
    let bytes = value.get(2..).ok_or(&rule::PROPERTY_TRUNCATED)?;
    text::check(bytes).map_err(|fault| match fault {
        TextFault::Nul => &rule::TEXT_NUL,
        TextFault::TooLong | TextFault::NotUtf8 => &rule::TEXT_UTF8,
    })
}
