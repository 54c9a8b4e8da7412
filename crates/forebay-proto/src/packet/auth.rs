//! AUTH on the wire. Whether it names the method of the CONNECT is not decided here. Chapter 3.15.

use alloc::vec::Vec;

use super::{
    Auth, Packet, Version,
    rule::Parsed,
    wire::{self, Reader},
};
use crate::{
    property::{Place, Properties},
    reason::ReasonCode,
};

pub(super) fn decode(reader: &mut Reader) -> Parsed<Packet> {
    if reader.is_empty() {
        return Ok(Packet::Auth(Auth {
            reason: ReasonCode::SUCCESS,
            properties: Properties::EMPTY,
        }));
    }
    let reason = ReasonCode(reader.u8()?);
    let (properties, _) = reader.properties(Place::Auth)?;
    Ok(Packet::Auth(Auth { reason, properties }))
}

impl Auth {
    /// Whether nothing need be said. Unlike elsewhere, a reason never goes without properties.
    fn is_bare(&self) -> bool {
        self.reason == ReasonCode::SUCCESS && self.properties.is_empty()
    }

    pub(super) fn body_len(&self) -> usize {
        if self.is_bare() {
            0
        } else {
            1 + wire::properties_len(Version::V5, &self.properties)
        }
    }

    pub(super) fn put(&self, out: &mut Vec<u8>) {
        if !self.is_bare() {
            out.push(self.reason.0);
            wire::put_properties(out, Version::V5, &self.properties);
        }
    }
}
