//! MQTT control packets, one type for both versions.
//!
//! Owns the shapes that the machines speak and the bytes they become. Payloads, strings and
//! property blocks share the buffer they were read from. Never decides what a packet means.
//! Chapters 2 and 3 of the specification.

mod ack;
mod auth;
mod connack;
mod connect;
mod decode;
mod disconnect;
mod encode;
mod publish;
pub(crate) mod rule;
mod suback;
mod subscribe;
mod unsubscribe;
pub(crate) mod wire;

use alloc::{boxed::Box, vec::Vec};
use bytes::Bytes;

pub use decode::{DecodeError, Decoder, Role};
pub use encode::{EncodeError, encode, encoded_len};

use crate::{id::PacketId, property::Properties, reason::ReasonCode, text::Text};

// The packet types, the upper half of the first byte.
const CONNECT: u8 = 1;
const CONNACK: u8 = 2;
const PUBLISH: u8 = 3;
const PUBACK: u8 = 4;
const PUBREC: u8 = 5;
const PUBREL: u8 = 6;
const PUBCOMP: u8 = 7;
const SUBSCRIBE: u8 = 8;
const SUBACK: u8 = 9;
const UNSUBSCRIBE: u8 = 10;
const UNSUBACK: u8 = 11;
const PINGREQ: u8 = 12;
const PINGRESP: u8 = 13;
const DISCONNECT: u8 = 14;
const AUTH: u8 = 15;

/// The types that both sides send, a bit each.
const FROM_BOTH: u16 = 1 << PUBLISH
    | 1 << PUBACK
    | 1 << PUBREC
    | 1 << PUBREL
    | 1 << PUBCOMP
    | 1 << DISCONNECT
    | 1 << AUTH;
/// The types that clients send.
const FROM_CLIENT: u16 =
    FROM_BOTH | 1 << CONNECT | 1 << SUBSCRIBE | 1 << UNSUBSCRIBE | 1 << PINGREQ;
/// The types that servers send.
const FROM_SERVER: u16 = FROM_BOTH | 1 << CONNACK | 1 << SUBACK | 1 << UNSUBACK | 1 << PINGRESP;

/// The protocol version of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// MQTT 3.1: protocol name `MQIsdp`, level 3.
    V3_1,
    /// MQTT 3.1.1: level 4.
    V3_1_1,
    /// MQTT 5.0: level 5.
    V5,
}

/// Quality of service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QoS {
    /// At most once.
    #[default]
    AtMostOnce = 0,
    /// At least once.
    AtLeastOnce = 1,
    /// Exactly once.
    ExactlyOnce = 2,
}

impl QoS {
    /// The level 0, 1 or 2, or `None` for another number.
    pub const fn new(level: u8) -> Option<Self> {
        match level {
            0 => Some(Self::AtMostOnce),
            1 => Some(Self::AtLeastOnce),
            2 => Some(Self::ExactlyOnce),
            _ => None,
        }
    }
}

/// A control packet.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "each variant is documented by the type it holds"
)]
pub enum Packet {
    Connect(Box<Connect>),
    ConnAck(ConnAck),
    Publish(Publish),
    PubAck(Ack),
    PubRec(Ack),
    PubRel(Ack),
    PubComp(Ack),
    Subscribe(Subscribe),
    SubAck(SubAck),
    Unsubscribe(Unsubscribe),
    UnsubAck(SubAck),
    PingReq,
    PingResp,
    Disconnect(Disconnect),
    Auth(Auth),
}

/// CONNECT: a client asks for a session. Its `Debug` hides the password and the properties, which
/// may hold authentication data.
#[derive(Clone, PartialEq, Eq)]
pub struct Connect {
    /// The version the client speaks.
    pub version: Version,
    /// Clean Start of MQTT 5, Clean Session of 3.1.1.
    pub clean_start: bool,
    /// Keep Alive, seconds; 0 turns it off.
    pub keep_alive_secs: u16,
    /// The client identifier; empty asks the server for one.
    pub client_id: Text,
    /// What to publish if the client goes without a word.
    pub will: Option<WillMessage>,
    /// The user name.
    pub username: Option<Text>,
    /// The password: binary data.
    pub password: Option<Bytes>,
    /// The properties; empty below MQTT 5.
    pub properties: Properties,
}

