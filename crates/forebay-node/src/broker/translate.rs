//! The machine's operations as those of the store, and the store's messages as the machine's.
//!
//! Owns [`Queues`], which knows the store's queues of each session, and the names they have.
//! Every message is put in the store's queued list: whether it is in flight is said by its state,
//! and the machine alone acts on that. Units: the store counts nanoseconds, the machine
//! milliseconds.

use std::collections::HashMap;

use bytes::Bytes;
use forebay_proto::{
    ClientId, Direction, Handshake, Instant, Mark, Message, Op, Origin, PacketId, QoS, QueueState,
    Resumed, Rowid, SessionId, Stored,
};
use forebay_store::{
    self as store, Batch, CommitError, Disk, List, LoadError, Place, QueueId, Store, TableId,
};
use thiserror::Error;

use super::flag;
use crate::kept;

const NS_PER_MS: u64 = 1_000_000;

/// Why operations were not committed. Nothing of them was.
#[derive(Debug, Error)]
pub(crate) enum ApplyError {
    /// The store says so.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// An operation speaks of a session that has no queues: machine and store are at odds.
    #[error("session {} has no queues", .0.0)]
    NoSession(SessionId),
    /// A message got another number than the machine gave it: machine and store are at odds.
    #[error("message {given:?} became {got:?} in the store")]
    Rowid {
        /// The machine's number.
        given: Rowid,
        /// The store's.
        got: Rowid,
    },
}

/// The two queues of a session.
#[derive(Clone, Copy, Debug)]
struct Pair {
    inbound: QueueId,
    outbound: QueueId,
    /// No OUT message up to this one waits: they were promoted or sent at once.
    promoted: store::Rowid,
}

impl Pair {
    fn queue(&self, direction: Direction) -> QueueId {
        match direction {
            Direction::In => self.inbound,
            Direction::Out => self.outbound,
        }
    }
}

/// The queues of every session.
#[derive(Debug, Default)]
pub(crate) struct Queues {
    pairs: HashMap<SessionId, Pair>,
    batch: Batch,
}

impl Queues {
    /// Finds the queues of a stored session and gives the state of IN and OUT. Makes them where
    /// they are missing.
    pub(crate) fn restore<D: Disk>(
        &mut self,
        store: &mut Store<D>,
        session: SessionId,
        client_id: &ClientId,
    ) -> Result<[QueueState; 2], CommitError> {
        let inbound = find(store, &name(client_id, Direction::In))?;
        let outbound = find(store, &name(client_id, Direction::Out))?;
        self.pairs.insert(
            session,
            Pair {
                inbound,
                outbound,
                promoted: 0,
            },
        );
        Ok([inbound, outbound].map(|queue| {
            let info = store.queue_info(queue);
            info.map_or(
                QueueState {
                    next_rowid: 1,
                    pending: 0,
                },
                |info| QueueState {
                    next_rowid: info.next_rowid,
                    pending: info.pending,
                },
            )
        }))
    }

    /// Commits operations as one transaction, and gives its number.
    pub(crate) fn commit<D: Disk>(
        &mut self,
        store: &mut Store<D>,
        ops: &[Op],
    ) -> Result<store::Seq, ApplyError> {
        let mut batch = std::mem::take(&mut self.batch);
        let result = self
            .fill(store, &mut batch, ops)
            .and_then(|()| Ok(store.commit(&batch)?));
        batch.clear();
        self.batch = batch;
        let committed = result?;
        let mut got = committed.rowids.iter().map(|rowid| Rowid(*rowid));
        for op in ops {
            if let Op::Append { rowid: given, .. } = *op
                && let Some(got) = got.next().filter(|got| *got != given)
            {
                return Err(ApplyError::Rowid { given, got });
            }
            if let Op::DropQueues { session } = op {
                self.pairs.remove(session);
            }
        }
        Ok(committed.seq)
    }

    fn fill<D: Disk>(
        &mut self,
        store: &mut Store<D>,
        batch: &mut Batch,
        ops: &[Op],
    ) -> Result<(), ApplyError> {
        for op in ops {
            match op {
                Op::OpenQueues { session, client_id } => {
                    let (inbound, outbound) = (store.next_queue_id(), store.next_queue_id());
                    batch.create_queue(inbound, name(client_id, Direction::In));
                    batch.create_queue(outbound, name(client_id, Direction::Out));
                    self.pairs.insert(
                        *session,
                        Pair {
                            inbound,
                            outbound,
                            promoted: 0,
                        },
                    );
                }
                Op::DropQueues { session } => {
                    let pair = self.pair(*session)?;
                    batch.drop_queue(pair.inbound).drop_queue(pair.outbound);
                }
                Op::Content { time, bytes } => {
                    batch.content(time.as_millis() * NS_PER_MS, bytes.clone());
                }
                Op::ContentOf { session, rowid } => {
                    batch.content_of(self.pair(*session)?.inbound, rowid.0);
                }
                Op::Append {
                    session,
                    direction,
                    mark,
                    packet_id,
                    note,
                    rowid: _,
                } => {
                    let queue = self.pair(*session)?.queue(*direction);
                    let flag = flag::flag(*direction, *mark);
                    batch.append(queue, flag, number(*packet_id), note.clone(), Place::Queued);
                }
                Op::SetMark {
                    session,
                    direction,
                    rowid,
                    mark,
                    packet_id,
                } => {
                    let queue = self.pair(*session)?.queue(*direction);
                    let flag = flag::flag(*direction, *mark);
                    batch.set_flag(queue, rowid.0, flag, number(*packet_id));
                }
                Op::Finish {
                    session,
                    direction,
                    rowid,
                    outcome,
                } => {
                    let queue = self.pair(*session)?.queue(*direction);
                    batch.finish(queue, rowid.0, kept::outcome(*outcome));
                }
                Op::Put { table, key, value } => {
                    batch.put(TableId(*table as u8), key.clone(), value.clone());
                }
                Op::Delete { table, key } => {
                    batch.delete(TableId(*table as u8), key.clone());
                }
            }
        }
        Ok(())
    }

