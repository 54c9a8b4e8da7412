//! Packets as bytes, built by hand. Chapters 2 and 3 of both specifications.

/// The protocol version that a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// MQTT 3.1.1.
    V311,
    /// MQTT 5.
    V5,
}

/// Both versions.
pub(crate) const BOTH: [Version; 2] = [Version::V311, Version::V5];

pub(crate) const PINGREQ: [u8; 2] = [0xC0, 0];
pub(crate) const PINGRESP: [u8; 2] = [0xD0, 0];
pub(crate) const DISCONNECT: [u8; 2] = [0xE0, 0];

pub(crate) const PUBACK: u8 = 0x40;
pub(crate) const PUBREC: u8 = 0x50;
pub(crate) const PUBREL: u8 = 0x62;
pub(crate) const PUBCOMP: u8 = 0x70;

/// Bytes written as hexadecimal digits and `'text'`; white space between them is free.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (place, part) in text.split('\'').enumerate() {
        if place % 2 == 1 {
            bytes.extend_from_slice(part.as_bytes());
            continue;
        }
        let digits: Vec<u8> = part
            .chars()
            .filter(|letter| !letter.is_whitespace())
            .map(|letter| letter.to_digit(16).expect("a hexadecimal digit") as u8)
            .collect();
        assert!(digits.len().is_multiple_of(2), "half a byte in {text:?}");
        bytes.extend(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]));
    }
    bytes
}

/// A variable byte integer.
pub(crate) fn var(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = (value % 128) as u8;
        value /= 128;
        bytes.push(if value > 0 { low | 0x80 } else { low });
        if value == 0 {
            return bytes;
        }
    }
}

/// Binary data or a string with its two length bytes.
pub(crate) fn text(value: impl AsRef<[u8]>) -> Vec<u8> {
    let value = value.as_ref();
    let length = u16::try_from(value.len()).expect("at most 65,535 bytes");
    [&length.to_be_bytes(), value].concat()
}

/// A packet: first byte, remaining length, the rest.
pub(crate) fn packet(first: u8, rest: &[u8]) -> Vec<u8> {
    [&[first], var(rest.len()).as_slice(), rest].concat()
}

/// A property block with its length.
pub(crate) fn block(properties: &[u8]) -> Vec<u8> {
    [var(properties.len()).as_slice(), properties].concat()
}

/// A property of one byte.
pub(crate) fn prop1(id: u8, value: u8) -> Vec<u8> {
    vec![id, value]
}

/// A property of two bytes.
pub(crate) fn prop2(id: u8, value: u16) -> Vec<u8> {
    [&[id], value.to_be_bytes().as_slice()].concat()
}

/// A property of four bytes.
pub(crate) fn prop4(id: u8, value: u32) -> Vec<u8> {
    [&[id], value.to_be_bytes().as_slice()].concat()
}

/// A string or binary property.
pub(crate) fn prop_text(id: u8, value: impl AsRef<[u8]>) -> Vec<u8> {
    [&[id], text(value).as_slice()].concat()
}

/// A user property.
pub(crate) fn prop_pair(name: &str, value: &str) -> Vec<u8> {
    [vec![0x26], text(name), text(value)].concat()
}

/// A PUBACK, PUBREC, PUBREL or PUBCOMP of success.
pub(crate) fn ack(first: u8, id: u16) -> Vec<u8> {
    [&[first, 2], id.to_be_bytes().as_slice()].concat()
}

/// An acknowledgement with a reason code, which only MQTT 5 has.
pub(crate) fn ack_with(version: Version, first: u8, id: u16, reason: u8) -> Vec<u8> {
    if version == Version::V311 || reason == 0 {
        return ack(first, id);
    }
    [&[first, 3], id.to_be_bytes().as_slice(), &[reason]].concat()
}

/// A SUBSCRIBE with the options byte of each filter.
pub(crate) fn subscribe(version: Version, id: u16, filters: &[(&str, u8)]) -> Vec<u8> {
    subscribe_with(version, id, &[], filters)
}

