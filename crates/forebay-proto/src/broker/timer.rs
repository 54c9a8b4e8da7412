//! What waits for time to pass.

use alloc::collections::BTreeSet;

use crate::{
    broker::{Broker, Connection, Phase},
    id::{ConnectionId, SessionId},
    reason::ReasonCode,
    time::Instant,
};

/// What to look at when its time has come. Whether it is due is judged then, from the state: a
/// timer that came too early is armed anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// A CONNECT is owed, or the keep alive has run out.
    Connection(ConnectionId),
    /// A will is due or the session ends.
    Session(SessionId),
}

/// Timers in order of time.
#[derive(Debug, Default)]
pub(super) struct Timers(BTreeSet<(Instant, Timer)>);

impl Timers {
    pub(super) fn arm(&mut self, at: Instant, timer: Timer) {
        self.0.insert((at, timer));
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.0.first().map(|(at, _)| *at)
    }

    fn take_due(&mut self, now: Instant) -> Option<(Instant, Timer)> {
        if self.next()? > now {
            return None;
        }
        self.0.pop_first()
    }
}

impl Broker {
    /// Does what time asks for at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some((at, timer)) = self.timers.take_due(now) {
            match timer {
                Timer::Connection(connection) => self.check_silence(connection, at, now),
                Timer::Session(session) => self.check_session(session, now),
            }
            self.cut_large_commit();
        }
    }

    /// Spec: [MQTT-3.1.2-22], [MQTT-3.1.4-1]
    fn check_silence(&mut self, connection: ConnectionId, at: Instant, now: Instant) {
        let Some(peer) = self.connections.get_mut(&connection) else {
            return;
        };
        if peer.watched_until != Some(at) {
            return;
        }
        peer.watched_until = None;
        match (peer.phase, peer.silent_until()) {
            (Phase::Opening, _) => self.close(connection, ReasonCode::UNSPECIFIED_ERROR, now),
            (Phase::Connecting(_) | Phase::Live(_), Some(at)) if at <= now => {
                self.close(connection, ReasonCode::KEEP_ALIVE_TIMEOUT, now);
            }
            (Phase::Connecting(_) | Phase::Live(_), Some(at)) => self.watch(connection, at),
            (Phase::Connecting(_) | Phase::Live(_), None) => {}
        }
    }

    fn check_session(&mut self, session: SessionId, now: Instant) {
        let Some(it) = self.sessions.get(&session) else {
            return;
        };
        if it.will_due_at().is_some_and(|at| at <= now) {
            self.publish_will(session, now);
        }
        let Some(it) = self.sessions.get(&session) else {
            return;
        };
        if it.ends_at().is_some_and(|at| at <= now) {
            self.end_session(session, now);
        }
    }

    /// Looks at a connection at `at`, unless that is to happen sooner.
    pub(super) fn watch(&mut self, connection: ConnectionId, at: Instant) {
        let Some(peer) = self.connections.get_mut(&connection) else {
            return;
        };
        if peer.watched_until.is_none_or(|sooner| at < sooner) {
            peer.watched_until = Some(at);
            self.timers.arm(at, Timer::Connection(connection));
        }
    }

    /// Watches the keep alive of a connection.
    pub(super) fn watch_silence(&mut self, connection: ConnectionId) {
        if let Some(at) = self
            .connections
            .get(&connection)
            .and_then(Connection::silent_until)
        {
            self.watch(connection, at);
        }
    }

    /// Arms the timers of a session without a connection.
    pub(super) fn arm_session(&mut self, session: SessionId) {
        let Some(it) = self.sessions.get(&session) else {
            return;
        };
        for at in [it.will_due_at(), it.ends_at()].into_iter().flatten() {
            self.timers.arm(at, Timer::Session(session));
        }
    }
}
