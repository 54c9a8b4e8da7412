//! CONNECT on the wire. Chapter 3.1.

use alloc::{boxed::Box, vec::Vec};
use core::fmt;

use super::{
    Connect, Packet, QoS, Version, WillMessage,
    encode::EncodeError,
    rule::{self, Parsed, Rule},
    wire::{self, Reader},
};
use crate::{
    property::{Place, PropertyId},
    topic,
};

const RESERVED: u8 = 0x01;
const CLEAN_START: u8 = 0x02;
const WILL: u8 = 0x04;
const WILL_QOS: u8 = 0x18;
const WILL_QOS_SHIFT: u8 = 3;
const WILL_RETAIN: u8 = 0x20;
const PASSWORD: u8 = 0x40;
const USER_NAME: u8 = 0x80;

/// Reads protocol name and level, and sets them in `reader`.
///
/// # Errors
/// The rule, and the version to answer in.
pub(super) fn version(reader: &mut Reader) -> Result<Version, (&'static Rule, Option<Version>)> {
    let name = reader.text().map_err(|rule| (rule, None))?;
    let known = matches!(name.as_bytes(), b"MQTT" | b"MQIsdp");
    if !known {
        return Err((&rule::PROTOCOL_NAME, None));
    }
    let level = reader.u8().map_err(|rule| (rule, None))?;
    let version = match (name.as_bytes(), level) {
        (b"MQIsdp", 3) => Version::V3_1,
        (b"MQTT", 4) => Version::V3_1_1,
        (b"MQTT", 5) => Version::V5,
        // Bridges set the highest bit, and fall back if they are refused in the old way.
        (_, level) if level & 0x7F >= 5 => return Err((&rule::PROTOCOL_LEVEL, Some(Version::V5))),
        _ => return Err((&rule::PROTOCOL_LEVEL, Some(Version::V3_1_1))),
    };
    reader.set_version(version);
    Ok(version)
}

/// Reads what follows the protocol level.
pub(super) fn decode(mut reader: Reader) -> Parsed<Packet> {
    let version = reader.version();
    let flags = reader.u8()?;
    check_flags(flags, version)?;
    let keep_alive_secs = reader.u16()?;
    let (properties, seen) = reader.properties(Place::Connect)?;
    if seen.has(PropertyId::AuthenticationData) && !seen.has(PropertyId::AuthenticationMethod) {
        return Err(&rule::AUTH_DATA_ALONE);
    }
    let client_id = reader.text()?;
    let will = if flags & WILL == 0 {
        None
    } else {
        Some(will(flags, &mut reader)?)
    };
    // In MQTT 3.1 the remaining length has precedence over these flags.
    let missing = |reader: &Reader| version == Version::V3_1 && reader.is_empty();
    let username = if flags & USER_NAME == 0 || missing(&reader) {
        None
    } else {
        Some(reader.text()?)
    };
    let password = if flags & PASSWORD == 0 || missing(&reader) {
        None
    } else {
        Some(reader.binary()?)
    };
    reader.end()?;
    Ok(Packet::Connect(Box::new(Connect {
        version,
        clean_start: flags & CLEAN_START != 0,
        keep_alive_secs,
        client_id,
        will,
        username,
        password,
        properties,
    })))
}

fn check_flags(flags: u8, version: Version) -> Parsed<()> {
    if flags & PASSWORD != 0 && flags & USER_NAME == 0 && version < Version::V5 {
        return Err(&rule::PASSWORD_WITHOUT_USER);
    }
    let will_qos = (flags & WILL_QOS) >> WILL_QOS_SHIFT;
    if flags & WILL != 0 {
        QoS::new(will_qos).ok_or(&rule::WILL_QOS_3)?;
    }
    if version == Version::V3_1 {
        return Ok(()); // What is unused is ignored.
    }
    if flags & RESERVED != 0 {
        return Err(&rule::CONNECT_FLAG_RESERVED);
    }
    if flags & WILL == 0 && will_qos != 0 {
        return Err(&rule::WILL_QOS_WITHOUT_WILL);
    }
    if flags & WILL == 0 && flags & WILL_RETAIN != 0 {
        return Err(&rule::WILL_RETAIN_WITHOUT_WILL);
    }
    Ok(())
}

