//! How connections and sessions end, and what a will then does.

use alloc::vec::Vec;

use crate::{
    broker::{
        Broker, DropReason, Op, Table, commit::Effect, deliver, persist, state, timer::Timer,
    },
    id::{ConnectionId, SessionId},
    packet::{DecodeError, Disconnect, Version},
    reason::ReasonCode,
    session::Origin,
    time::Instant,
};

impl Broker {
    /// Takes bytes that are no packet of the protocol; they end the connection.
    ///
    /// Spec: [MQTT-4.13.1-1], [MQTT-3.1.4-1]
    pub fn handle_malformed(
        &mut self,
        connection: ConnectionId,
        error: &DecodeError,
        now: Instant,
    ) {
        let Some(peer) = self.connections.get(&connection) else {
            return;
        };
        match (peer.session(), error.version) {
            (None, Some(Version::V5)) => {
                self.refuse_connect(connection, Version::V5, error.reason, now);
            }
            // A return code of 3.1.1 says no more than this.
            (None, _) if error.reason == ReasonCode::UNSUPPORTED_PROTOCOL_VERSION => {
                self.refuse_connect(connection, Version::V3_1_1, error.reason, now);
            }
            (None | Some(_), _) => self.close(connection, error.reason, now),
        }
    }

    /// Takes a DISCONNECT of the client.
    ///
    /// Spec: [MQTT-3.14.4-3], [MQTT-3.14.2-2]
    pub(super) fn disconnect(
        &mut self,
        connection: ConnectionId,
        session: SessionId,
        packet: &Disconnect,
        now: Instant,
    ) {
        let Some(it) = self.sessions.get_mut(&session) else {
            return;
        };
        if let Some(wanted) = packet.properties.session_expiry_interval() {
            if it.expiry_secs == 0 && wanted != 0 {
                self.close(connection, ReasonCode::PROTOCOL_ERROR, now);
                return;
            }
            it.expiry_secs = wanted.min(self.config.limits.max_session_expiry_secs);
        }
        if packet.reason == ReasonCode::SUCCESS && it.will.take().is_some() {
            let key = it.client_id.to_bytes();
            self.op(Op::Delete {
                table: Table::Wills,
                key,
            });
        }
        self.forget(connection, now);
        self.after_commit(Effect::Close(connection), now);
    }

    /// Drops a connection; its session goes on without it, or ends.
    pub(super) fn forget(&mut self, connection: ConnectionId, now: Instant) {
        let Some(peer) = self.connections.remove(&connection) else {
            return;
        };
        if let Some(at) = peer.watched_until {
            self.timers.disarm(at, Timer::Connection(connection));
        }
        let Some(session) = peer.session() else {
            return;
        };
        let Some(it) = self.sessions.get_mut(&session) else {
            return;
        };
        if it.connection != Some(connection) {
            return;
        }
        it.connection = None;
        it.connack = None;
        it.epoch += 1;
        it.disconnected_at = Some(now);
        it.out.pause();
        it.inbound.pause();
        let (key, value) = (it.client_id.to_bytes(), persist::encode_session(it));
        // A stop is no end: wills and short sessions are seen to at the next start.
        if self.stopping {
            self.op(Op::Put {
                table: Table::Sessions,
                key,
                value,
            });
            return;
        }
        let will_due = it.will_due_at().is_some_and(|at| at <= now);
        let ends = it.expiry_secs == 0;
        if ends {
            self.end_session(session, now);
            return;
        }
        self.op(Op::Put {
            table: Table::Sessions,
            key,
            value,
        });
        if will_due {
            self.publish_will(session, now);
        }
        self.watch_session(session);
    }

    /// Ends a session: its will is published, its queues, subscriptions and rows go.
    ///
    /// Spec: [MQTT-3.1.2-8], [MQTT-4.1.0-2]
    pub(super) fn end_session(&mut self, session: SessionId, now: Instant) {
        self.publish_will(session, now);
        self.unwatch_session(session);
        let Some(it) = self.sessions.remove(&session) else {
            return;
        };
        self.clients.remove(&it.client_id);
        self.promote.remove(&session);
        for filter in &it.filters {
            self.tree.remove(filter.as_str(), session);
            let key = persist::subscription_key(&it.client_id, filter);
            self.op(Op::Delete {
                table: Table::Subscriptions,
                key,
            });
        }
        self.op(Op::Delete {
            table: Table::Sessions,
            key: it.client_id.to_bytes(),
        });
        if it.user.is_some() {
            self.op(Op::Delete {
                table: Table::Users,
                key: it.client_id.to_bytes(),
            });
        }
        self.op(Op::DropQueues { session });
    }

    /// Publishes the will of a session, once.
    ///
    /// Spec: [MQTT-3.1.2-10]
    pub(super) fn publish_will(&mut self, session: SessionId, now: Instant) {
        let Some(it) = self.sessions.get_mut(&session) else {
            return;
        };
        let Some(will) = it.will.take() else { return };
        let key = it.client_id.to_bytes();
        let state::Will {
            expiry_secs,
            message,
            ..
        } = *will;
        let allowed = self.may_publish(session, message.topic().as_str());
        let message = persist::with_expiry(&message, expiry_secs.map(|it| now.after_secs(it)));
        self.op(Op::Delete {
            table: Table::Wills,
            key,
        });
        if !allowed {
            self.stats.denied.will += 1;
            return;
        }
        self.stats.wills += 1;
        let found = self.receivers(message.topic().as_str(), None);
        // Nobody is there to be refused.
        if deliver::commit_bytes(&message, &found) > self.config.limits.max_message_commit_bytes {
            self.stats.count_drop(DropReason::Full);
        } else {
            self.route(Origin::Broker, &message, &found, None, now);
        }
    }

    /// Starts the clocks of what was restored. Sessions that had a connection lost it with the
    /// run before.
    pub fn handle_start(&mut self, now: Instant) {
        let restored: Vec<SessionId> = self.sessions.keys().copied().collect();
        for session in restored {
            let Some(it) = self.sessions.get_mut(&session) else {
                continue;
            };
            if it.disconnected_at.is_none() {
                it.disconnected_at = Some(now);
                let (key, value) = (it.client_id.to_bytes(), persist::encode_session(it));
                self.op(Op::Put {
                    table: Table::Sessions,
                    key,
                    value,
                });
            }
            self.watch_session(session);
            self.cut_large_commit();
        }
        self.handle_timeout(now);
    }
}
