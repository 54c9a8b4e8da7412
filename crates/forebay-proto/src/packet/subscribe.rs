//! SUBSCRIBE on the wire. Chapter 3.8.

use alloc::vec::Vec;

use super::{
    Packet, QoS, RetainHandling, Subscribe, SubscriptionOptions, Version,
    encode::EncodeError,
    rule::{self, Parsed},
    wire::{self, Reader},
};
use crate::{property::Place, topic};

const NO_LOCAL: u8 = 0x04;
const RETAIN_AS_PUBLISHED: u8 = 0x08;
const RETAIN_HANDLING_SHIFT: u8 = 4;
const RESERVED: u8 = 0xC0;

pub(super) fn decode(reader: &mut Reader) -> Parsed<Packet> {
    let packet_id = reader.packet_id()?;
    let (properties, _) = reader.properties(Place::Subscribe)?;
    if reader.is_empty() {
        return Err(&rule::NO_FILTER);
    }
    let mut filters = Vec::new();
    while !reader.is_empty() {
        let filter = reader.text()?;
        let options = match (reader.u8()?, reader.version()) {
            (byte, Version::V5) => options(byte)?,
            (byte, Version::V3_1_1) => plain_options(byte)?,
            // MQTT 3.1 doesn't use the upper six bits.
            (byte, Version::V3_1) => plain_options(byte & 0x03)?,
        };
        if options.no_local && topic::is_shared(filter.as_bytes()) {
            return Err(&rule::NO_LOCAL_SHARED);
        }
        filters.push((filter, options));
    }
    Ok(Packet::Subscribe(Subscribe {
        packet_id,
        properties,
        filters,
    }))
}

fn options(byte: u8) -> Parsed<SubscriptionOptions> {
    if byte & RESERVED != 0 {
        return Err(&rule::OPTIONS_RESERVED);
    }
    Ok(SubscriptionOptions {
        qos: QoS::new(byte & 0x03).ok_or(&rule::REQUESTED_QOS_3)?,
        no_local: byte & NO_LOCAL != 0,
        retain_as_published: byte & RETAIN_AS_PUBLISHED != 0,
        retain_handling: match byte >> RETAIN_HANDLING_SHIFT {
            0 => RetainHandling::Send,
            1 => RetainHandling::SendIfNew,
            2 => RetainHandling::DontSend,
            _ => return Err(&rule::RETAIN_HANDLING_3),
        },
    })
}

/// The options below MQTT 5: a requested QoS.
fn plain_options(byte: u8) -> Parsed<SubscriptionOptions> {
    if byte & !0x03 != 0 {
        return Err(&rule::OPTIONS_RESERVED);
    }
    let qos = QoS::new(byte).ok_or(&rule::REQUESTED_QOS_3_IN_V3)?;
    Ok(SubscriptionOptions {
        qos,
        ..SubscriptionOptions::default()
    })
}

fn options_byte(options: SubscriptionOptions, version: Version) -> u8 {
    if version < Version::V5 {
        return options.qos as u8;
    }
    options.qos as u8
        | if options.no_local { NO_LOCAL } else { 0 }
        | if options.retain_as_published {
            RETAIN_AS_PUBLISHED
        } else {
            0
        }
        | (options.retain_handling as u8) << RETAIN_HANDLING_SHIFT
}

impl Subscribe {
    pub(super) fn body_len(&self, version: Version) -> usize {
        let filters = self
            .filters
            .iter()
            .map(|(filter, _)| wire::binary_len(filter.as_bytes()) + 1);
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
        for (filter, options) in &self.filters {
            wire::put_binary(out, filter.as_bytes());
            out.push(options_byte(*options, version));
        }
    }
}
