//! How a message's mark in the machine is the user flag of the store, and back.
//!
//! Owns the translation; the bits are the store's.

use forebay_proto::{Direction, Handshake, Mark, Origin, QoS};
use forebay_store::{self as store, State, UserFlag};

/// The flag of a pending message.
pub(super) fn flag(direction: Direction, mark: Mark) -> UserFlag {
    let direction = match direction {
        Direction::In => store::Direction::In,
        Direction::Out => store::Direction::Out,
    };
    let origin = match mark.origin {
        Origin::Client => store::Origin::Client,
        Origin::Broker => store::Origin::Broker,
    };
    let state = match mark.state {
        Handshake::WaitForPubAck => State::WaitForPuback,
        Handshake::WaitForPubRec => State::WaitForPubrec,
        Handshake::WaitForPubRel => State::WaitForPubrel,
        Handshake::WaitForPubComp => State::WaitForPubcomp,
        Handshake::Queued => State::Queued,
    };
    UserFlag::default()
        .with_pending(true)
        .with_qos(mark.qos as u8)
        .with_retain(mark.retain)
        .with_dup(mark.dup)
        .with_direction(direction)
        .with_origin(origin)
        .with_state(state)
}

/// The mark that a flag stands for, or `None` where this broker doesn't write such a flag.
pub(super) fn mark(flag: UserFlag) -> Option<Mark> {
    let state = match flag.state() {
        State::WaitForPuback => Handshake::WaitForPubAck,
        State::WaitForPubrec => Handshake::WaitForPubRec,
        State::WaitForPubrel => Handshake::WaitForPubRel,
        State::WaitForPubcomp => Handshake::WaitForPubComp,
        State::Queued => Handshake::Queued,
        State::Invalid
        | State::PublishQos0
        | State::PublishQos1
        | State::PublishQos2
        | State::ResendPubrel
        | State::ResendPubcomp
        | State::SendPubrec
        | State::Unknown(_) => return None,
    };
    let origin = match flag.origin() {
        store::Origin::Client => Origin::Client,
        store::Origin::Broker => Origin::Broker,
        store::Origin::None => return None,
    };
    let qos = QoS::new(flag.qos())?;
    Some(Mark {
        qos,
        retain: flag.retain(),
        dup: flag.dup(),
        origin,
        state,
    })
}

#[cfg(test)]
mod tests;
