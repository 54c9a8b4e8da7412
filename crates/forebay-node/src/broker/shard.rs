//! The broker thread's state: the machine and everything it is connected to.
//!
//! Owns [`Shard`]. Every method runs to its end without waiting, so the shard is never borrowed
//! across a wait. Inputs go to the machine as they come; once the tasks that were ready have run, a
//! turn (`turn`) sorts the outputs by where they go (a connection's buffer, the disk's jobs;
//! `output`) and sends everything, so that one commit and one write stand for many packets.

mod output;
mod turn;

use std::{rc::Rc, sync::Arc, task::Waker};

use bytes::BytesMut;
use forebay_proto::{Broker, ConnectionId, Decoder, Instant, Login, Packet, Peer as From, QoS};
use tokio::sync::Notify;

use super::{
    backlog::Backlog,
    config::Limits,
    door::{Caller, Door},
    peer::{Address, End, Peer, Peers},
    reload::Loaded,
};
use crate::{
    auth::{LoginPool, Users},
    clock::Clock,
    disk_thread::{Job, Link},
    metrics::Numbers,
    net::{BufferPool, Outgoing},
};

/// Outputs of the machine beyond which they are sorted before the turn, so that a wide fan-out
/// doesn't gather in memory.
const OUTPUTS: usize = 4096;

/// Who may come with a name, and who finds that out.
#[derive(Debug)]
pub(crate) struct Gate {
    pub(crate) users: Arc<Users>,
    pub(crate) pool: LoginPool,
}

/// The machine and everything it is connected to.
#[derive(Debug)]
pub(crate) struct Shard {
    pub(crate) limits: Limits,
    /// The largest packet that is taken, bytes.
    pub(crate) packet_bytes: u32,
    /// What all connections read into.
    pub(crate) scratch: BytesMut,
    /// Where buffers with something to send come from.
    pub(crate) pool: BufferPool,
    /// Rings when everything handed to the disk is durable, and when a connection's task ends.
    pub(crate) settled: Rc<Notify>,
    clock: Clock,
    machine: Broker,
    peers: Peers,
    /// Connections with something to send.
    dirty: Vec<Rc<Peer>>,
    /// Connections whose peer doesn't read, and when to look at them next.
    blocked: Vec<Rc<Peer>>,
    look_at_blocked: Option<Instant>,
    /// Connections that wait for the disk.
    paused: Vec<Rc<Peer>>,
    /// Connections whose buffer is beyond its bound.
    overrun: Vec<ConnectionId>,
    /// What the disk thread is to do next.
    jobs: Vec<Job>,
    jobs_bytes: u64,
    link: Arc<Link>,
    backlog: Backlog,
    numbers: Numbers,
    /// The task that takes turns, and whether it was woken.
    waker: Option<Waker>,
    woken: bool,
    /// When its timer goes off.
    armed: Option<Instant>,
    /// Who may come with a name, and who finds that out.
    gate: Gate,
    /// The ways in.
    pub(crate) doors: Vec<Rc<Door>>,
    /// Connection tasks that have not ended.
    tasks: usize,
    /// Whether nothing is accepted and read any more.
    stopping: bool,
}

impl Shard {
    /// A shard around a machine that takes packets up to `packet_bytes`.
    pub(crate) fn new(
        machine: Broker,
        packet_bytes: u32,
        clock: Clock,
        limits: Limits,
        link: Arc<Link>,
        gate: Gate,
    ) -> Self {
        Self {
            packet_bytes,
            limits,
            scratch: BytesMut::new(),
            pool: BufferPool::default(),
            settled: Rc::new(Notify::new()),
            clock,
            machine,
            peers: Peers::default(),
            dirty: Vec::new(),
            blocked: Vec::new(),
            look_at_blocked: None,
            paused: Vec::new(),
            overrun: Vec::new(),
            jobs: Vec::new(),
            jobs_bytes: 0,
            link,
            backlog: Backlog::new(limits.backlog_bytes),
            numbers: Numbers::default(),
            waker: None,
            woken: false,
            armed: None,
            gate,
            doors: Vec::new(),
            tasks: 0,
            stopping: false,
        }
    }

    /// Has the machine begin what it owes from before the start.
    pub(crate) fn start(&mut self) {
        let now = self.clock.now();
        self.machine.handle_start(now);
        self.touch();
    }

    /// A connection was closed before it was one of MQTT.
    pub(crate) const fn turned_away(&mut self) {
        self.numbers.turned_away += 1;
    }

    /// Takes a connection in, unless there are too many.
    pub(crate) fn open(&mut self, outgoing: Outgoing, caller: Caller) -> Option<Rc<Peer>> {
        if self.stopping || self.peers.len() >= self.limits.connections {
            self.numbers.refused += 1;
            return None;
        }
        self.numbers.opened += 1;
        self.tasks += 1;
        let address = Address(caller.address);
        let peer = self.peers.add(|id| Peer::new(id, address, outgoing));
        let now = self.clock.now();
        let from = From {
            // A Unix socket is on this host.
            loopback: caller
                .address
                .is_none_or(|it| it.ip().to_canonical().is_loopback()),
            anonymous: caller.anonymous,
            user: caller.user,
        };
        self.machine.handle_open(peer.id, from, now);
        self.touch();
        Some(peer)
    }

