//! The order of commits and of what waits for them.

use crate::{
    broker::{Broker, Op, Output},
    id::{ConnectionId, Seq, SessionId},
    packet::Packet,
    reason::ReasonCode,
    time::Instant,
};

/// What happens once a commit is durable.
#[derive(Debug)]
pub(super) enum Effect {
    /// A packet leaves.
    Transmit(ConnectionId, Packet),
    /// A connection that its client ended is closed: what it said before is on disk.
    Close(ConnectionId),
    /// A session that is new has its queues: its CONNACK leaves.
    Connected(SessionId, u64),
}

/// About what an entry takes in a commit, its note apart.
pub(super) const ENTRY_BYTES: usize = 32;

impl Broker {
    /// Adds an operation to the open commit.
    pub(super) fn op(&mut self, op: Op) {
        self.ops_bytes += match &op {
            Op::Content { bytes, .. } | Op::Put { value: bytes, .. } => bytes.len(),
            Op::Append { note, .. } => ENTRY_BYTES + note.len(),
            Op::OpenQueues { .. }
            | Op::DropQueues { .. }
            | Op::ContentOf { .. }
            | Op::SetMark { .. }
            | Op::Finish { .. }
            | Op::Delete { .. } => ENTRY_BYTES,
        };
        self.ops.push(op);
    }

    /// Lets `effect` happen once everything decided so far is durable: at once if it is.
    pub(super) fn after_commit(&mut self, effect: Effect, now: Instant) {
        let decided = self.decided();
        if decided > self.durable {
            self.waiting.push_back((decided, effect));
        } else {
            self.run(effect, now);
        }
    }

    /// The commit that holds all that was decided so far.
    pub(super) fn decided(&self) -> Seq {
        Seq(self.last_seq.0 + u64::from(!self.ops.is_empty()))
    }

    pub(super) fn run(&mut self, effect: Effect, now: Instant) {
        match effect {
            Effect::Transmit(connection, mut packet) => {
                let Some(peer) = self.connections.get_mut(&connection) else {
                    return;
                };
                peer.answered(&packet);
                peer.shorten(&mut packet);
                self.stats.count_sent(&packet);
                self.transmit_or_close(connection, packet, now);
            }
            Effect::Close(connection) => {
                let reason = ReasonCode::SUCCESS;
                self.outputs.push_back(Output::Close { connection, reason });
            }
            Effect::Connected(session, epoch) => {
                if self
                    .sessions
                    .get(&session)
                    .is_some_and(|it| it.epoch == epoch)
                {
                    self.complete_connect(session, now);
                }
            }
        }
    }

    /// Hands over the open commit.
    pub(super) fn flush_commit(&mut self) {
        if self.ops.is_empty() {
            return;
        }
        self.last_seq = Seq(self.last_seq.0 + 1);
        let ops = core::mem::take(&mut self.ops);
        self.ops_bytes = 0;
        self.outputs.push_back(Output::Commit {
            seq: self.last_seq,
            ops,
        });
    }

    /// Hands over the open commit if it is large. Only where what it holds is whole.
    pub(super) fn cut_large_commit(&mut self) {
        let ops_max = self.config.limits.max_commit_bytes / 16;
        if self.ops_bytes >= self.config.limits.max_commit_bytes || self.ops.len() >= ops_max {
            self.flush_commit();
        }
    }

    /// Asks the store for the messages that may go next.
    pub(super) fn flush_promotions(&mut self) {
        if self.promote.is_empty() {
            return;
        }
        self.flush_commit();
        for session in core::mem::take(&mut self.promote) {
            let Some(it) = self.sessions.get_mut(&session) else {
                continue;
            };
            let count = it.out.take_promotion();
            if count > 0 {
                let epoch = it.epoch;
                self.outputs.push_back(Output::Promote {
                    session,
                    epoch,
                    count,
                });
            }
        }
    }
}
