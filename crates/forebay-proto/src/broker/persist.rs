//! What the machine's state looks like in the tables of the store, and messages as packets.
//!
//! Every row begins with a version byte, 1; numbers are big-endian. `docs/format.md` has the
//! layouts.

use alloc::vec::Vec;
use bytes::Bytes;

use crate::{
    broker::state::{Session, Will},
    id::{ClientId, PacketId},
    message::{Message, Parts},
    packet::{Publish, QoS, RetainHandling, SubscriptionOptions, WillMessage},
    property::{Place, Properties, PropertiesBuilder, Property, PropertyId},
    session::Mark,
    subscription::Subscription,
    text::Text,
    time::Instant,
};

const VERSION: u8 = 1;
/// In the place of a time: the client is connected.
const CONNECTED: u64 = u64::MAX;

pub(super) fn encode_session(session: &Session) -> Bytes {
    session_row(session.expiry_secs, session.disconnected_at)
}

/// The row of a session in [`Table::Sessions`](crate::Table): how many seconds it lives without a
/// connection, and since when it has none. `version, expiry u32, disconnected at u64`.
pub fn session_row(expiry_secs: u32, disconnected_at: Option<Instant>) -> Bytes {
    let since = disconnected_at.map_or(CONNECTED, Instant::as_millis);
    let mut row = Vec::with_capacity(13);
    row.push(VERSION);
    row.extend(expiry_secs.to_be_bytes());
    row.extend(since.to_be_bytes());
    Bytes::from(row)
}

/// The expiry and the time of the last disconnection.
pub(super) fn decode_session(row: &[u8]) -> Option<(u32, Option<Instant>)> {
    let (&[VERSION, ref fields @ ..], []) = row.split_first_chunk::<13>()? else {
        return None;
    };
    let (expiry, since) = fields.split_first_chunk::<4>()?;
    let since = u64::from_be_bytes(since.try_into().ok()?);
    let since = (since != CONNECTED).then_some(Instant::from_millis(since));
    Some((u32::from_be_bytes(*expiry), since))
}

/// `length of the client identifier u16, client identifier, filter`.
pub(super) fn subscription_key(client_id: &ClientId, filter: &Text) -> Bytes {
    let client_id = client_id.text().as_bytes();
    let mut key = Vec::with_capacity(2 + client_id.len() + filter.len());
    key.extend((client_id.len() as u16).to_be_bytes());
    key.extend_from_slice(client_id);
    key.extend_from_slice(filter.as_bytes());
    Bytes::from(key)
}

pub(super) fn decode_subscription_key(key: &Bytes) -> Option<(ClientId, Text)> {
    let (len, rest) = key.split_first_chunk::<2>()?;
    let len = usize::from(u16::from_be_bytes(*len));
    if len > rest.len() {
        return None;
    }
    let client_id = ClientId::new(Text::new(key.slice(2..2 + len))?);
    Some((client_id, Text::new(key.slice(2 + len..))?))
}

/// `version, options as in SUBSCRIBE, identifier u32 or 0`.
pub(super) fn encode_subscription(subscription: Subscription) -> Bytes {
    let options = subscription.options;
    let byte = options.qos as u8
        | u8::from(options.no_local) << 2
        | u8::from(options.retain_as_published) << 3
        | (options.retain_handling as u8) << 4;
    let mut row = Vec::from([VERSION, byte]);
    row.extend(subscription.identifier.unwrap_or(0).to_be_bytes());
    Bytes::from(row)
}

pub(super) fn decode_subscription(row: &[u8]) -> Option<Subscription> {
    let (&[VERSION, byte, ref identifier @ ..], []) = row.split_first_chunk::<6>()? else {
        return None;
    };
    let options = SubscriptionOptions {
        qos: QoS::new(byte & 3)?,
        no_local: byte & 4 != 0,
        retain_as_published: byte & 8 != 0,
        retain_handling: match byte >> 4 {
            0 => RetainHandling::Send,
            1 => RetainHandling::SendIfNew,
            2 => RetainHandling::DontSend,
            _ => return None,
        },
    };
    let identifier = u32::from_be_bytes(*identifier);
    Some(Subscription {
        options,
        identifier: (identifier != 0).then_some(identifier),
    })
}

/// The will of a CONNECT as it is kept.
pub(super) fn will(will: &WillMessage) -> Will {
    let message = Message::new(&Parts {
        topic: &will.topic,
        qos: will.qos,
        retain: will.retain,
        expires_at: None,
        properties: &travelling(&will.properties),
        payload: &will.payload,
    });
    Will {
        delay_secs: will.properties.will_delay_interval().unwrap_or(0),
        expiry_secs: will.properties.message_expiry_interval(),
        message,
    }
}

