//! Bytes in, packets out.
//!
//! Owns [`Decoder`]: the fixed header, the size limit, the version of the connection, which side
//! may send what, and the hand-over to one file per packet. Reads any split of the stream; never
//! waits, never reserves memory for what a length announces. Chapter 2.

use bytes::{Buf, Bytes, BytesMut};

use super::{
    Packet, Version,
    rule::{self, Parsed, Rule},
    wire::{self, Reader, Variable},
};
use crate::reason::ReasonCode;

/// Which side of a connection reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Reads what a client sends.
    Server,
    /// Reads what a server sends.
    Client,
}

/// A packet that breaks the protocol. The connection can't go on: its next packet is not to be
/// found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail} ({reason})")]
#[non_exhaustive]
pub struct DecodeError {
    /// The reason code to close with.
    pub reason: ReasonCode,
    /// The version to answer in: that of the connection or of the CONNECT that is at fault;
    /// `None` if the sender never said so much.
    pub version: Option<Version>,
    /// The statement or section of the specification that is broken, such as `MQTT-3.3.1-4`.
    pub statement: &'static str,
    /// What is wrong.
    pub detail: &'static str,
}

/// Reads the packets of one side of a connection.
#[derive(Debug)]
pub struct Decoder {
    role: Role,
    version: Option<Version>,
    max_packet_size: u32,
}

impl Decoder {
    /// A decoder at the start of a connection; no packet may exceed `max_packet_size` bytes,
    /// fixed header included.
    ///
    /// A server learns the version from the CONNECT. A client reads MQTT 5 until
    /// [`Decoder::set_version`] says otherwise.
    pub const fn new(role: Role, max_packet_size: u32) -> Self {
        Self {
            role,
            version: None,
            max_packet_size,
        }
    }

    /// The version of the connection, once it is known.
    pub const fn version(&self) -> Option<Version> {
        self.version
    }

    /// Sets the version that the client of the connection speaks.
    pub const fn set_version(&mut self, version: Version) {
        self.version = Some(version);
    }

    /// Sets the largest packet that is taken, bytes, fixed header included.
    pub const fn set_max_packet_size(&mut self, max_packet_size: u32) {
        self.max_packet_size = max_packet_size;
    }

    /// Takes the next packet from the front of `buf`, or `None` until more bytes are there.
    ///
    /// The packet shares the memory of `buf`.
    ///
    /// # Errors
    /// When the sender breaks the protocol: send the reason, close the connection, and read no
    /// further. `buf` is then left in any state.
    pub fn decode(&mut self, buf: &mut BytesMut) -> Result<Option<Packet>, DecodeError> {
        let Some((first, size, total)) = self.header(buf).map_err(|rule| self.error(rule))? else {
            return Ok(None);
        };
        if buf.len() < total {
            return Ok(None);
        }
        let padded = size > 2 && buf.get(size - 1) == Some(&0);
        let mut body = buf.split_to(total).freeze();
        body.advance(size);
        if first >> 4 == super::CONNECT {
            return self.connect(body, padded).map(Some);
        }
        let version = self.version.unwrap_or(Version::V5);
        self.body(first, Reader::new(body, version))
            .map(Some)
            .map_err(|rule| self.error(rule))
    }

    /// The first byte, the size of the fixed header and that of the whole packet, as soon as they
    /// are there; whatever can be refused by them is.
    fn header(&self, buf: &[u8]) -> Parsed<Option<(u8, usize, usize)>> {
        let Some((&first, rest)) = buf.split_first() else {
            return Ok(None);
        };
        self.check_first(first)?;
        match wire::variable(rest) {
            Variable::Incomplete => Ok(None),
            Variable::Overlong => Err(&rule::LENGTH_OVERLONG),
            // Only MQTT 5 asks for the shortest form.
            Variable::Value { padded: true, .. } if self.version == Some(Version::V5) => {
                Err(&rule::LENGTH_PADDED)
            }
            Variable::Value { value, size, .. } => {
                let header = 1 + size;
                let total = header + value as usize;
                if total > self.max_packet_size as usize {
                    return Err(&rule::TOO_LARGE);
                }
                Ok(Some((first, header, total)))
            }
        }
    }