/// The Will fields of a CONNECT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WillMessage {
    /// Will QoS.
    pub qos: QoS,
    /// Will Retain.
    pub retain: bool,
    /// Will Topic, free of wildcards.
    pub topic: Text,
    /// Will Payload.
    pub payload: Bytes,
    /// Will Properties.
    pub properties: Properties,
}

/// CONNACK: the answer to a CONNECT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnAck {
    /// Whether the server had a session for this client.
    pub session_present: bool,
    /// The verdict; encoded below MQTT 5 as the nearest return code.
    pub reason: ReasonCode,
    /// The properties; not sent below MQTT 5.
    pub properties: Properties,
}

/// PUBLISH: an application message on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publish {
    /// Whether this may be sent again.
    pub dup: bool,
    /// Quality of service.
    pub qos: QoS,
    /// RETAIN.
    pub retain: bool,
    /// Topic Name, free of wildcards; empty where a topic alias stands for it.
    pub topic: Text,
    /// Present exactly for QoS 1 and 2.
    pub packet_id: Option<PacketId>,
    /// The properties; empty below MQTT 5.
    pub properties: Properties,
    /// The payload.
    pub payload: Bytes,
}

/// PUBACK, PUBREC, PUBREL or PUBCOMP. Any reason byte is taken, whatever the specification
/// lists for the packet: real brokers send others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The packet identifier that is answered.
    pub packet_id: PacketId,
    /// The verdict; success where the wire has none.
    pub reason: ReasonCode,
    /// The properties; empty below MQTT 5.
    pub properties: Properties,
}

impl Ack {
    /// An acknowledgement without properties.
    pub const fn new(packet_id: PacketId, reason: ReasonCode) -> Self {
        Self {
            packet_id,
            reason,
            properties: Properties::EMPTY,
        }
    }
}

/// Retain Handling of a subscription.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RetainHandling {
    /// Send retained messages at every subscribe.
    #[default]
    Send = 0,
    /// Send them only if the subscription is new.
    SendIfNew = 1,
    /// Send none.
    DontSend = 2,
}

/// The options byte of a subscription.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubscriptionOptions {
    /// The highest QoS the subscriber wants.
    pub qos: QoS,
    /// Don't send the subscriber its own messages.
    pub no_local: bool,
    /// Keep the RETAIN flag as it was published.
    pub retain_as_published: bool,
    /// What to do with retained messages at subscribe.
    pub retain_handling: RetainHandling,
}

/// SUBSCRIBE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscribe {
    /// The packet identifier.
    pub packet_id: PacketId,
    /// The properties; empty below MQTT 5.
    pub properties: Properties,
    /// At least one filter with its options; the filters are not checked for their wildcards.
    pub filters: Vec<(Text, SubscriptionOptions)>,
}

/// SUBACK or UNSUBACK.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubAck {
    /// The packet identifier that is answered.
    pub packet_id: PacketId,
    /// The properties; empty below MQTT 5.
    pub properties: Properties,
    /// One verdict a filter, in order; an UNSUBACK below MQTT 5 sends none.
    pub reasons: Vec<ReasonCode>,
}

/// UNSUBSCRIBE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsubscribe {
    /// The packet identifier.
    pub packet_id: PacketId,
    /// The properties; empty below MQTT 5.
    pub properties: Properties,
    /// At least one filter.
    pub filters: Vec<Text>,
}

/// DISCONNECT.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disconnect {
    /// Why; below MQTT 5 always normal.
    pub reason: ReasonCode,
    /// The properties; empty below MQTT 5.
    pub properties: Properties,
}

/// AUTH, MQTT 5 only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Auth {
    /// Continue, re-authenticate or success.
    pub reason: ReasonCode,
    /// The properties.
    pub properties: Properties,
}
