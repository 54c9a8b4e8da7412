//! DISCONNECT on the wire. Chapter 3.14.

use alloc::vec::Vec;

use super::{Disconnect, Packet, Version, ack, rule::Parsed, wire::Reader};
use crate::property::Place;

/// Reads a DISCONNECT. The session expiry of a server, which [MQTT-3.14.2-2] forbids, is let
/// through: a refusal would lose the reason.
pub(super) fn decode(reader: &mut Reader) -> Parsed<Packet> {
    if reader.version() < Version::V5 {
        return Ok(Packet::Disconnect(Disconnect::default()));
    }
    let (reason, properties) = ack::verdict(reader, Place::Disconnect)?;
    Ok(Packet::Disconnect(Disconnect { reason, properties }))
}

impl Disconnect {
    pub(super) fn body_len(&self, version: Version) -> usize {
        ack::verdict_len(version, self.reason, &self.properties)
    }

    pub(super) fn put(&self, version: Version, out: &mut Vec<u8>) {
        ack::put_verdict(out, version, self.reason, &self.properties);
    }
}
