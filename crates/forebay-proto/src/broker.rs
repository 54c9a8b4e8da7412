//! The broker machine: what every packet, answer of the disk and passing of time leads to.
//!
//! Owns sessions, subscriptions, retained messages, wills and the order of acknowledgements.
//! Never reads a clock, a socket or a disk: those are inputs and outputs. The disk is an output
//! ([`Output::Commit`]), durability an input ([`Broker::handle_durable`]): an acknowledgement
//! waits in `waiting` behind the commit it stands for and leaves from [`Broker::handle_durable`]
//! alone.
//!
//! Rule for drivers: one or more `handle_*`, then drain [`Broker::poll_output`].

use alloc::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    vec::Vec,
};

use crate::{
    access::{Access, Anonymous},
    id::{ClientId, ConnectionId, Seq, SessionId},
    limits::Limits,
    packet::{Disconnect, Packet, Version},
    reason::ReasonCode,
    subscription::SubscriptionTree,
    text::Text,
    time::Instant,
};

mod access;
mod acknowledge;
mod alias;
mod authenticate;
mod commit;
mod connect;
mod connection;
mod deliver;
mod lifecycle;
mod output;
mod persist;
mod publish;
mod redeliver;
mod restore;
mod retain;
mod state;
mod stats;
mod subscribe;
mod timer;

use commit::Effect;
use connection::{Connection, Phase};
use retain::Retained;
use state::Session;
use stats::DropReason;
use timer::Timers;

pub use authenticate::Login;
pub use output::{Op, Output, Password, QueueState, Resumed, Stored, Table};
pub use persist::{message_properties, session_row};
pub use restore::RestoreError;
pub use stats::{Denied, Stats};

/// What the machine is told at its start.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The bounds.
    pub limits: Limits,
    /// Who may come in, and do what.
    pub access: Access,
    /// A number no earlier run had, for the client identifiers that the broker assigns.
    pub instance: u64,
}

/// Who is at the other end of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peer {
    /// Whether it is on this host.
    pub loopback: bool,
    /// Who may come without a user name through this listener, where it has a rule of its own.
    pub anonymous: Option<Anonymous>,
    /// The user that was made sure of below MQTT, by a certificate. What the CONNECT says is not
    /// asked for then.
    pub user: Option<Text>,
}

/// The broker machine. See the [module](self).
#[derive(Debug)]
pub struct Broker {
    config: Config,
    sessions: BTreeMap<SessionId, Session>,
    clients: BTreeMap<ClientId, SessionId>,
    connections: BTreeMap<ConnectionId, Connection>,
    tree: SubscriptionTree,
    retained: Retained,
    timers: Timers,
    last_session: u64,
    assigned_ids: u64,
    storage_full: bool,
    stopping: bool,
    /// Operations of the commit that is open.
    ops: Vec<Op>,
    /// About how many bytes it takes.
    ops_bytes: usize,
    last_seq: Seq,
    /// The last commit known to be on disk.
    durable: Seq,
    /// What leaves once a commit is durable, in order.
    waiting: VecDeque<(Seq, Effect)>,
    /// Sessions that have room in their window and messages on disk.
    promote: BTreeSet<SessionId>,
    outputs: VecDeque<Output>,
    stats: Stats,
}

