//! How the broker's things lie in its store, where more than the broker must know.
//!
//! Owns the names of queues and the numbers of the reasons for which messages are dropped. The
//! layout of rows and messages is the protocol's.

use forebay_proto::{Direction, Outcome};
use forebay_store::{self as store, OutcomeKind};

const IN: &[u8] = b"-IN";
const OUT: &[u8] = b"-OUT";

/// The name of a session's queue.
pub(crate) fn queue_name(client_id: &[u8], direction: Direction) -> Vec<u8> {
    let suffix = match direction {
        Direction::In => IN,
        Direction::Out => OUT,
    };
    [client_id, suffix].concat()
}

/// Whose queue has this name, and which of the two it is; `None` for one of no session.
pub(crate) fn owner(name: &[u8]) -> Option<(&[u8], Direction)> {
    let inbound = name.strip_suffix(IN).map(|id| (id, Direction::In));
    inbound.or_else(|| name.strip_suffix(OUT).map(|id| (id, Direction::Out)))
}

/// An outcome as the store records it.
pub(crate) fn outcome(outcome: Outcome) -> store::Outcome {
    match outcome {
        Outcome::Acked => store::Outcome::ACKED,
        Outcome::Expired => store::Outcome::EXPIRED,
        Outcome::Refused => store::Outcome::dropped(1),
        Outcome::TooLarge => store::Outcome::dropped(2),
        Outcome::QueueFull => store::Outcome::dropped(3),
        Outcome::Unreadable => store::Outcome::dropped(4),
        Outcome::Denied => store::Outcome::dropped(5),
        // One that this release has no number for.
        _ => store::Outcome::dropped(0),
    }
}

/// What a recorded outcome is called, and its reason where it has one.
pub(crate) fn outcome_name(outcome: store::Outcome) -> (&'static str, Option<&'static str>) {
    let reason = match outcome.reason() {
        1 => "refused",
        2 => "too_large",
        3 => "queue_full",
        4 => "unreadable",
        5 => "denied",
        _ => "unknown",
    };
    match outcome.kind() {
        OutcomeKind::Acked => ("acked", None),
        OutcomeKind::Expired => ("expired", None),
        OutcomeKind::Dropped => ("dropped", Some(reason)),
        OutcomeKind::DeadLettered => ("dead_lettered", Some(reason)),
        OutcomeKind::Other(_) | _ => ("unknown", None),
    }
}

#[cfg(test)]
mod tests;
