//! What an earlier connection left open, sent again.

use crate::{
    broker::{Broker, DropReason, commit::Effect},
    id::{ConnectionId, SessionId},
    packet::{Ack, Packet, QoS},
    reason::ReasonCode,
    session::Mark,
    time::Instant,
};

impl Broker {
    /// Sends again what an earlier connection left open: PUBREL where PUBREC came, the same
    /// PUBLISH otherwise, as far as the window reaches.
    ///
    /// Spec: [MQTT-4.4.0-1], [MQTT-3.3.1-1]
    pub(super) fn resend(&mut self, session: SessionId, connection: ConnectionId, now: Instant) {
        let Some(it) = self.sessions.get(&session) else {
            return;
        };
        for id in it.out.unreleased() {
            let pubrel = Packet::PubRel(Ack::new(id, ReasonCode::SUCCESS));
            self.after_commit(Effect::Transmit(connection, pubrel), now);
        }
        self.resend_next(session, connection, now);
    }

    pub(super) fn resend_next(
        &mut self,
        session: SessionId,
        connection: ConnectionId,
        now: Instant,
    ) {
        while let Some(it) = self.sessions.get_mut(&session)
            && let Some(stored) = it.out.next_resend()
        {
            let (Some(message), Some(id)) = (&stored.message, stored.packet_id) else {
                continue;
            };
            let mark = Mark {
                dup: true,
                ..stored.mark
            };
            // Delivery had begun: it goes on though the message expired. [MQTT-3.3.2-5]
            let packet = if self.may_receive(session, message.topic().as_str()) {
                self.packet(connection, message, mark, Some(id), &stored.note, now)
            } else {
                Err(DropReason::Denied)
            };
            match packet {
                Ok(packet) => self.after_commit(Effect::Transmit(connection, packet), now),
                Err(DropReason::Offline) => return,
                Err(drop) => {
                    self.stats.count_drop(drop);
                    if mark.qos == QoS::ExactlyOnce {
                        // The client may have it from an earlier connection, and would take the
                        // next message of this identifier for the same: it is to release it.
                        let received = Ack::new(id, ReasonCode::SUCCESS);
                        self.pubrec(connection, session, &received, now);
                    } else if let Some(it) = self.sessions.get_mut(&session) {
                        it.out.abandon(id);
                        self.finish(session, stored.rowid, drop.outcome());
                    }
                }
            }
        }
    }
}
