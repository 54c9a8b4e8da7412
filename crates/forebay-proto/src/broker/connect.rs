//! From CONNECT to CONNACK.
//!
//! ```text
//! Opening ─ CONNECT, name known ─▶ Connecting ─ queues open, session durable ─▶ Live
//!        └ refused ─▶ CONNACK with a reason, closed
//! ```

use alloc::{boxed::Box, format, vec::Vec};

use crate::{
    broker::{
        Broker, Op, Output, Phase, Resumed, Session, Table,
        alias::{Given, Received},
        commit::Effect,
        persist, state,
    },
    id::{ClientId, ConnectionId, SessionId},
    packet::{ConnAck, Connect, Packet, Version},
    property::{Properties, PropertiesBuilder, Property},
    reason::ReasonCode,
    text::Text,
    time::Instant,
};

impl Broker {
    pub(super) fn connect(&mut self, connection: ConnectionId, connect: &Connect, now: Instant) {
        if let Some(peer) = self.connections.get_mut(&connection) {
            peer.version = connect.version;
            peer.max_packet_size = connect.properties.maximum_packet_size().unwrap_or(u32::MAX);
        }
        if let Err(reason) = self.admit(connect) {
            self.refuse_connect(connection, connect.version, reason, now);
            return;
        }
        self.authenticate(connection, connect, now);
    }

    /// Ties a connection whose user was made sure of to its session.
    pub(super) fn enter(
        &mut self,
        connection: ConnectionId,
        connect: &Connect,
        user: Option<Text>,
        now: Instant,
    ) {
        let (client_id, assigned) = self.name_client(&connect.client_id);
        if let Some(&existing) = self.clients.get(&client_id) {
            self.take_over(existing, connect.clean_start, now);
        } else if self.storage_full
            || self.sessions.len() >= self.config.limits.max_sessions as usize
        {
            let reason = ReasonCode::QUOTA_EXCEEDED;
            self.refuse_connect(connection, connect.version, reason, now);
            return;
        }
        // A will of the old session may have been published, and the session have ended with it.
        let present = self.clients.get(&client_id).copied();
        let session = present.unwrap_or_else(|| self.new_session(&client_id));
        self.set_user(session, user);
        self.attach(session, connection, connect, assigned, present.is_some());
        let Some(it) = self.sessions.get(&session) else {
            return;
        };
        let (epoch, window) = (it.epoch, it.window);
        if present.is_some() {
            self.flush_commit();
            if let Some(it) = self.sessions.get_mut(&session) {
                it.out.ask();
            }
            self.outputs.push_back(Output::Resume {
                session,
                epoch,
                window,
            });
        } else {
            self.after_commit(Effect::Connected(session, epoch), now);
        }
    }

    /// Takes the queues of a session that its client came back to; `None` where the store could
    /// not open them.
    pub fn handle_resumed(
        &mut self,
        session: SessionId,
        epoch: u64,
        resumed: Option<Resumed>,
        now: Instant,
    ) {
        let Some(it) = self
            .sessions
            .get_mut(&session)
            .filter(|it| it.epoch == epoch)
        else {
            return;
        };
        let (Some(connection), Some(resumed)) = (it.connection, resumed) else {
            if let Some(connection) = it.connection {
                let version = self.version(connection);
                self.refuse_connect(connection, version, ReasonCode::SERVER_UNAVAILABLE, now);
            }
            return;
        };
        for stored in resumed.inbound {
            if let Some(id) = stored.packet_id {
                it.inbound.store(id, stored.rowid, stored.message);
            }
        }
        let window = it.window;
        let (in_exchange, queued): (Vec<_>, Vec<_>) = resumed
            .outbound
            .into_iter()
            .partition(|it| it.packet_id.is_some());
        it.out
            .resume(window, in_exchange, queued.len() as u64 + resumed.queued);
        if !self.transmit_connack(session, connection, now) {
            return;
        }
        self.resend(session, connection, now);
        self.deliver_promoted(session, queued, now);
        self.go_live(session, connection, now);
    }

