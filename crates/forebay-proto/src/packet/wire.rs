//! The data types of the wire: integers, strings, binary data.
//!
//! Owns [`Reader`], which takes a packet apart without copying, and the `put_*` functions that
//! write. Chapter 1.5.

use alloc::vec::Vec;
use bytes::{Buf, Bytes};

use super::{
    Version,
    rule::{self, Parsed},
};
use crate::{
    id::PacketId,
    property::{Place, Properties, Seen},
    text::{Text, TextFault},
};

/// The largest value of a variable byte integer: 268,435,455.
pub(crate) const VARIABLE_MAX: usize = 0x0FFF_FFFF;

/// What a variable byte integer at the start of a buffer turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variable {
    /// The value, the bytes it took, and whether fewer would have done.
    Value {
        value: u32,
        size: usize,
        padded: bool,
    },
    /// The bytes end inside it.
    Incomplete,
    /// The fourth byte announces a fifth.
    Overlong,
}

/// Reads the variable byte integer at the start of `bytes`.
pub(crate) fn variable(bytes: &[u8]) -> Variable {
    let mut value = 0;
    for (index, &byte) in bytes.iter().take(4).enumerate() {
        value |= u32::from(byte & 0x7F) << (7 * index);
        if byte & 0x80 == 0 {
            return Variable::Value {
                value,
                size: index + 1,
                padded: byte == 0 && index > 0,
            };
        }
    }
    if bytes.len() < 4 {
        Variable::Incomplete
    } else {
        Variable::Overlong
    }
}

/// The bytes that a variable byte integer takes.
pub(crate) const fn variable_len(value: usize) -> usize {
    match value {
        0..=0x7F => 1,
        0x80..=0x3FFF => 2,
        0x4000..=0x1F_FFFF => 3,
        _ => 4,
    }
}

/// Writes `value`, at most [`VARIABLE_MAX`], as a variable byte integer.
pub(crate) fn put_variable(out: &mut Vec<u8>, mut value: usize) {
    while value > 0x7F {
        out.push((value & 0x7F) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Writes a big-endian 16-bit number.
pub(crate) fn put_u16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_be_bytes());
}

/// Writes a string or binary data, at most 65,535 bytes, with its length.
pub(crate) fn put_binary(out: &mut Vec<u8>, bytes: &[u8]) {
    put_u16(out, bytes.len() as u16);
    out.extend_from_slice(bytes);
}

/// The bytes that a string or binary data takes with its length.
pub(crate) const fn binary_len(bytes: &[u8]) -> usize {
    2 + bytes.len()
}

/// Writes a property block with its length; nothing below MQTT 5.
pub(crate) fn put_properties(out: &mut Vec<u8>, version: Version, properties: &Properties) {
    if version == Version::V5 {
        put_variable(out, properties.as_bytes().len());
        out.extend_from_slice(properties.as_bytes());
    }
}

/// The bytes that a property block takes with its length; 0 below MQTT 5.
pub(crate) fn properties_len(version: Version, properties: &Properties) -> usize {
    if version == Version::V5 {
        let len = properties.as_bytes().len();
        variable_len(len) + len
    } else {
        0
    }
}

/// Takes a packet apart from the front, sharing its buffer.
#[derive(Debug)]
pub(crate) struct Reader {
    bytes: Bytes,
    version: Version,
}

impl Reader {
    pub(crate) const fn new(bytes: Bytes, version: Version) -> Self {
        Self { bytes, version }
    }

    pub(crate) const fn version(&self) -> Version {
        self.version
    }

    /// Sets the version, once a CONNECT has told it.
    pub(crate) const fn set_version(&mut self, version: Version) {
        self.version = version;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn u8(&mut self) -> Parsed<u8> {
        let &byte = self.bytes.first().ok_or(&rule::TRUNCATED)?;
        self.bytes.advance(1);
        Ok(byte)
    }

    pub(crate) fn u16(&mut self) -> Parsed<u16> {
        let &bytes = self.bytes.first_chunk().ok_or(&rule::TRUNCATED)?;
        self.bytes.advance(2);
        Ok(u16::from_be_bytes(bytes))
    }

    pub(crate) fn packet_id(&mut self) -> Parsed<PacketId> {
        PacketId::new(self.u16()?).ok_or(&rule::PACKET_ID_0)
    }

    /// Takes binary data with its length.
    pub(crate) fn binary(&mut self) -> Parsed<Bytes> {
        let len = usize::from(self.u16()?);
        if len > self.bytes.len() {
            return Err(&rule::TRUNCATED);
        }
        Ok(self.bytes.split_to(len))
    }

    /// Takes a string with its length.
    pub(crate) fn text(&mut self) -> Parsed<Text> {
        Text::checked(self.binary()?).map_err(|fault| match fault {
            TextFault::Nul => &rule::TEXT_NUL,
            TextFault::TooLong | TextFault::NotUtf8 => &rule::TEXT_UTF8,
        })
    }

    /// Takes a property block with its length and checks it; there is none below MQTT 5.
    pub(crate) fn properties(&mut self, place: Place) -> Parsed<(Properties, Seen)> {
        if self.version < Version::V5 {
            return Ok((Properties::EMPTY, Seen::default()));
        }
        let len = match variable(&self.bytes) {
            Variable::Value { padded: true, .. } => return Err(&rule::VARIABLE_PADDED),
            Variable::Value { value, size, .. } => {
                self.bytes.advance(size);
                value as usize
            }
            Variable::Incomplete => return Err(&rule::TRUNCATED),
            Variable::Overlong => return Err(&rule::VARIABLE_OVERLONG),
        };
        if len > self.bytes.len() {
            return Err(&rule::PROPERTIES_TRUNCATED);
        }
        Properties::checked(self.bytes.split_to(len), place)
    }

    /// Takes everything that is left.
    pub(crate) fn rest(self) -> Bytes {
        self.bytes
    }

    /// Ends the packet.
    ///
    /// # Errors
    /// When bytes are left.
    pub(crate) fn end(&self) -> Parsed<()> {
        if self.bytes.is_empty() {
            Ok(())
        } else {
            Err(&rule::TRAILING)
        }
    }
}