/// A SUBSCRIBE with properties.
pub(crate) fn subscribe_with(
    version: Version,
    id: u16,
    properties: &[u8],
    filters: &[(&str, u8)],
) -> Vec<u8> {
    let mut rest = id.to_be_bytes().to_vec();
    if version == Version::V5 {
        rest.extend(block(properties));
    }
    for (filter, options) in filters {
        rest.extend(text(filter));
        rest.push(*options);
    }
    packet(0x82, &rest)
}

/// A SUBACK.
pub(crate) fn suback(version: Version, id: u16, reasons: &[u8]) -> Vec<u8> {
    let mut rest = id.to_be_bytes().to_vec();
    if version == Version::V5 {
        rest.push(0);
    }
    rest.extend_from_slice(reasons);
    packet(0x90, &rest)
}

/// An UNSUBSCRIBE.
pub(crate) fn unsubscribe(version: Version, id: u16, filters: &[&str]) -> Vec<u8> {
    let mut rest = id.to_be_bytes().to_vec();
    if version == Version::V5 {
        rest.push(0);
    }
    for filter in filters {
        rest.extend(text(filter));
    }
    packet(0xA2, &rest)
}

/// An UNSUBACK; 3.1.1 has no reasons.
pub(crate) fn unsuback(version: Version, id: u16, reasons: &[u8]) -> Vec<u8> {
    let mut rest = id.to_be_bytes().to_vec();
    if version == Version::V5 {
        rest.push(0);
        rest.extend_from_slice(reasons);
    }
    packet(0xB0, &rest)
}

/// A PUBLISH in the making.
#[derive(Clone, Debug)]
pub(crate) struct Publish {
    topic: Vec<u8>,
    payload: Vec<u8>,
    pub(crate) qos: u8,
    dup: bool,
    retain: bool,
    id: u16,
    properties: Vec<u8>,
}

/// A PUBLISH of QoS 0.
pub(crate) fn publish(topic: impl AsRef<[u8]>, payload: impl AsRef<[u8]>) -> Publish {
    Publish {
        topic: topic.as_ref().to_vec(),
        payload: payload.as_ref().to_vec(),
        qos: 0,
        dup: false,
        retain: false,
        id: 0,
        properties: Vec::new(),
    }
}

impl Publish {
    /// With this QoS and packet identifier; the identifier is left out for QoS 0.
    pub(crate) fn qos(mut self, qos: u8, id: u16) -> Self {
        (self.qos, self.id) = (qos, id);
        self
    }

    /// With DUP set.
    pub(crate) fn dup(mut self, dup: bool) -> Self {
        self.dup = dup;
        self
    }

    /// With RETAIN set.
    pub(crate) fn retain(mut self, retain: bool) -> Self {
        self.retain = retain;
        self
    }

    /// With one more property; 3.1.1 leaves them out.
    pub(crate) fn property(mut self, property: impl AsRef<[u8]>) -> Self {
        self.properties.extend_from_slice(property.as_ref());
        self
    }

    /// As bytes.
    pub(crate) fn bytes(&self, version: Version) -> Vec<u8> {
        let flags = u8::from(self.dup) << 3 | self.qos << 1 | u8::from(self.retain);
        let mut rest = text(&self.topic);
        if self.qos > 0 {
            rest.extend(self.id.to_be_bytes());
        }
        if version == Version::V5 {
            rest.extend(block(&self.properties));
        }
        rest.extend_from_slice(&self.payload);
        packet(0x30 | flags, &rest)
    }
}

/// A CONNECT in the making: clean, keep alive 60 s, no will.
#[derive(Clone, Debug)]
pub(crate) struct Connect {
    pub(crate) version: Version,
    id: Vec<u8>,
    clean: bool,
    keep_alive: u16,
    properties: Vec<u8>,
    will: Option<(Publish, Vec<u8>)>,
    username: Option<String>,
    password: Option<Vec<u8>>,
}

/// A CONNECT of a session that ends with its connection.
pub(crate) fn connect(version: Version, id: impl AsRef<[u8]>) -> Connect {
    Connect {
        version,
        id: id.as_ref().to_vec(),
        clean: true,
        keep_alive: 60,
        properties: Vec::new(),
        will: None,
        username: None,
        password: None,
    }
}

