//! SUBACK and UNSUBACK on the wire. Chapters 3.9 and 3.11.

use alloc::vec::Vec;

use super::{
    Packet, SubAck, Version,
    rule::Parsed,
    wire::{self, Reader},
};
use crate::{property::Place, reason::ReasonCode};

/// What a failure is below MQTT 5.
const FAILURE: u8 = 0x80;

pub(super) fn decode(mut reader: Reader) -> Parsed<Packet> {
    let packet_id = reader.packet_id()?;
    let (properties, _) = reader.properties(Place::Ack)?;
    Ok(Packet::SubAck(SubAck {
        packet_id,
        properties,
        reasons: reasons(reader),
    }))
}

pub(super) fn decode_unsubscribed(mut reader: Reader) -> Parsed<Packet> {
    let packet_id = reader.packet_id()?;
    let (properties, _) = reader.properties(Place::Ack)?;
    if reader.version() < Version::V5 {
        reader.end()?;
    }
    Ok(Packet::UnsubAck(SubAck {
        packet_id,
        properties,
        reasons: reasons(reader),
    }))
}

fn reasons(reader: Reader) -> Vec<ReasonCode> {
    reader.rest().iter().copied().map(ReasonCode).collect()
}

impl SubAck {
    pub(super) fn body_len(&self, version: Version) -> usize {
        2 + wire::properties_len(version, &self.properties) + self.reasons.len()
    }

    pub(super) fn put(&self, version: Version, out: &mut Vec<u8>) {
        wire::put_u16(out, self.packet_id.get());
        wire::put_properties(out, version, &self.properties);
        out.extend(self.reasons.iter().map(|reason| {
            if version < Version::V5 && reason.is_error() {
                FAILURE
            } else {
                reason.0
            }
        }));
    }

    /// The bytes of an UNSUBACK, which has no verdicts below MQTT 5.
    pub(super) fn unsubscribed_len(&self, version: Version) -> usize {
        if version < Version::V5 {
            2
        } else {
            self.body_len(version)
        }
    }

    pub(super) fn put_unsubscribed(&self, version: Version, out: &mut Vec<u8>) {
        if version < Version::V5 {
            wire::put_u16(out, self.packet_id.get());
        } else {
            self.put(version, out);
        }
    }
}
