//! Packets in, bytes out.
//!
//! Owns [`encode`], [`encoded_len`] and what can't be encoded. Reasons and properties that a
//! version doesn't have are left out. Chapters 2 and 3.

use alloc::vec::Vec;

use super::{Packet, Version, wire};

/// A packet that has no bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The packet would be longer than the protocol can say.
    #[error("packet exceeds 268,435,455 bytes")]
    TooLarge,
    /// Binary data exceeds 65,535 bytes.
    #[error("{field} exceeds 65,535 bytes")]
    FieldTooLong {
        /// The field.
        field: &'static str,
    },
    /// The version has no such thing.
    #[error("{what} does not exist in this version")]
    NotInVersion {
        /// What the version lacks.
        what: &'static str,
    },
    /// A PUBLISH has an identifier at QoS 0, or none at QoS 1 or 2.
    #[error("packet identifier does not go with the QoS")]
    PacketId,
    /// A SUBSCRIBE or UNSUBSCRIBE without a filter.
    #[error("no topic filter")]
    NoFilter,
}

/// Appends the bytes of `packet` in `version` to `out`. A CONNECT is written in its own version.
///
/// # Errors
/// When the packet can't be written; `out` is then as it was.
pub fn encode(packet: &Packet, version: Version, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    check(packet, version)?;
    let body = body_len(packet, version);
    if body > wire::VARIABLE_MAX {
        return Err(EncodeError::TooLarge);
    }
    out.reserve(1 + wire::variable_len(body) + body);
    out.push(first_byte(packet));
    wire::put_variable(out, body);
    match packet {
        Packet::Publish(publish) => publish.put(version, out),
        Packet::PubAck(ack) | Packet::PubRec(ack) | Packet::PubRel(ack) | Packet::PubComp(ack) => {
            ack.put(version, out);
        }
        Packet::Connect(connect) => connect.put(out),
        Packet::ConnAck(connack) => connack.put(version, out),
        Packet::Subscribe(subscribe) => subscribe.put(version, out),
        Packet::SubAck(suback) => suback.put(version, out),
        Packet::Unsubscribe(unsubscribe) => unsubscribe.put(version, out),
        Packet::UnsubAck(unsuback) => unsuback.put_unsubscribed(version, out),
        Packet::PingReq | Packet::PingResp => {}
        Packet::Disconnect(disconnect) => disconnect.put(version, out),
        Packet::Auth(auth) => auth.put(out),
    }
    Ok(())
}

/// The bytes of the whole `packet` in `version`, exactly as [`encode`] writes it.
pub fn encoded_len(packet: &Packet, version: Version) -> usize {
    let body = body_len(packet, version);
    1 + wire::variable_len(body) + body
}

fn check(packet: &Packet, version: Version) -> Result<(), EncodeError> {
    match packet {
        Packet::Publish(publish) => publish.check(),
        Packet::Connect(connect) => connect.check(),
        Packet::Subscribe(subscribe) => subscribe.check(),
        Packet::Unsubscribe(unsubscribe) => unsubscribe.check(),
        Packet::Auth(_) if version < Version::V5 => Err(EncodeError::NotInVersion { what: "AUTH" }),
        Packet::ConnAck(_)
        | Packet::PubAck(_)
        | Packet::PubRec(_)
        | Packet::PubRel(_)
        | Packet::PubComp(_)
        | Packet::SubAck(_)
        | Packet::UnsubAck(_)
        | Packet::PingReq
        | Packet::PingResp
        | Packet::Disconnect(_)
        | Packet::Auth(_) => Ok(()),
    }
}

fn body_len(packet: &Packet, version: Version) -> usize {
    match packet {
        Packet::Publish(publish) => publish.body_len(version),
        Packet::PubAck(ack) | Packet::PubRec(ack) | Packet::PubRel(ack) | Packet::PubComp(ack) => {
            ack.body_len(version)
        }
        Packet::Connect(connect) => connect.body_len(),
        Packet::ConnAck(connack) => connack.body_len(version),
        Packet::Subscribe(subscribe) => subscribe.body_len(version),
        Packet::SubAck(suback) => suback.body_len(version),
        Packet::Unsubscribe(unsubscribe) => unsubscribe.body_len(version),
        Packet::UnsubAck(unsuback) => unsuback.unsubscribed_len(version),
        Packet::PingReq | Packet::PingResp => 0,
        Packet::Disconnect(disconnect) => disconnect.body_len(version),
        Packet::Auth(auth) => auth.body_len(),
    }
}

fn first_byte(packet: &Packet) -> u8 {
    let (kind, flags) = match packet {
        Packet::Connect(_) => (super::CONNECT, 0),
        Packet::ConnAck(_) => (super::CONNACK, 0),
        Packet::Publish(publish) => (super::PUBLISH, publish.flags()),
        Packet::PubAck(_) => (super::PUBACK, 0),
        Packet::PubRec(_) => (super::PUBREC, 0),
        Packet::PubRel(_) => (super::PUBREL, 2),
        Packet::PubComp(_) => (super::PUBCOMP, 0),
        Packet::Subscribe(_) => (super::SUBSCRIBE, 2),
        Packet::SubAck(_) => (super::SUBACK, 0),
        Packet::Unsubscribe(_) => (super::UNSUBSCRIBE, 2),
        Packet::UnsubAck(_) => (super::UNSUBACK, 0),
        Packet::PingReq => (super::PINGREQ, 0),
        Packet::PingResp => (super::PINGRESP, 0),
        Packet::Disconnect(_) => (super::DISCONNECT, 0),
        Packet::Auth(_) => (super::AUTH, 0),
    };
    kind << 4 | flags
}