/// `version, delay u32, expiry present u8, expiry u32, message`.
pub(super) fn encode_will(will: &Will) -> Bytes {
    let mut row = Vec::with_capacity(10 + will.message.encoded().len());
    row.push(VERSION);
    row.extend(will.delay_secs.to_be_bytes());
    row.push(u8::from(will.expiry_secs.is_some()));
    row.extend(will.expiry_secs.unwrap_or(0).to_be_bytes());
    row.extend_from_slice(will.message.encoded());
    Bytes::from(row)
}

pub(super) fn decode_will(row: &Bytes) -> Option<Will> {
    let (&[VERSION, ref rest @ ..], _) = row.split_first_chunk::<10>()? else {
        return None;
    };
    let [d0, d1, d2, d3, has_expiry, expiry @ ..] = *rest;
    Some(Will {
        delay_secs: u32::from_be_bytes([d0, d1, d2, d3]),
        expiry_secs: (has_expiry != 0).then_some(u32::from_be_bytes(expiry)),
        message: Message::decode(row.slice(10..))?,
    })
}

/// The same message with another expiry.
pub(super) fn with_expiry(message: &Message, expires_at: Option<Instant>) -> Message {
    if expires_at == message.expires_at() {
        return message.clone();
    }
    Message::new(&Parts {
        topic: &message.topic(),
        qos: message.qos(),
        retain: message.retain(),
        expires_at,
        properties: &message.properties(),
        payload: &message.payload(),
    })
}

/// The properties of a PUBLISH or a will that go on to subscribers as they are.
///
/// Spec: [MQTT-3.3.2-4], [MQTT-3.3.2-15], [MQTT-3.3.2-17], [MQTT-3.3.2-20]
pub(super) fn travelling(properties: &Properties) -> Properties {
    if properties.is_empty() {
        return Properties::EMPTY;
    }
    let mut kept = PropertiesBuilder::new();
    kept.extend_from(properties, |id| {
        !matches!(
            id,
            PropertyId::MessageExpiryInterval
                | PropertyId::TopicAlias
                | PropertyId::SubscriptionIdentifier
                | PropertyId::WillDelayInterval
        )
    });
    kept.build()
}

/// The properties of a message out of a block as a PUBLISH has it; `None` where no PUBLISH may
/// have it. What does not travel with a message is left out.
pub fn message_properties(block: Bytes) -> Option<Properties> {
    let (properties, _) = Properties::checked(block, Place::Publish).ok()?;
    Some(travelling(&properties))
}

/// The PUBLISH that carries `message`; `note` is there for a client of MQTT 5.
///
/// Spec: [MQTT-3.3.2-6], [MQTT-3.3.4-3]
pub(super) fn publish(
    message: &Message,
    mark: Mark,
    packet_id: Option<PacketId>,
    note: Option<&Bytes>,
    now: Instant,
) -> Publish {
    let properties = match (note, message.expires_at()) {
        (None, _) => Properties::EMPTY,
        (Some(note), None) if note.is_empty() => message.properties(),
        (Some(note), expires_at) => {
            let mut all = PropertiesBuilder::new();
            if let Some(at) = expires_at {
                let left = at.since(now).as_millis().div_ceil(1000);
                let left = u32::try_from(left).unwrap_or(u32::MAX);
                all.push(Property::MessageExpiryInterval(left));
            }
            all.extend_from(&message.properties(), |_| true);
            for identifier in identifiers(note) {
                all.push(Property::SubscriptionIdentifier(identifier));
            }
            all.build()
        }
    };
    Publish {
        dup: mark.dup,
        qos: mark.qos,
        retain: mark.retain,
        topic: message.topic(),
        packet_id,
        properties,
        payload: message.payload(),
    }
}

/// Subscription identifiers as they are kept beside a message: four bytes each.
pub(super) fn note(identifiers: &[u32]) -> Bytes {
    if identifiers.is_empty() {
        return Bytes::new();
    }
    Bytes::from(
        identifiers
            .iter()
            .flat_map(|it| it.to_be_bytes())
            .collect::<Vec<u8>>(),
    )
}

fn identifiers(note: &[u8]) -> impl Iterator<Item = u32> {
    note.as_chunks::<4>()
        .0
        .iter()
        .map(|it| u32::from_be_bytes(*it))
}
