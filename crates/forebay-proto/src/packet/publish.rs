//! PUBLISH on the wire. Chapter 3.3.

use alloc::vec::Vec;

use super::{
    Packet, Publish, QoS, Role, Version,
    encode::EncodeError,
    rule::{self, Parsed},
    wire::{self, Reader},
};
use crate::{
    property::{Place, PropertyId},
    topic,
};

const RETAIN: u8 = 0x01;
const QOS_SHIFT: u8 = 1;
const DUP: u8 = 0x08;

/// Checks the flags of the fixed header. MQTT 3.1 gives DUP no meaning at QoS 0.
pub(super) fn check_flags(flags: u8, version: Version) -> Parsed<()> {
    let qos = QoS::new((flags >> QOS_SHIFT) & 0x03).ok_or(&rule::QOS_3)?;
    if flags & DUP != 0 && qos == QoS::AtMostOnce && version != Version::V3_1 {
        return Err(&rule::DUP_QOS_0);
    }
    Ok(())
}

pub(super) fn decode(first: u8, mut reader: Reader, role: Role) -> Parsed<Packet> {
    let qos = QoS::new((first >> QOS_SHIFT) & 0x03).ok_or(&rule::QOS_3)?;
    let dup = first & DUP != 0 && qos != QoS::AtMostOnce;
    let topic = reader.text()?;
    if topic::has_wildcard(topic.as_bytes()) {
        return Err(&rule::TOPIC_WILDCARD);
    }
    let packet_id = if qos == QoS::AtMostOnce {
        None
    } else {
        Some(reader.packet_id()?)
    };
    let (properties, seen) = reader.properties(Place::Publish)?;
    if role == Role::Server && seen.has(PropertyId::SubscriptionIdentifier) {
        return Err(&rule::SUBSCRIPTION_ID_FROM_CLIENT);
    }
    if topic.is_empty() && !seen.has(PropertyId::TopicAlias) {
        return Err(&rule::TOPIC_EMPTY);
    }
    let retain = first & RETAIN != 0;
    Ok(Packet::Publish(Publish {
        dup,
        qos,
        retain,
        topic,
        packet_id,
        properties,
        payload: reader.rest(),
    }))
}

impl Publish {
    /// Whether the payload is UTF-8 if the Payload Format Indicator says so. The decoder doesn't
    /// ask: a receiver may, and then answers 0x99.
    ///
    /// Spec: MQTT 5, 3.3.2.3.2
    pub fn payload_matches_format(&self) -> bool {
        self.properties.payload_format_indicator() != Some(true)
            || core::str::from_utf8(&self.payload).is_ok()
    }

    /// Whether it says what a topic alias stands for, so that later packets need it.
    pub fn names_alias(&self) -> bool {
        !self.topic.is_empty() && self.properties.topic_alias().is_some()
    }

    pub(super) fn flags(&self) -> u8 {
        let dup = if self.dup { DUP } else { 0 };
        let retain = if self.retain { RETAIN } else { 0 };
        dup | (self.qos as u8) << QOS_SHIFT | retain
    }

    pub(super) fn body_len(&self, version: Version) -> usize {
        wire::binary_len(self.topic.as_bytes())
            + if self.packet_id.is_some() { 2 } else { 0 }
            + wire::properties_len(version, &self.properties)
            + self.payload.len()
    }

    pub(super) fn check(&self) -> Result<(), EncodeError> {
        if self.packet_id.is_some() == (self.qos != QoS::AtMostOnce) {
            Ok(())
        } else {
            Err(EncodeError::PacketId)
        }
    }

    pub(super) fn put(&self, version: Version, out: &mut Vec<u8>) {
        wire::put_binary(out, self.topic.as_bytes());
        if let Some(packet_id) = self.packet_id {
            wire::put_u16(out, packet_id.get());
        }
        wire::put_properties(out, version, &self.properties);
        out.extend_from_slice(&self.payload);
    }
}
