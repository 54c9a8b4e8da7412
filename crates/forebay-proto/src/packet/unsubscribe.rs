//! UNSUBSCRIBE on the wire. Chapter 3.10.

use alloc::vec::Vec;

use super::{
    Packet, Unsubscribe, Version,
    encode::EncodeError,
    rule::{self, Parsed},
    wire::{self, Reader},
};
use crate::property::Place;

pub(super) fn decode(reader: &mut Reader) -> Parsed<Packet> {
    let packet_id = reader.packet_id()?;
    let (properties, _) = reader.properties(Place::Unsubscribe)?;
    if reader.is_empty() {
        return Err(&rule::NO_UNFILTER);
    }
    let mut filters = Vec::new();
    while !reader.is_empty() {
        filters.push(reader.text()?);
    }
    Ok(Packet::Unsubscribe(Unsubscribe {
        packet_id,
        properties,
        filters,
    }))
}

impl Unsubscribe {
    pub(super) fn body_len(&self, version: Version) -> usize {
        let filters = self
            .filters
            .iter()
            .map(|filter| wire::binary_len(filter.as_bytes()));
        2 + wire::properties_len(version, &self.properties) + filters.sum::<usize>()
    }

    pub(super) fn check(&self) -> Result<(), EncodeError> {
        if self.filters.is_empty() {
            Err(EncodeError::NoFilter)
        } else {
            Ok(())
        }
    }

    pub(super) fn put(&self, version: Version, out: &mut Vec<u8>) {
        wire::put_u16(out, self.packet_id.get());
        wire::put_properties(out, version, &self.properties);
        for filter in &self.filters {
            wire::put_binary(out, filter.as_bytes());
        }
    }
}
