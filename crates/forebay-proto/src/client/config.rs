//! What a client asks for.
//!
//! Owns [`ClientConfig`] and the CONNECT it becomes. Chapter 3.1.

use alloc::boxed::Box;
use bytes::Bytes;
use core::time::Duration;

use crate::{
    packet::{Connect, Packet, Version, WillMessage},
    property::{PropertiesBuilder, Property},
    text::Text,
};

/// How a client connects and how much it takes.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// The version to speak.
    pub version: Version,
    /// The client identifier; empty asks the server for one.
    pub client_id: Text,
    /// Whether the first connection starts a new session. Later ones go on with it, unless it
    /// ended with its connection.
    pub clean_start: bool,
    /// Seconds that the session outlives a connection, `u32::MAX` for ever; MQTT 5 only. Below,
    /// a session that is not clean has no end.
    pub session_expiry_secs: u32,
    /// Keep Alive, seconds; 0 turns it off.
    pub keep_alive_secs: u16,
    /// The user name.
    pub username: Option<Text>,
    /// The password.
    pub password: Option<Bytes>,
    /// What the server publishes if this client goes without a word.
    pub will: Option<WillMessage>,
    /// QoS 1 and 2 messages that the server may have unacknowledged here, not 0. Where the
    /// version lets it know, more of them end the connection.
    pub receive_maximum: u16,
    /// Whether more than `receive_maximum` are taken all the same, up to 65,535: Mosquitto 2.0
    /// heeds it for new messages, but not for those it kept for a session that comes back.
    pub forgives_excess: bool,
    /// The largest packet taken, bytes, or no bound; MQTT 5 only.
    pub maximum_packet_size: Option<u32>,
    /// QoS 1 and 2 messages in flight to the server, not 0; its Receive Maximum may be less.
    pub max_inflight: u16,
    /// Messages that wait for their turn; past it a publish is refused as full.
    pub max_waiting: usize,
    /// Whether a message is acknowledged as it is handed out; otherwise by
    /// [`Client::acknowledge`](super::Client::acknowledge).
    pub acknowledge_at_once: bool,
    /// Time from the connection to the CONNACK.
    pub connect_timeout: Duration,
    /// Time from a PINGREQ to any sign of life.
    pub ping_timeout: Duration,
}

impl ClientConfig {
    /// A client that speaks `version` as `client_id` in a session that ends with its connection.
    pub fn new(version: Version, client_id: Text) -> Self {
        Self {
            version,
            client_id,
            clean_start: true,
            session_expiry_secs: 0,
            keep_alive_secs: 60,
            username: None,
            password: None,
            will: None,
            receive_maximum: 256,
            forgives_excess: false,
            maximum_packet_size: None,
            max_inflight: 256,
            max_waiting: 1024,
            acknowledge_at_once: true,
            connect_timeout: Duration::from_secs(10),
            ping_timeout: Duration::from_secs(10),
        }
    }

    /// Whether the session outlives its connection.
    pub(super) fn keeps_session(&self) -> bool {
        match self.version {
            Version::V5 => self.session_expiry_secs > 0,
            Version::V3_1 | Version::V3_1_1 => !self.clean_start,
        }
    }

    /// The CONNECT of a connection; `first` is the first of this client.
    pub(super) fn connect(&self, first: bool) -> Packet {
        let mut properties = PropertiesBuilder::new();
        if self.version == Version::V5 {
            if self.session_expiry_secs > 0 {
                properties.push(Property::SessionExpiryInterval(self.session_expiry_secs));
            }
            properties.push(Property::ReceiveMaximum(self.receive_maximum));
            if let Some(size) = self.maximum_packet_size {
                properties.push(Property::MaximumPacketSize(size));
            }
        }
        Packet::Connect(Box::new(Connect {
            version: self.version,
            clean_start: self.clean_start && first || !self.keeps_session(),
            keep_alive_secs: self.keep_alive_secs,
            client_id: self.client_id.clone(),
            will: self.will.clone(),
            username: self.username.clone(),
            password: self.password.clone(),
            properties: properties.build(),
        }))
    }
}
