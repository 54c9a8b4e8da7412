//! Messages on their way from the server.
//!
//! Owns the acknowledgements owed, which leave in the order of the messages however late the
//! application decides, and the identifiers of QoS 2 messages that await PUBREL. Chapters 4.3
//! and 4.6.

use alloc::collections::{BTreeSet, VecDeque};

use super::event::Receipt;
use crate::{
    id::PacketId,
    packet::{Ack, Packet, QoS},
    reason::ReasonCode,
};

#[derive(Debug)]
struct Owed {
    packet_id: PacketId,
    qos: QoS,
    /// What the application decided.
    reason: Option<ReasonCode>,
}

/// What to do with a message that came.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// Hand it out.
    New(Receipt),
    /// It was handed out before and acknowledged: say so again.
    Again(Packet),
    /// It was handed out before and its acknowledgement is on its way.
    Ignored,
    /// More than was granted.
    TooMany,
}

#[derive(Debug, Default)]
pub(super) struct Inbound {
    owed: VecDeque<Owed>,
    /// The receipt of the first of `owed`.
    first: u64,
    /// The QoS 2 messages among `owed`.
    open: BTreeSet<PacketId>,
    /// QoS 2 messages that were taken and not yet released.
    taken: BTreeSet<PacketId>,
}

impl Inbound {
    /// A QoS 1 or 2 message came.
    ///
    /// Spec: [MQTT-4.3.3-10], [MQTT-3.3.4-7]
    pub(super) fn arrived(&mut self, packet_id: PacketId, qos: QoS, maximum: u16) -> Arrival {
        if qos == QoS::ExactlyOnce {
            if self.taken.contains(&packet_id) {
                return Arrival::Again(Packet::PubRec(Ack::new(packet_id, ReasonCode::SUCCESS)));
            }
            if self.open.contains(&packet_id) {
                return Arrival::Ignored;
            }
        }
        if self.owed.len() + self.taken.len() >= usize::from(maximum) {
            return Arrival::TooMany;
        }
        if qos == QoS::ExactlyOnce {
            self.open.insert(packet_id);
        }
        let receipt = Receipt(self.first + self.owed.len() as u64);
        self.owed.push_back(Owed {
            packet_id,
            qos,
            reason: None,
        });
        Arrival::New(receipt)
    }

    /// The application has decided on a message; a void receipt is ignored.
    pub(super) fn decided(&mut self, receipt: Receipt, reason: ReasonCode) {
        let index = receipt
            .0
            .checked_sub(self.first)
            .and_then(|index| usize::try_from(index).ok());
        if let Some(owed) = index.and_then(|index| self.owed.get_mut(index)) {
            owed.reason.get_or_insert(reason);
        }
    }

    /// The next acknowledgement that may leave.
    ///
    /// Spec: [MQTT-4.6.0-2], [MQTT-4.6.0-3]
    pub(super) fn next(&mut self) -> Option<Packet> {
        let reason = self.owed.front()?.reason?;
        let Owed { packet_id, qos, .. } = self.owed.pop_front()?;
        self.first += 1;
        let ack = Ack::new(packet_id, reason);
        if qos != QoS::ExactlyOnce {
            return Some(Packet::PubAck(ack));
        }
        self.open.remove(&packet_id);
        if !reason.is_error() {
            self.taken.insert(packet_id);
        }
        Some(Packet::PubRec(ack))
    }

    /// PUBREL came; what is owed for it.
    pub(super) fn released(&mut self, packet_id: PacketId) -> Packet {
        let reason = if self.taken.remove(&packet_id) {
            ReasonCode::SUCCESS
        } else {
            ReasonCode::PACKET_IDENTIFIER_NOT_FOUND
        };
        Packet::PubComp(Ack::new(packet_id, reason))
    }

    /// The connection is over: what is owed will come again, receipts are void.
    pub(super) fn disconnected(&mut self) {
        self.first += self.owed.len() as u64;
        self.owed.clear();
        self.open.clear();
    }

    /// The session is gone.
    pub(super) fn forget(&mut self) {
        self.taken.clear();
    }
}
