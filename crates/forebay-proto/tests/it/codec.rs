//! Packets to bytes and back. Chapters 2 and 3, both versions.

pub(crate) mod arbitrary;
mod exact;
mod oracle;
mod random;
mod refusals;
mod roundtrip;
mod stream;

use bytes::{Bytes, BytesMut};
use forebay_proto::{
    DecodeError, Decoder, Packet, PacketId, Properties, PropertiesBuilder, Property, Role, Text,
    Version, encode,
};

/// A decoder in the middle of a connection; for a CONNECT, one at its start.
fn decoder(role: Role, version: Version, first: u8) -> Decoder {
    let mut decoder = Decoder::new(role, 1 << 20);
    if first >> 4 != 1 {
        decoder.set_version(version);
    }
    decoder
}

/// Decodes `bytes`, which arrive at once.
fn decode(role: Role, version: Version, bytes: &[u8]) -> Result<Option<Packet>, DecodeError> {
    let first = bytes.first().copied().unwrap_or_default();
    decoder(role, version, first).decode(&mut BytesMut::from(bytes))
}

fn encoded(packet: &Packet, version: Version) -> Vec<u8> {
    let mut out = Vec::new();
    encode(packet, version, &mut out).unwrap();
    out
}

/// The bytes that `hex` spells; text in quotes stands for itself.
fn hex(hex: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for (index, part) in hex.split('\'').enumerate() {
        if index % 2 == 1 {
            out.extend_from_slice(part.as_bytes());
            continue;
        }
        for byte in part.split_whitespace() {
            out.push(u8::from_str_radix(byte, 16).unwrap());
        }
    }
    out
}

fn id(id: u16) -> PacketId {
    PacketId::new(id).unwrap()
}

fn text(text: &str) -> Text {
    Text::try_from(String::from(text)).unwrap()
}

fn blob(bytes: &[u8]) -> Bytes {
    Bytes::copy_from_slice(bytes)
}

fn properties(list: &[Property<'_>]) -> Properties {
    let mut builder = PropertiesBuilder::new();
    for &property in list {
        builder.push(property);
    }
    builder.build()
}