impl Broker {
    /// A broker without sessions.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            sessions: BTreeMap::new(),
            clients: BTreeMap::new(),
            connections: BTreeMap::new(),
            tree: SubscriptionTree::default(),
            retained: Retained::default(),
            timers: Timers::default(),
            last_session: 0,
            assigned_ids: 0,
            storage_full: false,
            stopping: false,
            ops: Vec::new(),
            ops_bytes: 0,
            last_seq: Seq(0),
            durable: Seq(0),
            waiting: VecDeque::new(),
            promote: BTreeSet::new(),
            outputs: VecDeque::new(),
            stats: Stats::default(),
        }
    }

    /// Takes a connection that a listener accepted.
    pub fn handle_open(&mut self, connection: ConnectionId, peer: Peer, now: Instant) {
        let deadline = now.after_secs(self.config.limits.connect_timeout_secs);
        self.connections
            .insert(connection, Connection::new(peer, now));
        self.watch(connection, deadline);
        if self.stopping {
            self.close(connection, ReasonCode::SERVER_SHUTTING_DOWN, now);
        }
    }

    /// Takes a packet from a connection.
    pub fn handle_packet(&mut self, connection: ConnectionId, packet: Packet, now: Instant) {
        let Some(peer) = self.connections.get_mut(&connection) else {
            return;
        };
        peer.last_received = now;
        match (peer.phase, packet) {
            (Phase::Opening, Packet::Connect(connect)) => self.connect(connection, &connect, now),
            (Phase::Opening, _) => self.close(connection, ReasonCode::PROTOCOL_ERROR, now),
            (Phase::Checking | Phase::Connecting(_), packet) => {
                if peer.has_room(self.config.limits.max_early_bytes) {
                    peer.keep_early(packet);
                } else {
                    self.close(connection, ReasonCode::QUOTA_EXCEEDED, now);
                }
            }
            (Phase::Live(session), packet) => self.live(connection, session, packet, now),
        }
        self.cut_large_commit();
    }

    /// Whether packets of a connection may be handed in. What came behind a CONNECT that is not
    /// answered yet is held within a bound; the rest is to be left unread until the CONNACK is
    /// transmitted, or the connection closed.
    pub fn takes_more(&self, connection: ConnectionId) -> bool {
        let peer = self.connections.get(&connection);
        peer.is_none_or(|it| it.has_room(self.config.limits.max_early_bytes))
    }

    fn live(&mut self, connection: ConnectionId, session: SessionId, packet: Packet, now: Instant) {
        let before = (self.last_seq, self.ops.len());
        match packet {
            Packet::Publish(publish) => self.publish(connection, session, publish, now),
            Packet::PubAck(ack) => self.puback(session, &ack, now),
            Packet::PubRec(ack) => self.pubrec(connection, session, &ack, now),
            Packet::PubRel(ack) => self.pubrel(connection, session, &ack, now),
            Packet::PubComp(ack) => self.pubcomp(session, &ack, now),
            Packet::Subscribe(packet) => self.subscribe(connection, session, &packet, now),
            Packet::Unsubscribe(packet) => self.unsubscribe(connection, session, &packet, now),
            Packet::PingReq => return self.ping(connection, now),
            Packet::Disconnect(packet) => self.disconnect(connection, session, &packet, now),
            // [MQTT-3.1.0-2] for the first, [MQTT-4.12.0-6] for AUTH without a method; the rest
            // only a server sends.
            Packet::Connect(_)
            | Packet::Auth(_)
            | Packet::ConnAck(_)
            | Packet::SubAck(_)
            | Packet::UnsubAck(_)
            | Packet::PingResp => self.close(connection, ReasonCode::PROTOCOL_ERROR, now),
        }
        let decided = self.decided();
        let changed = before != (self.last_seq, self.ops.len());
        if let Some(peer) = self.connections.get_mut(&connection).filter(|_| changed) {
            peer.decided = decided;
        }
    }

    /// A client that has this answer knows that all it sent before is on disk; one that sent
    /// nothing has it at once, however slow the disk is.
    fn ping(&mut self, connection: ConnectionId, now: Instant) {
        let waits = self
            .connections
            .get(&connection)
            .is_some_and(|it| it.decided > self.durable);
        let answer = Effect::Transmit(connection, Packet::PingResp);
        if waits {
            self.after_commit(answer, now);
        } else {
            self.run(answer, now);
        }
    }

    /// Takes the news that a connection is gone: closed by its peer, reset, or timed out below.
    pub fn handle_closed(&mut self, connection: ConnectionId, now: Instant) {
        self.forget(connection, now);
    }

    /// Takes the news that every commit up to `seq` is on disk, and lets go what waited for it.
    pub fn handle_durable(&mut self, seq: Seq, now: Instant) {
        self.durable = self.durable.max(seq);
        while self.waiting.front().is_some_and(|(at, _)| *at <= seq) {
            if let Some((_, effect)) = self.waiting.pop_front() {
                self.run(effect, now);
            }
        }
    }

    /// Takes the news that the store refuses new data, or takes it again.
    pub fn handle_storage_full(&mut self, full: bool) {
        self.storage_full = full;
    }

    /// Ends every connection with 0x8B; sessions, queues and wills stay on disk.
    pub fn handle_stop(&mut self, now: Instant) {
        self.stopping = true;
        let open: Vec<ConnectionId> = self.connections.keys().copied().collect();
        for connection in open {
            self.close(connection, ReasonCode::SERVER_SHUTTING_DOWN, now);
        }
    }

    /// The next thing to do, or `None` until the next input.
    pub fn poll_output(&mut self) -> Option<Output> {
        if self.outputs.is_empty() {
            self.flush_promotions();
            self.flush_commit();
        }
        self.outputs.pop_front()
    }

    /// Outputs that wait to be polled, the open commit apart.
    pub fn outputs(&self) -> usize {
        self.outputs.len()
    }

    /// When to call [`Broker::handle_timeout`] next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// Every session, with the client it belongs to, in order of number.
    pub fn sessions(&self) -> impl Iterator<Item = (SessionId, &ClientId)> {
        self.sessions
            .iter()
            .map(|(id, session)| (*id, &session.client_id))
    }

    /// The figures so far.
    pub fn stats(&self) -> Stats {
        Stats {
            connections: self.connections.len() as u64,
            sessions: self.sessions.len() as u64,
            subscriptions: self.tree.len() as u64,
            retained: self.retained.len() as u64,
            queued: self.sessions.values().map(|it| it.out.pending()).sum(),
            ..self.stats.clone()
        }
    }

    fn transmit(&mut self, connection: ConnectionId, packet: Packet) {
        self.outputs
            .push_back(Output::Transmit { connection, packet });
    }

    /// Sends a packet unless it is larger than the client takes: then the connection ends, since
    /// what it waits for can't be said. `false` where it has ended.
    ///
    /// Spec: [MQTT-3.1.2-24]
    fn transmit_or_close(
        &mut self,
        connection: ConnectionId,
        packet: Packet,
        now: Instant,
    ) -> bool {
        let peer = self.connections.get(&connection);
        let fits = peer.is_some_and(|it| it.takes(&packet));
        if fits {
            self.transmit(connection, packet);
        } else {
            self.close(connection, ReasonCode::PACKET_TOO_LARGE, now);
        }
        fits
    }

    /// Ends a connection from this side, with a DISCONNECT where the protocol has one.
    fn close(&mut self, connection: ConnectionId, reason: ReasonCode, now: Instant) {
        let Some(peer) = self.connections.get(&connection) else {
            return;
        };
        let says_why = peer.version == Version::V5 && matches!(peer.phase, Phase::Live(_));
        let packet = Packet::Disconnect(Disconnect {
            reason,
            ..Disconnect::default()
        });
        if says_why && peer.takes(&packet) {
            self.transmit(connection, packet);
        }
        self.outputs.push_back(Output::Close { connection, reason });
        self.forget(connection, now);
    }
}

#[cfg(test)]
mod tests;