    fn pair(&self, session: SessionId) -> Result<&Pair, ApplyError> {
        self.pairs
            .get(&session)
            .ok_or(ApplyError::NoSession(session))
    }

    /// Loads a session's queues: all of IN, of OUT what has a packet identifier and then others
    /// until it is `window` messages. `None` where they can't be loaded.
    pub(crate) fn resume<D: Disk>(
        &mut self,
        store: &mut Store<D>,
        session: SessionId,
        window: u16,
    ) -> Option<Resumed> {
        let pair = self.pairs.get(&session).copied()?;
        for queue in [pair.inbound, pair.outbound] {
            // What an earlier connection had read is not needed in memory any more.
            store.close_queue(queue);
            if let Err(error) = store.load(queue, Place::Queued) {
                report(session, &error);
                return None;
            }
        }
        let rowids = store.list(pair.inbound, List::Queued, ..).collect();
        let inbound = read(store, pair.inbound, rowids);
        let mut ids = store.with_packet_id(pair.outbound).len();
        let mut room = usize::from(window).saturating_sub(ids);
        let mut promoted = 0;
        let mut rowids = Vec::new();
        for rowid in store.list(pair.outbound, List::Queued, ..) {
            let Some(info) = store.message(pair.outbound, rowid) else {
                continue;
            };
            let left = if info.packet_id == 0 {
                &mut room
            } else {
                &mut ids
            };
            if *left > 0 {
                *left -= 1;
                rowids.push(rowid);
                if info.packet_id == 0 {
                    promoted = rowid;
                }
            }
            if room == 0 && ids == 0 {
                break;
            }
        }
        let pending = store
            .queue_info(pair.outbound)
            .map_or(0, |info| info.pending);
        let queued = pending.saturating_sub(rowids.len() as u64);
        let outbound = read(store, pair.outbound, rowids);
        self.set_promoted(session, promoted);
        Some(Resumed {
            inbound,
            outbound,
            queued,
        })
    }

    /// Loads the next messages that wait in an OUT queue.
    pub(crate) fn promote<D: Disk>(
        &mut self,
        store: &mut Store<D>,
        session: SessionId,
        count: u16,
    ) -> Vec<Stored> {
        let Some(pair) = self.pairs.get(&session).copied() else {
            return Vec::new();
        };
        // Does nothing where everything is loaded.
        if let Err(error) = store.load(pair.outbound, Place::Queued) {
            report(session, &error);
        }
        let mut promoted = pair.promoted;
        let mut rowids = Vec::new();
        for rowid in store.list(pair.outbound, List::Queued, pair.promoted + 1..) {
            if rowids.len() == usize::from(count) {
                break;
            }
            promoted = rowid;
            let info = store.message(pair.outbound, rowid);
            if info.is_some_and(|info| info.packet_id == 0) {
                rowids.push(rowid);
            }
        }
        self.set_promoted(session, promoted);
        read(store, pair.outbound, rowids)
    }

    fn set_promoted(&mut self, session: SessionId, promoted: store::Rowid) {
        if let Some(pair) = self.pairs.get_mut(&session) {
            pair.promoted = promoted;
        }
    }
}

fn report(session: SessionId, error: &LoadError) {
    tracing::error!(session = session.0, %error, "a queue can't be loaded");
}

/// The name of a session's queue.
fn name(client_id: &ClientId, direction: Direction) -> Bytes {
    kept::queue_name(client_id.as_str().as_bytes(), direction).into()
}

fn find<D: Disk>(store: &mut Store<D>, name: &Bytes) -> Result<QueueId, CommitError> {
    if let Some(queue) = store.queue(name) {
        return Ok(queue);
    }
    let queue = store.next_queue_id();
    store.commit(Batch::new().create_queue(queue, name.clone()))?;
    Ok(queue)
}

/// A packet identifier as the store has it: 0 for none.
fn number(packet_id: Option<PacketId>) -> u16 {
    packet_id.map_or(0, PacketId::get)
}

fn read<D: Disk>(store: &mut Store<D>, queue: QueueId, rowids: Vec<store::Rowid>) -> Vec<Stored> {
    rowids
        .into_iter()
        .filter_map(|rowid| stored(store, queue, rowid))
        .collect()
}

/// A message with its content, or without where that can't be read. `None` where it is gone.
fn stored<D: Disk>(store: &mut Store<D>, queue: QueueId, rowid: store::Rowid) -> Option<Stored> {
    let info = store.message(queue, rowid)?;
    let content = store.content(queue, rowid);
    let (time, message) = match content {
        Ok(content) => (content.time / NS_PER_MS, Message::decode(content.bytes)),
        Err(error) => {
            tracing::error!(queue = queue.get(), rowid, %error, "a message can't be read");
            (0, None)
        }
    };
    let mark = flag::mark(info.flag);
    if mark.is_none() || message.is_none() {
        tracing::error!(queue = queue.get(), rowid, flag = %info.flag, "a message is passed over");
    }
    // What nobody can have written is passed over like what can't be read.
    let message = message.filter(|_| mark.is_some());
    let mark = mark.unwrap_or(Mark {
        qos: QoS::AtLeastOnce,
        retain: false,
        dup: false,
        origin: Origin::Client,
        state: Handshake::Queued,
    });
    Some(Stored {
        rowid: Rowid(rowid),
        time: Instant::from_millis(time),
        mark,
        packet_id: PacketId::new(info.packet_id),
        note: info.note,
        message,
    })
}
