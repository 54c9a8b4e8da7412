//! Who a client is, between its CONNECT and its session.
//!
//! Owns the steps from a CONNECT that was read to a name that was made sure of. Passwords are
//! not checked here: that takes long on purpose, so it is an output ([`Output::Authenticate`])
//! whose answer is an input.
//!
//! ```text
//! Opening ─ CONNECT ─▶ Checking ─ granted ─▶ Connecting
//!        │                      └ denied ──▶ CONNACK 0x86, closed
//!        └ no name, or a certificate ──────▶ Connecting, or CONNACK 0x87
//! ```

use alloc::boxed::Box;

use crate::{
    broker::{Broker, Output, Phase},
    id::ConnectionId,
    packet::Connect,
    reason::ReasonCode,
    text::Text,
    time::Instant,
};

/// What was found out about a name and a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Login {
    /// They belong together.
    Granted,
    /// There is no such user, or the password is another.
    Denied,
    /// It could not be found out now: too many are waiting.
    Busy,
}

impl Broker {
    /// Finds out who it is that connects, and goes on with it, later where a password has to be
    /// checked.
    pub(super) fn authenticate(
        &mut self,
        connection: ConnectionId,
        connect: &Connect,
        now: Instant,
    ) {
        let Some(peer) = self.connections.get(&connection) else {
            return;
        };
        if let Some(user) = peer.peer.user.clone() {
            return self.enter(connection, connect, Some(user), now);
        }
        let named = connect.username.is_some() || connect.password.is_some();
        if self.config.access.users && named {
            let user = connect.username.clone();
            let password = connect.password.clone();
            if let Some(peer) = self.connections.get_mut(&connection) {
                peer.phase = Phase::Checking;
                peer.connect = Some(Box::new(connect.clone()));
            }
            self.outputs.push_back(Output::Authenticate {
                connection,
                user,
                password: password.into(),
            });
            return;
        }
        let rule = peer.peer.anonymous.unwrap_or(self.config.access.anonymous);
        if rule.admits(peer.peer.loopback) {
            self.enter(connection, connect, None, now);
        } else {
            let reason = ReasonCode::NOT_AUTHORIZED;
            self.deny_connect(connection, connect, reason, now);
        }
    }

    /// Takes the answer to [`Output::Authenticate`].
    ///
    /// Spec: [MQTT-3.1.4-2]
    pub fn handle_authenticated(&mut self, connection: ConnectionId, verdict: Login, now: Instant) {
        let peer = self.connections.get_mut(&connection);
        let Some(connect) = peer.and_then(|peer| peer.connect.take()) else {
            return;
        };
        match verdict {
            Login::Granted => {
                let user = connect.username.as_ref().map(Text::detach);
                self.enter(connection, &connect, user, now);
            }
            Login::Denied => {
                let reason = ReasonCode::BAD_USER_NAME_OR_PASSWORD;
                self.deny_connect(connection, &connect, reason, now);
            }
            Login::Busy => {
                let reason = ReasonCode::SERVER_BUSY;
                self.refuse_connect(connection, connect.version, reason, now);
            }
        }
        self.cut_large_commit();
    }

    fn deny_connect(
        &mut self,
        connection: ConnectionId,
        connect: &Connect,
        reason: ReasonCode,
        now: Instant,
    ) {
        self.stats.denied.connect += 1;
        self.refuse_connect(connection, connect.version, reason, now);
    }
}
