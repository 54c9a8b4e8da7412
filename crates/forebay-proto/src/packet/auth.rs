//! AUTH on the wire. Whether it names the method of the CONNECT is not decided here. Chapter 3.15.

use alloc::vec::Vec;

use super::{Auth, Packet, Version, ack, rule::Parsed, wire::Reader};
use crate::property::Place;

pub(super) fn decode(reader: &mut Reader) -> Parsed<Packet> {
    let (reason, properties) = ack::verdict(reader, Place::Auth)?;
    Ok(Packet::Auth(Auth { reason, properties }))
}

impl Auth {
    pub(super) fn body_len(&self) -> usize {
        ack::verdict_len(Version::V5, self.reason, &self.properties)
    }

    pub(super) fn put(&self, out: &mut Vec<u8>) {
        ack::put_verdict(out, Version::V5, self.reason, &self.properties);
    }
}
