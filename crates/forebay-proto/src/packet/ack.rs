//! PUBACK, PUBREC, PUBREL and PUBCOMP on the wire. Any reason byte is read: brokers send others
//! than the specification lists. Chapters 3.4 to 3.7.

use alloc::vec::Vec;

use super::{
    Ack, Version,
    rule::Parsed,
    wire::{self, Reader},
};
use crate::{
    property::{Place, Properties},
    reason::ReasonCode,
};

pub(super) fn decode(reader: &mut Reader) -> Parsed<Ack> {
    let mut ack = Ack::new(reader.packet_id()?, ReasonCode::SUCCESS);
    if reader.version() == Version::V5 {
        (ack.reason, ack.properties) = verdict(reader, Place::Ack)?;
    }
    Ok(ack)
}

/// Reads a reason and properties that may both be left out.
pub(super) fn verdict(reader: &mut Reader, place: Place) -> Parsed<(ReasonCode, Properties)> {
    if reader.is_empty() {
        return Ok((ReasonCode::SUCCESS, Properties::EMPTY));
    }
    let reason = ReasonCode(reader.u8()?);
    if reader.is_empty() {
        return Ok((reason, Properties::EMPTY));
    }
    Ok((reason, reader.properties(place)?.0))
}

/// The bytes of the shortest form of a reason and properties; 0 below MQTT 5.
pub(super) fn verdict_len(version: Version, reason: ReasonCode, properties: &Properties) -> usize {
    if version < Version::V5 {
        0
    } else if !properties.is_empty() {
        1 + wire::properties_len(version, properties)
    } else {
        usize::from(reason != ReasonCode::SUCCESS)
    }
}

/// Writes the shortest form of a reason and properties; nothing below MQTT 5.
pub(super) fn put_verdict(
    out: &mut Vec<u8>,
    version: Version,
    reason: ReasonCode,
    properties: &Properties,
) {
    if verdict_len(version, reason, properties) > 0 {
        out.push(reason.0);
        if !properties.is_empty() {
            wire::put_properties(out, version, properties);
        }
    }
}

impl Ack {
    pub(super) fn body_len(&self, version: Version) -> usize {
        2 + verdict_len(version, self.reason, &self.properties)
    }

    pub(super) fn put(&self, version: Version, out: &mut Vec<u8>) {
        wire::put_u16(out, self.packet_id.get());
        put_verdict(out, version, self.reason, &self.properties);
    }
}
