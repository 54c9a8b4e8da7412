//! The sending half of a session: which messages are in flight, which wait, which come next.
//!
//! Owns [`Outbound`]: packet identifiers, the send window and the handshake of each message in
//! flight. Holds no content: a message is sent once a connection, and the store has it for the
//! next. Chapters 4.3, 4.4 and 4.9.
//!
//! ```text
//! queued ─ promote ─▶ WaitForPubAck ─ PUBACK ─▶ done
//!        └──────────▶ WaitForPubRec ─ PUBREC ─▶ WaitForPubComp ─ PUBCOMP ─▶ done
//!                                   └ PUBREC ≥ 0x80 ─▶ done
//! ```

use alloc::{
    collections::{BTreeMap, VecDeque},
    vec::Vec,
};

use crate::{
    broker::Stored,
    id::{PacketId, Rowid},
    packet::QoS,
    reason::ReasonCode,
    session::{Handshake, Mark, Outcome},
};

/// A message that has a packet identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct InFlight {
    rowid: Rowid,
    mark: Mark,
    /// Whether it holds a place in the send window of this connection: a PUBLISH was sent on it.
    holds_window: bool,
}

/// Which acknowledgement came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AckKind {
    /// PUBACK.
    Ack,
    /// PUBREC.
    Received,
    /// PUBCOMP.
    Complete,
}

/// What an acknowledgement leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AckStep {
    /// The exchange is over.
    Finish(Rowid, Outcome),
    /// PUBREL is owed once `mark` is durable.
    Release(Rowid, Mark),
    /// A PUBREC for an identifier that is not in use: PUBREL says so.
    ReleaseUnknown,
    /// Nothing: an unknown identifier, or the wrong kind for the exchange. The message stays.
    Ignore,
}

/// The sending half of a session.
#[derive(Debug, Default)]
pub(crate) struct Outbound {
    next_rowid: u64,
    /// Messages that are not in flight. With no connection, every message that is not done.
    queued: u64,
    in_flight: BTreeMap<PacketId, InFlight>,
    last_id: u16,
    /// The most messages that may hold a place in the window; 0 with no connection.
    window: u16,
    held: u16,
    /// Places kept for messages that the store was asked for.
    promoting: u16,
    /// Messages enqueued since the store was last asked: its answer doesn't know them.
    enqueued_since: u64,
    /// Sent on an earlier connection, waiting for a place in this one's window, in order.
    resend: VecDeque<Stored>,
}

impl Outbound {
    /// The half of a stored session whose queue has `pending` messages.
    pub(crate) fn restored(next_rowid: u64, pending: u64) -> Self {
        Self {
            next_rowid: next_rowid.max(1),
            queued: pending,
            ..Self::new()
        }
    }

    /// The half of a new session.
    pub(crate) fn new() -> Self {
        Self {
            next_rowid: 1,
            ..Self::default()
        }
    }

    /// Messages that are not done with.
    pub(crate) fn pending(&self) -> u64 {
        self.queued + self.in_flight.len() as u64
    }

    /// Whether the session can take messages for sending at all.
    pub(crate) const fn is_live(&self) -> bool {
        self.window > 0
    }

    /// The number of the next message, which is now taken.
    pub(crate) fn take_rowid(&mut self) -> Rowid {
        let rowid = Rowid(self.next_rowid);
        self.next_rowid += 1;
        rowid
    }

    /// Counts a message that waits on disk.
    pub(crate) fn enqueue(&mut self) {
        self.queued += 1;
        self.enqueued_since += 1;
    }

    /// Notes that the store is asked what it has.
    pub(crate) fn ask(&mut self) {
        self.enqueued_since = 0;
    }

    /// Whether a new message may go at once: nothing waits before it and the window has room.
    pub(crate) fn may_send_now(&self) -> bool {
        self.queued == 0 && self.promoting == 0 && self.room() > 0
    }

    /// Puts a message in flight under a free packet identifier.
    ///
    /// Spec: [MQTT-2.2.1-4]
    pub(crate) fn send(&mut self, rowid: Rowid, mut mark: Mark) -> (PacketId, Mark) {
        mark.state = match mark.qos {
            QoS::ExactlyOnce => Handshake::WaitForPubRec,
            QoS::AtLeastOnce | QoS::AtMostOnce => Handshake::WaitForPubAck,
        };
        let id = self.free_id();
        self.in_flight.insert(
            id,
            InFlight {
                rowid,
                mark,
                holds_window: true,
            },
        );
        self.held += 1;
        (id, mark)
    }

