//! DISCONNECT on the wire. Chapter 3.14.

use alloc::vec::Vec;

use super::{
    Disconnect, Packet, Role, Version, ack,
    rule::{self, Parsed},
    wire::Reader,
};
use crate::property::Place;

pub(super) fn decode(reader: &mut Reader, role: Role) -> Parsed<Packet> {
    if reader.version() < Version::V5 {
        return Ok(Packet::Disconnect(Disconnect::default()));
    }
    let (reason, properties) = ack::verdict(reader, Place::Disconnect)?;
    if role == Role::Client && properties.session_expiry_interval().is_some() {
        return Err(&rule::SESSION_EXPIRY_FROM_SERVER);
    }
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