    /// Sends the CONNACK of a session that is new.
    pub(super) fn complete_connect(&mut self, session: SessionId, now: Instant) {
        let Some(it) = self.sessions.get_mut(&session) else {
            return;
        };
        let Some(connection) = it.connection else {
            return;
        };
        let (window, queued) = (it.window, it.out.pending());
        it.out.resume(window, Vec::new(), queued);
        if self.transmit_connack(session, connection, now) {
            self.go_live(session, connection, now);
        }
    }

    /// Handles what came while the CONNACK was owed.
    fn go_live(&mut self, session: SessionId, connection: ConnectionId, now: Instant) {
        self.promote.insert(session);
        let Some(peer) = self.connections.get_mut(&connection) else {
            return;
        };
        peer.phase = Phase::Live(session);
        for packet in peer.take_early() {
            self.handle_packet(connection, packet, now);
        }
    }

    /// Whether the client takes a packet of that size; otherwise the connection ends.
    fn transmit_connack(
        &mut self,
        session: SessionId,
        connection: ConnectionId,
        now: Instant,
    ) -> bool {
        let connack = self
            .sessions
            .get_mut(&session)
            .and_then(|it| it.connack.take());
        let Some(connack) = connack else { return false };
        self.transmit_or_close(connection, Packet::ConnAck(*connack), now)
    }

    fn admit(&self, connect: &Connect) -> Result<(), ReasonCode> {
        let limits = &self.config.limits;
        if self.connections.len() > limits.max_connections as usize {
            return Err(ReasonCode::QUOTA_EXCEEDED);
        }
        if connect.properties.authentication_method().is_some() {
            return Err(ReasonCode::BAD_AUTHENTICATION_METHOD);
        }
        // [MQTT311-3.1.3-8]; 3.1 wants 1 to 23 characters.
        let needs_id = match connect.version {
            Version::V5 => false,
            Version::V3_1_1 => !connect.clean_start,
            Version::V3_1 => true,
        };
        if needs_id && connect.client_id.is_empty() {
            return Err(ReasonCode::CLIENT_IDENTIFIER_NOT_VALID);
        }
        Ok(())
    }

    /// Spec: [MQTT-3.1.3-6], [MQTT-3.1.3-7]
    fn name_client(&mut self, given: &Text) -> (ClientId, bool) {
        if !given.is_empty() {
            return (ClientId::new(given.detach()), false);
        }
        loop {
            self.assigned_ids += 1;
            let name = format!("auto-{:016x}-{:x}", self.config.instance, self.assigned_ids);
            let client_id = ClientId::new(Text::try_from(name).unwrap_or_default());
            if !self.clients.contains_key(&client_id) {
                return (client_id, true);
            }
        }
    }

    /// Ends the connection a session has, and the session too where the new one starts clean.
    ///
    /// Spec: [MQTT-3.1.4-3], [MQTT-3.1.2-4]
    fn take_over(&mut self, session: SessionId, clean_start: bool, now: Instant) {
        if let Some(old) = self.sessions.get(&session).and_then(|it| it.connection) {
            self.close(old, ReasonCode::SESSION_TAKEN_OVER, now);
        }
        if clean_start {
            self.end_session(session, now);
        }
    }

    fn new_session(&mut self, client_id: &ClientId) -> SessionId {
        self.last_session += 1;
        let session = SessionId(self.last_session);
        self.sessions
            .insert(session, Session::new(client_id.clone()));
        self.clients.insert(client_id.clone(), session);
        self.op(Op::OpenQueues {
            session,
            client_id: client_id.clone(),
        });
        session
    }