fn will(flags: u8, reader: &mut Reader) -> Parsed<WillMessage> {
    let qos = QoS::new((flags & WILL_QOS) >> WILL_QOS_SHIFT).ok_or(&rule::WILL_QOS_3)?;
    let (properties, _) = reader.properties(Place::Will)?;
    let topic = reader.text()?;
    if topic.is_empty() {
        return Err(&rule::WILL_TOPIC_EMPTY);
    }
    if topic::has_wildcard(topic.as_bytes()) {
        return Err(&rule::WILL_TOPIC_WILDCARD);
    }
    let payload = reader.binary()?;
    Ok(WillMessage {
        qos,
        retain: flags & WILL_RETAIN != 0,
        topic,
        payload,
        properties,
    })
}

const fn name(version: Version) -> (&'static [u8], u8) {
    match version {
        Version::V3_1 => (b"MQIsdp", 3),
        Version::V3_1_1 => (b"MQTT", 4),
        Version::V5 => (b"MQTT", 5),
    }
}

impl Connect {
    pub(super) fn body_len(&self) -> usize {
        let mut len = wire::binary_len(name(self.version).0)
            + 4
            + wire::properties_len(self.version, &self.properties)
            + wire::binary_len(self.client_id.as_bytes());
        if let Some(will) = &self.will {
            len += wire::properties_len(self.version, &will.properties)
                + wire::binary_len(will.topic.as_bytes())
                + wire::binary_len(&will.payload);
        }
        if let Some(username) = &self.username {
            len += wire::binary_len(username.as_bytes());
        }
        if let Some(password) = &self.password {
            len += wire::binary_len(password);
        }
        len
    }

    pub(super) fn check(&self) -> Result<(), EncodeError> {
        let long = |bytes: &[u8]| bytes.len() > usize::from(u16::MAX);
        if self.will.as_ref().is_some_and(|will| long(&will.payload)) {
            return Err(EncodeError::FieldTooLong {
                field: "will payload",
            });
        }
        if self.password.as_deref().is_some_and(long) {
            return Err(EncodeError::FieldTooLong { field: "password" });
        }
        if self.version < Version::V5 && self.password.is_some() && self.username.is_none() {
            return Err(EncodeError::NotInVersion {
                what: "a password without a user name",
            });
        }
        Ok(())
    }

    pub(super) fn put(&self, out: &mut Vec<u8>) {
        let (name, level) = name(self.version);
        wire::put_binary(out, name);
        let mut flags = if self.clean_start { CLEAN_START } else { 0 };
        if let Some(will) = &self.will {
            flags |= WILL | (will.qos as u8) << WILL_QOS_SHIFT;
            flags |= if will.retain { WILL_RETAIN } else { 0 };
        }
        flags |= if self.password.is_some() { PASSWORD } else { 0 };
        flags |= if self.username.is_some() {
            USER_NAME
        } else {
            0
        };
        out.extend_from_slice(&[level, flags]);
        wire::put_u16(out, self.keep_alive_secs);
        wire::put_properties(out, self.version, &self.properties);
        wire::put_binary(out, self.client_id.as_bytes());
        if let Some(will) = &self.will {
            wire::put_properties(out, self.version, &will.properties);
            wire::put_binary(out, will.topic.as_bytes());
            wire::put_binary(out, &will.payload);
        }
        if let Some(username) = &self.username {
            wire::put_binary(out, username.as_bytes());
        }
        if let Some(password) = &self.password {
            wire::put_binary(out, password);
        }
    }
}

impl fmt::Debug for Connect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connect")
            .field("version", &self.version)
            .field("clean_start", &self.clean_start)
            .field("keep_alive_secs", &self.keep_alive_secs)
            .field("client_id", &self.client_id)
            .field("will", &self.will)
            .field("username", &self.username)
            .field("password", &self.password.as_ref().map(|_| ".."))
            .finish_non_exhaustive()
    }
}
