//! Where the machine's outputs go.

use std::{rc::Rc, sync::Arc};

use forebay_proto::{ConnectionId, Instant, Login, Op, Output, Packet, QoS, encode};

use super::{Shard, count};
use crate::{
    auth::Question,
    broker::peer::{End, Peer},
    disk_thread::Job,
    net::Written,
};

impl Shard {
    /// Sorts everything the machine wants done.
    pub(super) fn drain(&mut self, now: Instant) {
        loop {
            while let Some(output) = self.machine.poll_output() {
                self.sort(output);
            }
            let Some(connection) = self.overrun.pop() else {
                break;
            };
            if let Some(peer) = self.peers.remove(connection) {
                self.give_up(&peer);
                self.machine.handle_closed(connection, now);
            }
        }
    }

    fn sort(&mut self, output: Output) {
        match output {
            Output::Transmit { connection, packet } => self.transmit(connection, &packet),
            Output::Close { connection, reason } => {
                tracing::debug!(connection = connection.0, %reason, "closing");
                if let Some(peer) = self.peers.remove(connection) {
                    peer.end(End::Closing);
                }
            }
            Output::Commit { seq, ops } => {
                self.jobs_bytes += ops.iter().map(size).sum::<u64>();
                self.jobs.push(Job::Commit { seq, ops });
            }
            Output::Authenticate {
                connection,
                user,
                password,
            } => {
                let users = Arc::clone(&self.gate.users);
                let asked = self.gate.pool.ask(Question {
                    connection,
                    users,
                    user,
                    password,
                });
                if !asked {
                    self.numbers.logins_busy += 1;
                    let now = self.clock.now();
                    self.machine
                        .handle_authenticated(connection, Login::Busy, now);
                }
            }
            Output::Resume {
                session,
                epoch,
                window,
            } => {
                self.jobs.push(Job::Resume {
                    session,
                    epoch,
                    window,
                });
            }
            Output::Promote {
                session,
                epoch,
                count,
            } => {
                self.jobs.push(Job::Promote {
                    session,
                    epoch,
                    count,
                });
            }
        }
    }

    fn transmit(&mut self, connection: ConnectionId, packet: &Packet) {
        let Some(peer) = self.peers.get(connection) else {
            return;
        };
        let peer = Rc::clone(peer);
        if peer.outgoing.borrow().waiting() > self.limits.outgoing_bytes {
            // Only what the peer's own slowness left waiting counts against it.
            self.write(&peer);
        }
        let mut outgoing = peer.outgoing.borrow_mut();
        let waiting = outgoing.waiting();
        match packet {
            Packet::Publish(publish) => {
                let goes = publish.qos != QoS::AtMostOnce || publish.names_alias();
                if !goes && waiting > self.limits.outgoing_bytes {
                    self.numbers.slow_reader += 1;
                    return;
                }
                count(&mut self.numbers.sent, publish.qos);
            }
            Packet::PubAck(_) => self.numbers.acknowledged.puback += 1,
            Packet::PubRec(_) => self.numbers.acknowledged.pubrec += 1,
            Packet::PubComp(_) => self.numbers.acknowledged.pubcomp += 1,
            // What was held until now can be handed in.
            Packet::ConnAck(_) => peer.wake(),
            Packet::Connect(_)
            | Packet::PubRel(_)
            | Packet::Subscribe(_)
            | Packet::SubAck(_)
            | Packet::Unsubscribe(_)
            | Packet::UnsubAck(_)
            | Packet::PingReq
            | Packet::PingResp
            | Packet::Disconnect(_)
            | Packet::Auth(_) => {}
        }
        if let Err(error) = encode(packet, peer.version.get(), outgoing.buffer(&mut self.pool)) {
            tracing::error!(connection = connection.0, %error, "a packet can't be sent");
            return;
        }
        let added = outgoing.waiting() - waiting;
        self.numbers.sent_bytes += added as u64;
        let silence = outgoing.blocked_since().map(|since| since.elapsed());
        if waiting > self.limits.outgoing_bytes_max
            && silence.is_some_and(|silence| silence >= self.limits.overrun)
        {
            self.overrun.push(connection);
        }
        if !peer.dirty.replace(true) {
            self.dirty.push(Rc::clone(&peer));
        }
    }

    /// Has a turn taken after the tasks that are ready.
    pub(super) fn touch(&mut self) {
        if !std::mem::replace(&mut self.woken, true)
            && let Some(waker) = &self.waker
        {
            waker.wake_by_ref();
        }
    }

    /// Sends everything that has to go out.
    pub(super) fn flush(&mut self) {
        while let Some(peer) = self.dirty.pop() {
            peer.dirty.set(false);
            self.write(&peer);
        }
        if let Some(last) = self.jobs.iter().rev().find_map(Job::seq) {
            self.backlog.add(last, std::mem::take(&mut self.jobs_bytes));
        }
        if !self.jobs.is_empty() {
            self.link.send(&mut self.jobs);
        }
    }

    /// Hands what waits for `peer` to the kernel, as far as it takes it.
    fn write(&mut self, peer: &Rc<Peer>) {
        if peer.end.get() == End::Broken {
            return;
        }
        let written = peer.outgoing.borrow_mut().write(&mut self.pool);
        match written {
            Written::All | Written::StillBlocked => {}
            Written::Blocked => {
                // The task goes on with the write as the peer reads.
                peer.wake();
                if !peer.blocked.replace(true) {
                    self.blocked.push(Rc::clone(peer));
                }
            }
            // The task says so to the machine.
            Written::Broken(error) => {
                tracing::debug!(connection = peer.id.0, %error, "broken");
                peer.end(End::Broken);
            }
        }
    }

    /// Ends a connection whose peer doesn't read.
    pub(super) fn give_up(&mut self, peer: &Peer) {
        tracing::info!(connection = peer.id.0, peer = %peer.address, "closed: it does not read");
        self.numbers.stalled += 1;
        peer.end(End::Broken);
    }
}

/// About how much memory an operation holds until it is durable, bytes.
fn size(op: &Op) -> u64 {
    const BASE: usize = size_of::<Op>();
    let held = match op {
        Op::Content { bytes, .. } => bytes.len(),
        Op::Append { note, .. } => note.len(),
        Op::Put { key, value, .. } => key.len() + value.len(),
        Op::Delete { key, .. } => key.len(),
        Op::OpenQueues { .. }
        | Op::DropQueues { .. }
        | Op::ContentOf { .. }
        | Op::SetMark { .. }
        | Op::Finish { .. } => 0,
    };
    (BASE + held) as u64
}
