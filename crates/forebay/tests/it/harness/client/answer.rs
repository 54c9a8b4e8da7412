//! What a broker sends, read field by field.

use crate::harness::{
    Version,
    wire::{properties, read_var},
};

/// A CONNACK.
#[derive(Debug)]
pub(crate) struct ConnAck {
    pub(crate) present: bool,
    pub(crate) code: u8,
    pub(crate) properties: Vec<(u8, Vec<u8>)>,
}

impl ConnAck {
    #[track_caller]
    pub(super) fn read(frame: &[u8], version: Version) -> Self {
        assert_eq!(frame.first(), Some(&0x20), "not a CONNACK: {frame:02x?}");
        assert!(
            frame[2] <= 1,
            "reserved CONNACK flags are set: {frame:02x?}"
        );
        let list = match version {
            Version::V311 => {
                assert_eq!(
                    frame.len(),
                    4,
                    "a CONNACK of 3.1.1 has four bytes: {frame:02x?}"
                );
                Vec::new()
            }
            Version::V5 => {
                let (length, size) = read_var(&frame[4..]);
                assert_eq!(
                    frame.len(),
                    4 + size + length,
                    "property length: {frame:02x?}"
                );
                properties(&frame[4 + size..])
            }
        };
        Self {
            present: frame[2] == 1,
            code: frame[3],
            properties: list,
        }
    }

    /// The number in a property, or `default` where there is none.
    pub(crate) fn number(&self, id: u8, default: u64) -> u64 {
        let value = self.properties.iter().find(|(found, _)| *found == id);
        value.map_or(default, |(_, raw)| {
            raw.iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte))
        })
    }

    /// The string in a property.
    pub(crate) fn text(&self, id: u8) -> Option<String> {
        let (_, raw) = self.properties.iter().find(|(found, _)| *found == id)?;
        Some(String::from_utf8(raw[2..].to_vec()).expect("UTF-8"))
    }
}

/// A PUBLISH that came.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Delivery {
    pub(crate) dup: bool,
    pub(crate) qos: u8,
    pub(crate) retain: bool,
    pub(crate) topic: String,
    pub(crate) id: u16,
    pub(crate) properties: Vec<(u8, Vec<u8>)>,
    pub(crate) payload: Vec<u8>,
}

impl Delivery {
    /// Reads a PUBLISH, or `None` for another packet.
    #[track_caller]
    pub(crate) fn read(frame: &[u8], version: Version) -> Option<Self> {
        if frame[0] >> 4 != 3 {
            return None;
        }
        let (dup, qos, retain) = (frame[0] & 8 != 0, frame[0] >> 1 & 3, frame[0] & 1 != 0);
        let mut at = 1 + read_var(&frame[1..]).1;
        let number = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
        let length = usize::from(number(at));
        let topic = String::from_utf8(frame[at + 2..at + 2 + length].to_vec()).expect("UTF-8");
        at += 2 + length;
        let mut id = 0;
        if qos > 0 {
            id = number(at);
            at += 2;
            assert_ne!(id, 0, "a packet identifier is not 0 [MQTT-2.2.1-3]");
        }
        let mut list = Vec::new();
        if version == Version::V5 {
            let (length, size) = read_var(&frame[at..]);
            list = properties(&frame[at + size..at + size + length]);
            at += size + length;
        }
        Some(Self {
            dup,
            qos,
            retain,
            topic,
            id,
            properties: list,
            payload: frame[at..].to_vec(),
        })
    }

    /// The payload as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.payload).into_owned()
    }
}