    /// Checks type, direction and flags: all that the first byte says.
    fn check_first(&self, first: u8) -> Parsed<()> {
        let (kind, flags) = (first >> 4, first & 0x0F);
        match (self.role, self.version) {
            (Role::Server, None) if kind != super::CONNECT => return Err(&rule::FIRST_NOT_CONNECT),
            (Role::Server, Some(_)) if kind == super::CONNECT => return Err(&rule::SECOND_CONNECT),
            _ => {}
        }
        if kind == 0 {
            return Err(&rule::TYPE_RESERVED);
        }
        let version = self.version.unwrap_or(Version::V5);
        if kind == super::AUTH && version < Version::V5 {
            return Err(&rule::TYPE_AUTH);
        }
        let mine = match self.role {
            Role::Server => super::FROM_CLIENT,
            Role::Client => super::FROM_SERVER,
        };
        let mine = if version < Version::V5 && self.role == Role::Client {
            mine & !(1 << super::DISCONNECT)
        } else {
            mine
        };
        if mine & (1 << kind) == 0 {
            return Err(&rule::WRONG_WAY);
        }
        // MQTT 3.1 gives DUP a meaning on these packets and ignores what it calls unused.
        let wanted = match kind {
            super::PUBLISH => return super::publish::check_flags(flags, version),
            super::PUBREL | super::SUBSCRIBE | super::UNSUBSCRIBE => 0x02,
            _ => 0,
        };
        if flags == wanted || version == Version::V3_1 {
            Ok(())
        } else {
            Err(&rule::FLAGS_RESERVED)
        }
    }

    fn connect(&mut self, body: Bytes, padded: bool) -> Result<Packet, DecodeError> {
        let mut reader = Reader::new(body, Version::V3_1_1);
        let version = super::connect::version(&mut reader)
            .map_err(|(rule, version)| DecodeError::new(rule, version))?;
        if padded && version == Version::V5 {
            return Err(DecodeError::new(&rule::LENGTH_PADDED, Some(version)));
        }
        let packet =
            super::connect::decode(reader).map_err(|rule| DecodeError::new(rule, Some(version)))?;
        self.version = Some(version);
        Ok(packet)
    }

    fn body(&self, first: u8, mut reader: Reader) -> Parsed<Packet> {
        let packet = match first >> 4 {
            super::PUBLISH => return super::publish::decode(first, reader, self.role),
            super::CONNACK => super::connack::decode(&mut reader)?,
            super::PUBACK => Packet::PubAck(super::ack::decode(&mut reader)?),
            super::PUBREC => Packet::PubRec(super::ack::decode(&mut reader)?),
            super::PUBREL => Packet::PubRel(super::ack::decode(&mut reader)?),
            super::PUBCOMP => Packet::PubComp(super::ack::decode(&mut reader)?),
            super::SUBSCRIBE => super::subscribe::decode(&mut reader)?,
            super::SUBACK => return super::suback::decode(reader),
            super::UNSUBSCRIBE => super::unsubscribe::decode(&mut reader)?,
            super::UNSUBACK => return super::suback::decode_unsubscribed(reader),
            super::PINGREQ => Packet::PingReq,
            super::PINGRESP => Packet::PingResp,
            super::DISCONNECT => super::disconnect::decode(&mut reader)?,
            super::AUTH => super::auth::decode(&mut reader)?,
            _ => return Err(&rule::TYPE_RESERVED),
        };
        reader.end()?;
        Ok(packet)
    }

    fn error(&self, rule: &Rule) -> DecodeError {
        DecodeError::new(rule, self.version)
    }
}

impl DecodeError {
    fn new(rule: &Rule, version: Option<Version>) -> Self {
        let statement = match version {
            Some(Version::V3_1 | Version::V3_1_1) => rule.v3,
            Some(Version::V5) | None => rule.v5,
        };
        Self {
            reason: rule.reason,
            version,
            statement,
            detail: rule.detail,
        }
    }
}
