//! CONNACK on the wire, and the return codes of MQTT 3. Chapter 3.2.

use alloc::vec::Vec;

use super::{
    ConnAck, Packet, Version,
    rule::{self, Parsed},
    wire::{self, Reader},
};
use crate::{property::Place, reason::ReasonCode};

pub(super) fn decode(reader: &mut Reader) -> Parsed<Packet> {
    let version = reader.version();
    let flags = reader.u8()?;
    if flags & 0xFE != 0 && version != Version::V3_1 {
        return Err(&rule::CONNACK_FLAGS);
    }
    let code = reader.u8()?;
    let reason = if version == Version::V5 {
        ReasonCode(code)
    } else {
        from_return_code(code)
    };
    let (properties, _) = reader.properties(Place::ConnAck)?;
    let session_present = flags & 1 != 0 && version != Version::V3_1;
    Ok(Packet::ConnAck(ConnAck {
        session_present,
        reason,
        properties,
    }))
}

/// The reason that a return code of MQTT 3 stands for.
const fn from_return_code(code: u8) -> ReasonCode {
    match code {
        0 => ReasonCode::SUCCESS,
        1 => ReasonCode::UNSUPPORTED_PROTOCOL_VERSION,
        2 => ReasonCode::CLIENT_IDENTIFIER_NOT_VALID,
        3 => ReasonCode::SERVER_UNAVAILABLE,
        4 => ReasonCode::BAD_USER_NAME_OR_PASSWORD,
        5 => ReasonCode::NOT_AUTHORIZED,
        _ => ReasonCode::UNSPECIFIED_ERROR,
    }
}

/// The return code of MQTT 3 that comes nearest to a reason.
const fn to_return_code(reason: ReasonCode) -> u8 {
    match reason {
        ReasonCode::UNSUPPORTED_PROTOCOL_VERSION => 1,
        ReasonCode::CLIENT_IDENTIFIER_NOT_VALID => 2,
        ReasonCode::BAD_USER_NAME_OR_PASSWORD => 4,
        ReasonCode::NOT_AUTHORIZED | ReasonCode::BANNED | ReasonCode::BAD_AUTHENTICATION_METHOD => {
            5
        }
        _ if reason.is_error() => 3,
        _ => 0,
    }
}

impl ConnAck {
    pub(super) fn body_len(&self, version: Version) -> usize {
        2 + wire::properties_len(version, &self.properties)
    }

    pub(super) fn put(&self, version: Version, out: &mut Vec<u8>) {
        out.push(u8::from(self.session_present && version != Version::V3_1));
        out.push(if version == Version::V5 {
            self.reason.0
        } else {
            to_return_code(self.reason)
        });
        wire::put_properties(out, version, &self.properties);
    }
}
