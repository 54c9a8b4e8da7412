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

    pub(super) fn disarm(&mut self, at: Instant, timer: Timer) {
        self.0.remove(&(at, timer));
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
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
            (Phase::Opening | Phase::Checking, _) => {
                self.close(connection, ReasonCode::UNSPECIFIED_ERROR, now);
            }
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
        } else {
            self.watch_session(session);
        }
    }

    /// Looks at a connection at `at`, unless that is to happen sooner.
    pub(super) fn watch(&mut self, connection: ConnectionId, at: Instant) {
        let Some(peer) = self.connections.get_mut(&connection) else {
            return;
        };
        let timer = Timer::Connection(connection);
        match peer.watched_until {
            Some(sooner) if sooner <= at => return,
            Some(later) => self.timers.disarm(later, timer),
            None => {}
        }
        peer.watched_until = Some(at);
        self.timers.arm(at, timer);
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

    /// Watches a session without a connection.
    pub(super) fn watch_session(&mut self, session: SessionId) {
        self.unwatch_session(session);
        let Some(it) = self.sessions.get_mut(&session) else {
            return;
        };
        // The will is never due after the end.
        it.watched_until = it.will_due_at().or_else(|| it.ends_at());
        if let Some(at) = it.watched_until {
            self.timers.arm(at, Timer::Session(session));
        }
    }

    /// Takes the timer of a session back.
    pub(super) fn unwatch_session(&mut self, session: SessionId) {
        let watched = self.sessions.get_mut(&session);
        if let Some(at) = watched.and_then(|it| it.watched_until.take()) {
            self.timers.disarm(at, Timer::Session(session));
        }
    }
}