/// A CONNECT of a session that outlives its connection: clean session 0 in 3.1.1; in MQTT 5 clean
/// start 0 and an hour of expiry.
pub(crate) fn durable(version: Version, id: impl AsRef<[u8]>) -> Connect {
    let it = connect(version, id).clean(false);
    if version == Version::V5 {
        it.expiry(3600)
    } else {
        it
    }
}

impl Connect {
    /// With this Clean Start or Clean Session.
    pub(crate) fn clean(mut self, clean: bool) -> Self {
        self.clean = clean;
        self
    }

    /// With this Keep Alive in seconds.
    pub(crate) fn keep_alive(mut self, seconds: u16) -> Self {
        self.keep_alive = seconds;
        self
    }

    /// With a Session Expiry Interval in seconds.
    pub(crate) fn expiry(self, seconds: u32) -> Self {
        self.property(prop4(0x11, seconds))
    }

    /// With one more property; 3.1.1 leaves them out.
    pub(crate) fn property(mut self, property: impl AsRef<[u8]>) -> Self {
        self.properties.extend_from_slice(property.as_ref());
        self
    }

    /// With a will; its properties are `properties`, those of the message stay unused.
    pub(crate) fn will(mut self, will: Publish, properties: &[u8]) -> Self {
        self.will = Some((will, properties.to_vec()));
        self
    }

    /// With a user name.
    pub(crate) fn username(mut self, name: &str) -> Self {
        self.username = Some(name.to_owned());
        self
    }

    /// With a password.
    pub(crate) fn password(mut self, password: &[u8]) -> Self {
        self.password = Some(password.to_vec());
        self
    }

    /// As bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut flags = u8::from(self.clean) << 1;
        if let Some((will, _)) = &self.will {
            flags |= 0x04 | will.qos << 3 | u8::from(will.retain) << 5;
        }
        flags |= u8::from(self.username.is_some()) << 7 | u8::from(self.password.is_some()) << 6;
        let level = if self.version == Version::V5 { 5 } else { 4 };
        let mut rest = [text("MQTT"), vec![level, flags]].concat();
        rest.extend(self.keep_alive.to_be_bytes());
        if self.version == Version::V5 {
            rest.extend(block(&self.properties));
        }
        rest.extend(text(&self.id));
        if let Some((will, properties)) = &self.will {
            if self.version == Version::V5 {
                rest.extend(block(properties));
            }
            rest.extend(text(&will.topic));
            rest.extend(text(&will.payload));
        }
        if let Some(name) = &self.username {
            rest.extend(text(name));
        }
        if let Some(password) = &self.password {
            rest.extend(text(password));
        }
        packet(0x10, &rest)
    }
}

/// A DISCONNECT of MQTT 5 with a reason and properties.
pub(crate) fn disconnect_with(reason: u8, properties: &[u8]) -> Vec<u8> {
    packet(0xE0, &[&[reason], block(properties).as_slice()].concat())
}

/// Splits a property block, without its length, into identifiers and raw values.
#[track_caller]
pub(crate) fn properties(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut found = Vec::new();
    while let Some((&id, rest)) = bytes.split_first() {
        let string = |at: usize| 2 + usize::from(u16::from_be_bytes([rest[at], rest[at + 1]]));
        let size = match id {
            0x01 | 0x17 | 0x19 | 0x24 | 0x25 | 0x28 | 0x29 | 0x2A => 1,
            0x13 | 0x21 | 0x22 | 0x23 => 2,
            0x02 | 0x11 | 0x18 | 0x27 => 4,
            0x0B => read_var(rest).1,
            0x03 | 0x08 | 0x09 | 0x12 | 0x15 | 0x16 | 0x1A | 0x1C | 0x1F => string(0),
            0x26 => string(0) + string(string(0)),
            _ => panic!("property {id:#04x} does not exist"),
        };
        found.push((id, rest[..size].to_vec()));
        bytes = &rest[size..];
    }
    found
}

/// A variable byte integer and the bytes it took.
#[track_caller]
pub(crate) fn read_var(bytes: &[u8]) -> (usize, usize) {
    let mut value = 0;
    for (place, &byte) in bytes.iter().take(4).enumerate() {
        value |= usize::from(byte & 0x7F) << (7 * place);
        if byte & 0x80 == 0 {
            return (value, place + 1);
        }
    }
    panic!("no variable byte integer in {bytes:02x?}")
}