    /// Ties a session to its connection, and both to the store.
    fn attach(
        &mut self,
        session: SessionId,
        connection: ConnectionId,
        connect: &Connect,
        assigned: bool,
        present: bool,
    ) {
        self.unwatch_session(session);
        let limits = self.config.limits.clone();
        let Some(it) = self.sessions.get_mut(&session) else {
            return;
        };
        let properties = &connect.properties;
        let wanted = match connect.version {
            Version::V5 => properties.session_expiry_interval().unwrap_or(0),
            Version::V3_1 | Version::V3_1_1 if connect.clean_start => 0,
            Version::V3_1 | Version::V3_1_1 => state::NEVER,
        };
        it.connection = Some(connection);
        it.epoch += 1;
        it.disconnected_at = None;
        it.expiry_secs = wanted.min(limits.max_session_expiry_secs);
        it.window = match limits.max_inflight {
            0 => properties.receive_maximum().unwrap_or(u16::MAX),
            ours => properties.receive_maximum().unwrap_or(u16::MAX).min(ours),
        };
        let granted = connack_properties(&limits, connect, it, assigned, wanted);
        let properties = if connect.version == Version::V5 {
            granted
        } else {
            Properties::EMPTY
        };
        let session_present = present && connect.version != Version::V3_1;
        let reason = ReasonCode::SUCCESS;
        it.connack = Some(Box::new(ConnAck {
            session_present,
            reason,
            properties,
        }));

        let had_will = it.will.take().is_some();
        it.will = connect
            .will
            .as_ref()
            .map(|will| Box::new(persist::will(will)));
        let key = it.client_id.to_bytes();
        let will = it.will.as_deref().map(persist::encode_will);
        let row = persist::encode_session(it);
        match will {
            Some(value) => self.op(Op::Put {
                table: Table::Wills,
                key: key.clone(),
                value,
            }),
            None if had_will => self.op(Op::Delete {
                table: Table::Wills,
                key: key.clone(),
            }),
            None => {}
        }
        self.op(Op::Put {
            table: Table::Sessions,
            key,
            value: row,
        });

        if let Some(peer) = self.connections.get_mut(&connection) {
            peer.phase = Phase::Connecting(session);
            // One and a half times the keep alive. [MQTT-3.1.2-22]
            peer.silence_ms_max = u64::from(connect.keep_alive_secs) * 1500;
            peer.receive_maximum = limits.receive_maximum;
            peer.received = Received::new(limits.topic_alias_maximum);
            let wanted = connect.properties.topic_alias_maximum().unwrap_or(0);
            peer.given = Given::new(wanted.min(limits.topic_alias_maximum));
        }
        self.watch_silence(connection);
    }

    /// Spec: [MQTT-3.1.4-2]
    pub(super) fn refuse_connect(
        &mut self,
        connection: ConnectionId,
        version: Version,
        reason: ReasonCode,
        now: Instant,
    ) {
        if let Some(peer) = self.connections.get_mut(&connection) {
            peer.version = version;
        }
        let properties = Properties::EMPTY;
        let connack = ConnAck {
            session_present: false,
            reason,
            properties,
        };
        if self.transmit_or_close(connection, Packet::ConnAck(connack), now) {
            self.close(connection, reason, now);
        }
    }

    pub(super) fn version(&self, connection: ConnectionId) -> Version {
        self.connections
            .get(&connection)
            .map_or(Version::V3_1_1, |it| it.version)
    }
}

fn connack_properties(
    limits: &crate::limits::Limits,
    connect: &Connect,
    session: &Session,
    assigned: bool,
    wanted_expiry: u32,
) -> Properties {
    let mut granted = PropertiesBuilder::new();
    if session.expiry_secs != wanted_expiry {
        granted.push(Property::SessionExpiryInterval(session.expiry_secs));
    }
    if limits.receive_maximum != u16::MAX {
        granted.push(Property::ReceiveMaximum(limits.receive_maximum));
    }
    granted.push(Property::MaximumPacketSize(limits.max_packet_size));
    if limits.topic_alias_maximum > 0 {
        granted.push(Property::TopicAliasMaximum(limits.topic_alias_maximum));
    }
    if assigned || connect.client_id.is_empty() {
        granted.push(Property::AssignedClientIdentifier(
            session.client_id.as_str(),
        ));
    }
    granted.push(Property::SharedSubscriptionAvailable(false));
    granted.build()
}
