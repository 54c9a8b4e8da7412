//! A model of the store, apart from any real one: what is done is durable, what was only handed
//! over is lost in a crash, and everything is done in the order in which it was handed over.

use bytes::Bytes;
use forebay_proto::{
    Broker, Direction, Handshake, Instant, Mark, Message, Op, PacketId, QueueState, Resumed, Rowid,
    Seq, SessionId, Stored, Table,
};
use std::collections::{BTreeMap, VecDeque};

#[derive(Default)]
struct Queue {
    next: u64,
    rows: BTreeMap<u64, (Instant, Mark, Option<PacketId>, Bytes, Bytes)>,
}

/// What is on disk, and what it was told to do since.
#[derive(Default)]
pub(super) struct Disk {
    work: VecDeque<Work>,
    names: BTreeMap<SessionId, Bytes>,
    queues: BTreeMap<(Bytes, Direction), Queue>,
    tables: BTreeMap<(Table, Bytes), Bytes>,
    /// The last message promoted, by session.
    promoted: BTreeMap<SessionId, u64>,
}

impl Disk {
    /// Takes what it is to do; nothing of it is done.
    pub(super) fn hand_over(&mut self, work: Work) {
        self.work.push_back(work);
    }

    pub(super) fn is_busy(&self) -> bool {
        !self.work.is_empty()
    }

    /// Does the next thing and answers the broker; `false` where there is none.
    pub(super) fn step(&mut self, broker: &mut Broker, now: Instant) -> bool {
        match self.work.pop_front() {
            None => return false,
            Some(Work::Commit(seq, ops)) => {
                self.apply(&ops);
                broker.handle_durable(seq, now);
            }
            Some(Work::Resume(session, epoch, window)) => {
                let resumed = self.resume(session, window);
                broker.handle_resumed(session, epoch, resumed, now);
            }
            Some(Work::Promote(session, epoch, count)) => {
                let promoted = self.promote(session, count);
                broker.handle_promoted(session, epoch, promoted, now);
            }
        }
        true
    }

    /// Loses what was not done, and tells a new broker of the rest.
    pub(super) fn restart(&mut self, broker: &mut Broker) {
        self.work.clear();
        self.promoted.clear();
        self.names.clear();
        // The order of the tables is that in which they are restored.
        for ((table, key), value) in &self.tables {
            let restored = broker.restore_row(*table, key, value);
            restored.expect("a row that was written");
        }
        let sessions: Vec<_> = broker
            .sessions()
            .map(|(id, client)| (id, client.to_bytes()))
            .collect();
        for (session, name) in sessions {
            self.names.insert(session, name.clone());
            for direction in [Direction::In, Direction::Out] {
                let queue = &self.queues[&(name.clone(), direction)];
                let state = QueueState {
                    next_rowid: queue.next,
                    pending: queue.rows.len() as u64,
                };
                broker.restore_queue(session, direction, state);
            }
        }
    }

    /// Messages in the queues of one direction.
    pub(super) fn messages(&self, wanted: Direction) -> usize {
        let queues = self.queues.iter();
        queues
            .filter(|((_, direction), _)| *direction == wanted)
            .map(|(_, it)| it.rows.len())
            .sum()
    }

    fn queue(&mut self, session: SessionId, direction: Direction) -> &mut Queue {
        let name = self.names[&session].clone();
        self.queues
            .get_mut(&(name, direction))
            .expect("the queue is open")
    }

    fn apply(&mut self, ops: &[Op]) {
        let mut content: Option<(Instant, Bytes)> = None;
        for op in ops {
            match op.clone() {
                Op::OpenQueues { session, client_id } => {
                    self.names.insert(session, client_id.to_bytes());
                    for direction in [Direction::In, Direction::Out] {
                        let fresh = Queue {
                            next: 1,
                            ..Queue::default()
                        };
                        self.queues
                            .entry((client_id.to_bytes(), direction))
                            .or_insert(fresh);
                    }
                }
                Op::DropQueues { session } => {
                    let name = self.names.remove(&session).expect("the session has queues");
                    self.queues.remove(&(name.clone(), Direction::In));
                    self.queues.remove(&(name, Direction::Out));
                }
                Op::Content { time, bytes } => content = Some((time, bytes)),
                Op::ContentOf { session, rowid } => {
                    let row = &self.queue(session, Direction::In).rows[&rowid.0];
                    content = Some((row.0, row.4.clone()));
                }
                Op::Append {
                    session,
                    direction,
                    rowid,
                    mark,
                    packet_id,
                    note,
                } => {
                    let (time, bytes) = content.clone().expect("content comes first");
                    let queue = self.queue(session, direction);
                    assert_eq!(queue.next, rowid.0, "row ids rise by one");
                    queue.next += 1;
                    queue
                        .rows
                        .insert(rowid.0, (time, mark, packet_id, note, bytes));
                }
                Op::SetMark {
                    session,
                    direction,
                    rowid,
                    mark,
                    packet_id,
                } => {
                    let row = self.queue(session, direction).rows.get_mut(&rowid.0);
                    let row = row.expect("the message is pending");
                    (row.1, row.2) = (mark, packet_id);
                }
                Op::Finish {
                    session,
                    direction,
                    rowid,
                    ..
                } => {
                    let row = self.queue(session, direction).rows.remove(&rowid.0);
                    row.expect("the message is pending");
                }
                Op::Put { table, key, value } => drop(self.tables.insert((table, key), value)),
                Op::Delete { table, key } => drop(self.tables.remove(&(table, key))),
            }
        }
    }

    /// The queues of a session, or nothing where it has ended meanwhile.
    fn resume(&mut self, session: SessionId, window: u16) -> Option<Resumed> {
        self.names.get(&session)?;
        let inbound = self.queue(session, Direction::In).rows.clone();
        let outbound = self.queue(session, Direction::Out).rows.clone();
        let (mut taken, mut queued, mut last) = (Vec::new(), 0, 0);
        for (rowid, row) in &outbound {
            if row.2.is_some() || taken.len() < usize::from(window) {
                taken.push(stored(*rowid, row));
                last = *rowid;
            } else {
                queued += 1;
            }
        }
        self.promoted.insert(session, last);
        let inbound = inbound
            .iter()
            .map(|(rowid, row)| stored(*rowid, row))
            .collect();
        Some(Resumed {
            inbound,
            outbound: taken,
            queued,
        })
    }

    fn promote(&mut self, session: SessionId, count: u16) -> Vec<Stored> {
        let last = self.promoted.entry(session).or_default();
        let Some(name) = self.names.get(&session) else {
            return Vec::new();
        };
        let queue = &self.queues[&(name.clone(), Direction::Out)];
        let next: Vec<Stored> = queue
            .rows
            .range(*last + 1..)
            .filter(|(_, row)| row.1.state == Handshake::Queued)
            .take(usize::from(count))
            .map(|(rowid, row)| stored(*rowid, row))
            .collect();
        *last = next.last().map_or(*last, |it| it.rowid.0);
        next
    }
}

fn stored(rowid: u64, row: &(Instant, Mark, Option<PacketId>, Bytes, Bytes)) -> Stored {
    let (time, mark, packet_id, note, bytes) = row.clone();
    Stored {
        rowid: Rowid(rowid),
        time,
        mark,
        packet_id,
        note,
        message: Message::decode(bytes),
    }
}

/// What the disk is to do, in order.
pub(super) enum Work {
    Commit(Seq, Vec<Op>),
    Resume(SessionId, u64, u16),
    Promote(SessionId, u64, u16),
}
