//! What the client machine tells.
//!
//! Owns its outputs and events, and [`Verdict`], the answer to a publish.

use alloc::vec::Vec;
use bytes::Bytes;

use crate::{
    packet::{ConnAck, Packet, Publish, QoS},
    property::Properties,
    reason::ReasonCode,
    text::Text,
};

/// What the driver of a client must do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientOutput {
    /// Send a packet; packets leave in this order.
    Transmit(Packet),
    /// Send what was transmitted before, then close the connection. The machine has forgotten
    /// it: nothing more is to be handed in for it.
    Close,
    /// Tell the application.
    Event(ClientEvent),
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientEvent {
    /// The server took the client in.
    Connected(Connected),
    /// What became of a publish; exactly one for each, in the order in which it was decided.
    Published {
        /// Which one.
        token: PublishToken,
        /// What became of it.
        verdict: Verdict,
    },
    /// A message came.
    Message {
        /// The message.
        publish: Publish,
        /// To be handed to [`Client::acknowledge`](super::Client::acknowledge), where the client
        /// does not acknowledge at once.
        receipt: Option<Receipt>,
    },
    /// The server answered a subscribe.
    Subscribed {
        /// Which one.
        token: RequestToken,
        /// One verdict a filter, in order.
        reasons: Vec<ReasonCode>,
        /// The server's words.
        text: Option<Text>,
    },
    /// The server answered an unsubscribe.
    Unsubscribed {
        /// Which one.
        token: RequestToken,
        /// One verdict a filter, in order; none below MQTT 5.
        reasons: Vec<ReasonCode>,
    },
    /// The connection is over; exactly one for each connection, and its last event.
    Closed(Ending),
}

/// A publish, numbered in the order of the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublishToken(pub(super) u64);

/// A subscribe or unsubscribe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestToken(pub(super) u64);

/// The right to acknowledge a message, void once the connection it came on is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Receipt(pub(super) u64);

/// What became of a publish.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// QoS 0: handed to the connection; nobody will tell more.
    Sent,
    /// The server took it. The code says more: `0x10` where nobody subscribed, `0x92` where a
    /// QoS 2 exchange was found finished.
    Delivered(ReasonCode),
    /// The server refused this message; the link is up.
    Refused {
        /// Why, 0x80 or above.
        reason: ReasonCode,
        /// The server's words.
        text: Option<Text>,
    },
    /// The server announced that it takes no such message, so it was not sent.
    NotSent(Unsendable),
    /// Sent, and the connection or the session ended before the answer: it may have arrived.
    LinkLost,
}

/// Which of the server's limits a message exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unsendable {
    /// Larger than the server's Maximum Packet Size.
    #[error("packet of {size} bytes exceeds the server's maximum of {limit}")]
    TooLarge {
        /// The packet, bytes.
        size: usize,
        /// What the server takes, bytes.
        limit: u32,
    },
    /// Above the server's Maximum QoS.
    #[error("QoS {} exceeds the server's maximum of {}", *.qos as u8, *.limit as u8)]
    QoS {
        /// The message's.
        qos: QoS,
        /// The server's.
        limit: QoS,
    },
    /// The server keeps no retained messages.
    #[error("the server keeps no retained messages")]
    Retain,
    /// It has no encoding: a topic too long, or properties too large.
    #[error("the message can't be encoded")]
    Unencodable,
}

/// Why a publish was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PublishError {
    /// As many messages wait as may: publish again after the next verdict.
    #[error("too many messages wait to be sent")]
    Full,
}

/// Why a subscribe or unsubscribe was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// There is no connection: ask again once it is there.
    #[error("not connected")]
    NotConnected,
    /// No packet identifier is free: ask again after the next answer.
    #[error("no packet identifier is free")]
    Busy,
    /// It names no filter.
    #[error("no topic filter")]
    NoFilter,
}

/// What the server said as it took the client in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connected {
    /// Whether it went on with an earlier session.
    pub session_present: bool,
    /// The client identifier that it chose.
    pub assigned_client_id: Option<Text>,
    /// Seconds that it will keep the session, where it said so.
    pub session_expiry_secs: Option<u32>,
    /// What it takes.
    pub limits: PeerLimits,
}

/// What a server takes, as its CONNACK says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerLimits {
    /// QoS 1 and 2 messages in flight.
    pub receive_maximum: u16,
    /// The highest QoS.
    pub maximum_qos: QoS,
    /// Whether it keeps retained messages.
    pub retain_available: bool,
    /// The largest packet, bytes.
    pub maximum_packet_size: Option<u32>,
    /// The keep alive that holds, seconds.
    pub keep_alive_secs: u16,
}

impl PeerLimits {
    /// The limits in a CONNACK, where the client asked for `keep_alive_secs`.
    pub(super) fn of(connack: &ConnAck, keep_alive_secs: u16) -> Self {
        let properties = &connack.properties;
        Self {
            receive_maximum: properties.receive_maximum().unwrap_or(u16::MAX),
            maximum_qos: properties.maximum_qos().unwrap_or(QoS::ExactlyOnce),
            retain_available: properties.retain_available().unwrap_or(true),
            maximum_packet_size: properties.maximum_packet_size(),
            keep_alive_secs: properties.server_keep_alive().unwrap_or(keep_alive_secs),
        }
    }
}

/// Why a connection is over.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// The application asked for it.
    Asked,
    /// The server did not take the client in.
    Refused {
        /// Why.
        reason: ReasonCode,
        /// The server's words.
        text: Option<Text>,
    },
    /// The server said DISCONNECT.
    ByServer {
        /// Why.
        reason: ReasonCode,
        /// The server's words.
        text: Option<Text>,
    },
    /// The server broke the protocol; it was told this reason.
    Violation {
        /// The reason.
        reason: ReasonCode,
        /// What it did.
        detail: &'static str,
    },
    /// The server did not answer in time.
    TimedOut,
    /// The connection broke, or the server closed it without a word.
    Lost,
}

/// The Reason String of a packet.
pub(super) fn text(properties: &Properties) -> Option<Text> {
    properties.reason_string().and_then(owned)
}

/// `text` in a buffer of its own.
pub(super) fn owned(text: &str) -> Option<Text> {
    Text::new(Bytes::copy_from_slice(text.as_bytes()))
}