    /// Hands every whole packet in `bytes` to the machine, as long as it takes them, and leaves
    /// the rest.
    pub(crate) fn receive(&mut self, peer: &Peer, decoder: &mut Decoder, bytes: &mut BytesMut) {
        let now = self.clock.now();
        let length = bytes.len();
        let mut commits = false;
        while peer.end.get() == End::Open {
            if !self.machine.takes_more(peer.id) {
                peer.held.set(true);
                break;
            }
            match decoder.decode(bytes) {
                Ok(Some(packet)) => {
                    if let Packet::Publish(publish) = &packet {
                        count(&mut self.numbers.received, publish.qos);
                    } else if let Packet::Connect(connect) = &packet {
                        peer.version.set(connect.version);
                    }
                    commits |= adds(&packet);
                    self.machine.handle_packet(peer.id, packet, now);
                    if self.machine.outputs() > OUTPUTS {
                        self.drain(now);
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    tracing::debug!(connection = peer.id.0, %error, "malformed");
                    // A CONNECT that is at fault is answered in its own version.
                    peer.version
                        .set(error.version.unwrap_or(peer.version.get()));
                    self.machine.handle_malformed(peer.id, &error, now);
                    self.drain(now);
                    // Nothing that follows can be read, so this end is certain.
                    peer.end(End::Closing);
                }
            }
        }
        self.numbers.received_bytes += (length - bytes.len()) as u64;
        peer.commit.set(commits.then(|| self.backlog.next()));
        self.touch();
    }

    /// Whether `peer` must wait before more is read from it: for its CONNACK, if it sent much
    /// behind its CONNECT, or for the disk, if it keeps it busy.
    /// Its task is woken when it may go on.
    pub(crate) fn must_wait(&mut self, peer: &Rc<Peer>) -> bool {
        if self.stopping || (peer.held.get() && !self.machine.takes_more(peer.id)) {
            return true;
        }
        let keeps_busy = peer
            .commit
            .get()
            .is_some_and(|seq| !self.backlog.is_durable(seq));
        if !keeps_busy || !self.backlog.is_full() {
            return false;
        }
        if !peer.paused.replace(true) {
            self.numbers.pauses += 1;
            self.paused.push(Rc::clone(peer));
        }
        true
    }

    /// The connection ended without the machine's doing.
    pub(crate) fn lost(&mut self, peer: &Peer) {
        peer.end(End::Broken);
        if self.peers.remove(peer.id).is_some() {
            let now = self.clock.now();
            self.machine.handle_closed(peer.id, now);
            self.touch();
        }
    }

    /// A name and a password were looked at.
    pub(crate) fn authenticated(&mut self, connection: ConnectionId, login: Login) {
        let now = self.clock.now();
        self.machine.handle_authenticated(connection, login, now);
        self.touch();
    }

    /// Takes what a reload read.
    pub(crate) fn reload(&mut self, Loaded { settings, tls }: Loaded) {
        for (listener, tls) in settings.listeners.iter().zip(tls) {
            // One that is configured otherwise than it was started is told of with the settings.
            for door in self.doors.iter().filter(|it| it.listener == *listener) {
                (*door.tls.borrow_mut()).clone_from(&tls);
            }
        }
        self.packet_bytes = settings.limits.max_packet_size;
        self.gate.users = settings.users;
        self.machine.handle_access(settings.access);
        self.machine.handle_limits(settings.limits);
    }

    /// A connection's task has ended.
    pub(crate) fn task_ended(&mut self) {
        self.tasks -= 1;
        self.settled.notify_one();
    }

    /// Reads and accepts nothing more.
    pub(crate) fn stop_reading(&mut self) {
        self.stopping = true;
    }

    /// Says goodbye to every client.
    pub(crate) fn stop(&mut self) {
        let now = self.clock.now();
        self.machine.handle_stop(now);
        self.touch();
    }

    /// Whether everything the machine wanted written is durable.
    pub(crate) fn is_durable(&self) -> bool {
        !self.woken && self.jobs.is_empty() && self.backlog.is_empty()
    }

    /// Whether every connection's task has ended.
    pub(crate) fn is_deserted(&self) -> bool {
        self.tasks == 0
    }

    /// What the metrics show.
    pub(crate) fn numbers(&self) -> Numbers {
        let mut numbers = self.numbers.clone();
        numbers.connections = self.peers.len() as u64;
        numbers.lag_commits = self.backlog.commits();
        numbers.lag_bytes = self.backlog.bytes();
        numbers.store = self.link.numbers();
        numbers.machine = self.machine.stats();
        numbers
    }
}

/// Whether a packet has the store keep something, and what grows with every such packet. An
/// acknowledgement answers something that was sent, so those are bounded without this.
fn adds(packet: &Packet) -> bool {
    match packet {
        Packet::Publish(publish) => publish.qos != QoS::AtMostOnce || publish.retain,
        Packet::Connect(_) | Packet::Subscribe(_) | Packet::Unsubscribe(_) => true,
        Packet::ConnAck(_)
        | Packet::PubAck(_)
        | Packet::PubRec(_)
        | Packet::PubRel(_)
        | Packet::PubComp(_)
        | Packet::SubAck(_)
        | Packet::UnsubAck(_)
        | Packet::PingReq
        | Packet::PingResp
        | Packet::Disconnect(_)
        | Packet::Auth(_) => false,
    }
}

fn count(counts: &mut [u64; 3], qos: QoS) {
    if let Some(count) = counts.get_mut(qos as usize) {
        *count += 1;
    }
}
