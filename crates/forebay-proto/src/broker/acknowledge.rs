//! Acknowledgements of messages that the broker sent.

use crate::{
    broker::{Broker, Op, commit::Effect},
    id::{ConnectionId, SessionId},
    packet::{Ack, Packet},
    reason::ReasonCode,
    session::{
        Direction,
        outbound::{AckKind, AckStep},
    },
    time::Instant,
};

impl Broker {
    pub(super) fn puback(&mut self, session: SessionId, ack: &Ack, now: Instant) {
        self.end_exchange(AckKind::Ack, session, ack, now);
    }

    pub(super) fn pubcomp(&mut self, session: SessionId, ack: &Ack, now: Instant) {
        self.end_exchange(AckKind::Complete, session, ack, now);
    }

    /// Spec: [MQTT-4.3.3-4], [MQTT-4.3.3-5]
    pub(super) fn pubrec(
        &mut self,
        connection: ConnectionId,
        session: SessionId,
        ack: &Ack,
        now: Instant,
    ) {
        let Some(it) = self.sessions.get_mut(&session) else {
            return;
        };
        let reason = match it
            .out
            .acknowledge(AckKind::Received, ack.packet_id, ack.reason)
        {
            AckStep::Release(rowid, mark) => {
                let (direction, packet_id) = (Direction::Out, Some(ack.packet_id));
                self.op(Op::SetMark {
                    session,
                    direction,
                    rowid,
                    mark,
                    packet_id,
                });
                ReasonCode::SUCCESS
            }
            AckStep::ReleaseUnknown if !ack.reason.is_error() => {
                self.stats.acks_ignored += 1;
                ReasonCode::PACKET_IDENTIFIER_NOT_FOUND
            }
            step @ (AckStep::Finish(..) | AckStep::ReleaseUnknown | AckStep::Ignore) => {
                self.take_step(step, session, now);
                return;
            }
        };
        let pubrel = Packet::PubRel(Ack::new(ack.packet_id, reason));
        self.after_commit(Effect::Transmit(connection, pubrel), now);
    }

    fn end_exchange(&mut self, kind: AckKind, session: SessionId, ack: &Ack, now: Instant) {
        let Some(it) = self.sessions.get_mut(&session) else {
            return;
        };
        let step = it.out.acknowledge(kind, ack.packet_id, ack.reason);
        self.take_step(step, session, now);
    }

    /// Ends a message and fills its place in the window.
    ///
    /// Spec: [MQTT-4.9.0-3]
    fn take_step(&mut self, step: AckStep, session: SessionId, now: Instant) {
        match step {
            AckStep::Finish(rowid, outcome) => {
                self.finish(session, rowid, outcome);
                if let Some(connection) = self.sessions.get(&session).and_then(|it| it.connection) {
                    self.resend_next(session, connection, now);
                }
                self.promote.insert(session);
            }
            AckStep::Release(..) | AckStep::ReleaseUnknown | AckStep::Ignore => {
                self.stats.acks_ignored += 1;
            }
        }
    }
}