    /// Judges an acknowledgement and takes its step.
    ///
    /// Spec: [MQTT-4.3.2-1], [MQTT-4.3.3-1], [MQTT-4.9.0-1]
    pub(crate) fn acknowledge(
        &mut self,
        kind: AckKind,
        id: PacketId,
        reason: ReasonCode,
    ) -> AckStep {
        let Some(message) = self.in_flight.get_mut(&id) else {
            return if kind == AckKind::Received {
                AckStep::ReleaseUnknown
            } else {
                AckStep::Ignore
            };
        };
        let outcome = if reason.is_error() {
            Outcome::Refused
        } else {
            Outcome::Acked
        };
        match (kind, message.mark.state) {
            (AckKind::Ack, Handshake::WaitForPubAck)
            | (AckKind::Complete, Handshake::WaitForPubComp) => self.finish(id, outcome),
            (AckKind::Received, Handshake::WaitForPubRec) if reason.is_error() => {
                self.finish(id, outcome)
            }
            (AckKind::Received, Handshake::WaitForPubRec | Handshake::WaitForPubComp) => {
                message.mark.state = Handshake::WaitForPubComp;
                let step = AckStep::Release(message.rowid, message.mark);
                // The client has it though it was not sent again yet.
                self.resend.retain(|it| it.packet_id != Some(id));
                step
            }
            (AckKind::Ack | AckKind::Received | AckKind::Complete, _) => AckStep::Ignore,
        }
    }

    /// How many queued messages to ask the store for, whose places are now kept.
    pub(crate) fn take_promotion(&mut self) -> u16 {
        if self.promoting > 0 || !self.resend.is_empty() {
            return 0;
        }
        let count = self
            .room()
            .min(u16::try_from(self.queued).unwrap_or(u16::MAX));
        self.promoting = count;
        self.ask();
        count
    }

    /// Takes the answer to a promotion: `given` messages are no longer queued here.
    ///
    /// Fewer than were asked for means that the store had no more.
    pub(crate) fn promoted(&mut self, given: usize) {
        let asked = core::mem::take(&mut self.promoting);
        self.queued = if given < usize::from(asked) {
            self.enqueued_since
        } else {
            self.queued.saturating_sub(given as u64)
        };
    }

    /// The exchanges that stand at PUBREL, in order of message.
    pub(crate) fn unreleased(&self) -> Vec<PacketId> {
        let mut owed: Vec<(Rowid, PacketId)> = self
            .in_flight
            .iter()
            .filter(|(_, it)| it.mark.state == Handshake::WaitForPubComp)
            .map(|(id, it)| (it.rowid, *id))
            .collect();
        owed.sort_unstable();
        owed.into_iter().map(|(_, id)| id).collect()
    }

    /// A message sent on an earlier connection that may be sent again now.
    pub(crate) fn next_resend(&mut self) -> Option<Stored> {
        if self.room() == 0 {
            return None;
        }
        let stored = self.resend.pop_front()?;
        if let Some(message) = stored.packet_id.and_then(|id| self.in_flight.get_mut(&id)) {
            message.holds_window = true;
            self.held += 1;
        }
        Some(stored)
    }

    /// Takes a QoS 1 message out that can't be sent on this connection.
    pub(crate) fn abandon(&mut self, id: PacketId) {
        let _ = self.finish(id, Outcome::TooLarge);
    }

    /// Starts a connection that may have `window` messages unacknowledged, with what the store
    /// still has of the session: `in_exchange` have packet identifiers, `queued` wait.
    ///
    /// Spec: [MQTT-4.4.0-1]
    pub(crate) fn resume(&mut self, window: u16, in_exchange: Vec<Stored>, queued: u64) {
        self.pause();
        self.window = window.max(1);
        self.queued = queued + self.enqueued_since;
        for stored in in_exchange {
            let Some(id) = stored.packet_id else { continue };
            let message = InFlight {
                rowid: stored.rowid,
                mark: stored.mark,
                holds_window: false,
            };
            self.in_flight.insert(id, message);
            // The newest identifier handed out, so that numbering goes on behind it.
            self.last_id = id.get();
            if stored.mark.state != Handshake::WaitForPubComp && stored.message.is_some() {
                self.resend.push_back(stored);
            }
        }
    }

    /// Ends a connection: what was in flight waits for the next.
    pub(crate) fn pause(&mut self) {
        self.queued = self.pending();
        self.in_flight.clear();
        self.resend.clear();
        (self.window, self.held, self.promoting) = (0, 0, 0);
    }

    /// Places free in the window and among the packet identifiers.
    fn room(&self) -> u16 {
        let taken = self.held.saturating_add(self.promoting);
        let ids = usize::from(u16::MAX).saturating_sub(self.in_flight.len());
        self.window.saturating_sub(taken).min(ids as u16)
    }

    fn finish(&mut self, id: PacketId, outcome: Outcome) -> AckStep {
        let Some(message) = self.in_flight.remove(&id) else {
            return AckStep::Ignore;
        };
        self.held = self.held.saturating_sub(u16::from(message.holds_window));
        // A resend that still waited for room is answered already.
        self.resend.retain(|it| it.packet_id != Some(id));
        AckStep::Finish(message.rowid, outcome)
    }

    /// The next identifier that is not in use. There is one: the window is below 65,535.
    fn free_id(&mut self) -> PacketId {
        loop {
            self.last_id = self.last_id.checked_add(1).unwrap_or(1);
            match PacketId::new(self.last_id) {
                Some(id) if !self.in_flight.contains_key(&id) => return id,
                Some(_) | None => {}
            }
        }
    }
}

#[cfg(test)]
mod tests;
