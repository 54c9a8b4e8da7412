//! A batch becomes records of the open frame and a change in memory.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use bytes::Bytes;
use hashbrown::HashSet;

use super::{Stats, Store};
use crate::{
    batch::{Batch, Op},
    disk::Disk,
    error::CommitError,
    flag::UserFlag,
    index::Entry,
    options::Access,
    queue::Content,
    record::{self, ContentRef},
    state,
    types::{List, QueueId, Rowid, Seq},
};

/// The longest name of a queue: a client identifier of MQTT with room for a suffix.
const NAME_MAX: usize = 65_600;

/// A slot that no queue has.
const NO_SLOT: u32 = u32::MAX;

/// What a commit was given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Committed {
    /// Durable once [`Store::poll`] gives it or a higher one.
    pub seq: Seq,
    /// The rowids of the appended messages, in the order of the batch.
    pub rowids: Vec<Rowid>,
}

/// What the checks of a batch need, kept for its allocations.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    created: BTreeMap<QueueId, Bytes>,
    dropped: BTreeSet<QueueId>,
    /// Messages appended by the operations before `counted`; brought forward where it is needed.
    appended: BTreeMap<QueueId, u64>,
    counted: usize,
    finished: HashSet<(QueueId, Rowid)>,
    /// The slot of each operation's queue, as far as there is one.
    slots: Vec<u32>,
    pub(super) stats: Stats,
}

/// What a batch that can be applied needs.
#[derive(Debug, Default)]
struct Checked {
    /// At most how many bytes.
    len: usize,
    adds_data: bool,
}

/// The content that appends refer to.
struct Named<'a> {
    at: ContentRef,
    /// Whether it is the last one of this frame.
    near: bool,
    /// Its time and itself, where memory has them.
    content: Option<(u64, Cow<'a, Bytes>)>,
}

impl<D: Disk> Store<D> {
    /// Applies a batch in memory and stages it for writing. It is durable, and may be
    /// acknowledged, once [`Store::poll`] gives its number.
    ///
    /// # Errors
    /// When it can't be applied as a whole. Nothing of it is.
    pub fn commit(&mut self, batch: &Batch) -> Result<Committed, CommitError> {
        self.log.check()?;
        if self.access == Access::Read {
            return Err(CommitError::ReadOnly);
        }
        let Checked { len, adds_data } = self.check(batch)?;
        let max = self.log.transaction_max();
        if len > max {
            return Err(CommitError::TooLarge { len, max });
        }
        if adds_data && !self.asks_for_room(len) {
            return Err(CommitError::Full);
        }
        self.log.reserve(len)?;
        let mut committed = Committed {
            seq: Seq(self.log.last_seq()),
            rowids: Vec::new(),
        };
        let mut named = None;
        let slots = std::mem::take(&mut self.scratch.slots);
        for (op, &slot) in batch.ops.iter().zip(&slots) {
            self.apply(op, slot, &mut named, &mut committed.rowids);
        }
        self.scratch.slots = slots;
        self.scratch.stats.commits += 1;
        self.checkpointer.note_bytes(len as u64);
        Ok(committed)
    }

    fn apply<'a>(
        &mut self,
        op: &'a Op,
        slot: u32,
        named: &mut Option<Named<'a>>,
        rowids: &mut Vec<Rowid>,
    ) {
        let Some((seq, segment, frame, buf)) = self.log.frame() else {
            return;
        };
        match op {
            Op::CreateQueue { queue, name } => {
                record::write_create_queue(buf, *queue, name);
                self.state.create_queue(*queue, name);
            }
            Op::DropQueue { queue } => {
                record::write_drop_queue(buf, *queue);
                self.state.drop_queue(&mut self.log.segments, *queue, seq);
            }
            Op::Content { time, bytes } => {
                let offset = frame + record::write_content(buf, *time, bytes) as u32;
                let at = ContentRef {
                    segment,
                    offset,
                    len: bytes.len() as u32,
                };
                *named = Some(Named {
                    at,
                    near: true,
                    content: Some((*time, Cow::Borrowed(bytes))),
                });
            }
            Op::ContentOf { queue, rowid } => {
                let queue = self.state.queues.get(*queue);
                *named = queue.and_then(|queue| {
                    let at = queue.get(*rowid)?.content();
                    let content = queue.content(*rowid).cloned();
                    Some(Named {
                        at,
                        near: false,
                        content: content.map(|it| (it.time, Cow::Owned(it.bytes))),
                    })
                });
            }
            Op::Append {
                queue,
                flag,
                packet_id,
                note,
                place,
            } => {
                let Some(named) = named else { return };
                let Some(rowid) = self.state.queues.at(slot, *queue).map(|it| it.next) else {
                    return;
                };
                let entry = Entry::new(named.at, flag.with_pending(true), *packet_id);
                record::write_entry(buf, *queue, rowid, &entry, named.near, note);
                let content = || {
                    let (time, bytes) = named.content.as_ref()?;
                    Some(Content {
                        time: *time,
                        bytes: Bytes::clone(bytes),
                    })
                };
                let segments = &mut self.log.segments;
                self.state
                    .append(segments, (slot, *queue), entry, note, *place, content);
                self.scratch.stats.appended += 1;
                rowids.push(rowid);
            }
            Op::SetFlag {
                queue,
                rowid,
                flag,
                packet_id,
            } => {
                let flag = flag.with_pending(true);
                record::write_flag(buf, *queue, *rowid, flag, *packet_id);
                if let Some(queue) = self.state.queues.at_mut(slot, *queue) {
                    queue.set_flag(*rowid, flag, *packet_id);
                }
            }
            Op::Finish {
                queue,
                rowid,
                outcome,
            } => {
                record::write_finish(buf, *queue, *rowid, *outcome);
                let segments = &mut self.log.segments;
                self.state.finish(segments, (slot, *queue), *rowid, seq);
                self.scratch.stats.finished += 1;
            }
            Op::Put { table, key, value } => {
                record::write_put(buf, *table, key, value);
                self.state.tables.put(*table, key.clone(), value.clone());
            }
            Op::Delete { table, key } => {
                record::write_delete(buf, *table, key);
                self.state.tables.delete(*table, key);
            }
        }
    }

    /// Whether every operation can be applied after those before it.
    fn check(&mut self, batch: &Batch) -> Result<Checked, CommitError> {
        self.scratch.clear();
        let mut checked = Checked::default();
        let mut named = false;
        for (i, op) in batch.ops.iter().enumerate() {
            let before = batch.ops.get(..i).unwrap_or_default();
            let slot = match op {
                Op::CreateQueue { queue, name } => {
                    self.check_new(*queue, name)?;
                    NO_SLOT
                }
                Op::DropQueue { queue } => {
                    let slot = self.check_queue(*queue)?;
                    self.scratch.created.remove(queue);
                    self.scratch.dropped.insert(*queue);
                    slot
                }
                Op::Content { .. } => {
                    named = true;
                    NO_SLOT
                }
                Op::ContentOf { queue, rowid } => {
                    named = true;
                    self.check_pending(*queue, *rowid, before)?
                }
                Op::Append { queue, .. } => {
                    let slot = self.check_queue(*queue)?;
                    if !named {
                        return Err(CommitError::NoContent);
                    }
                    slot
                }
                Op::SetFlag { queue, rowid, .. } => self.check_pending(*queue, *rowid, before)?,
                Op::Finish { queue, rowid, .. } => {
                    let slot = self.check_pending(*queue, *rowid, before)?;
                    self.scratch.finished.insert((*queue, *rowid));
                    slot
                }
                Op::Put { table, .. } | Op::Delete { table, .. } => {
                    if !state::is_free_table(*table) {
                        return Err(CommitError::ReservedTable { table: table.0 });
                    }
                    NO_SLOT
                }
            };
            self.scratch.slots.push(slot);
            checked.len += op.bound();
            checked.adds_data |= op.adds_data();
        }
        Ok(checked)
    }

    fn check_new(&mut self, queue: QueueId, name: &Bytes) -> Result<(), CommitError> {
        if name.len() > NAME_MAX {
            return Err(CommitError::NameTooLong {
                len: name.len(),
                max: NAME_MAX,
            });
        }
        let named = self.state.queues.by_name(name).map(|it| it.id);
        let known = named.filter(|id| !self.scratch.dropped.contains(id));
        let fresh = self
            .scratch
            .created
            .iter()
            .find(|(_, it)| *it == name)
            .map(|(id, _)| *id);
        let numbered = self.state.queues.get(queue).map(|it| it.id);
        if let Some(queue) = known.or(fresh).or(numbered) {
            return Err(CommitError::QueueExists { queue });
        }
        self.scratch.created.insert(queue, name.clone());
        Ok(())
    }

    /// The slot of a queue that is there, or [`NO_SLOT`] if this batch makes it.
    fn check_queue(&self, queue: QueueId) -> Result<u32, CommitError> {
        let scratch = &self.scratch;
        match self.state.queues.find(queue) {
            Some(slot) if scratch.dropped.is_empty() || !scratch.dropped.contains(&queue) => {
                Ok(slot)
            }
            _ if scratch.created.contains_key(&queue) => Ok(NO_SLOT),
            _ => Err(CommitError::NoQueue { queue }),
        }
    }

    /// The same for the queue of a message that is pending after the operations `before`.
    fn check_pending(
        &mut self,
        queue: QueueId,
        rowid: Rowid,
        before: &[Op],
    ) -> Result<u32, CommitError> {
        let slot = self.check_queue(queue)?;
        let known = self.state.queues.slot(slot);
        let pending = known.is_some_and(|it| it.is_pending(rowid)) || {
            let next = known.map_or(1, |it| it.next);
            (next..next + self.scratch.appended(queue, before)).contains(&rowid)
        };
        let finished = &self.scratch.finished;
        if pending && (finished.is_empty() || !finished.contains(&(queue, rowid))) {
            Ok(slot)
        } else {
            Err(CommitError::NotPending { queue, rowid })
        }
    }

    /// Sets the flag of a pending message by itself.
    ///
    /// # Errors
    /// As [`Store::commit`].
    pub fn save_flag(
        &mut self,
        queue: QueueId,
        rowid: Rowid,
        flag: UserFlag,
        packet_id: u16,
    ) -> Result<Committed, CommitError> {
        let mut batch = Batch::new();
        batch.set_flag(queue, rowid, flag, packet_id);
        self.commit(&batch)
    }

    /// The list that a message is in, if it is in one.
    pub fn list_of(&self, queue: QueueId, rowid: Rowid) -> Option<List> {
        self.state.queues.get(queue)?.list_of(rowid)
    }
}

impl Scratch {
    fn clear(&mut self) {
        self.created.clear();
        self.dropped.clear();
        self.appended.clear();
        self.counted = 0;
        self.finished.clear();
        self.slots.clear();
    }

    /// How many messages these operations of the batch append to a queue that is there.
    fn appended(&mut self, queue: QueueId, before: &[Op]) -> u64 {
        for op in before.get(self.counted..).unwrap_or_default() {
            if let Op::Append { queue, .. } = op {
                *self.appended.entry(*queue).or_default() += 1;
            } else if let Op::DropQueue { queue } = op {
                self.appended.remove(queue);
            }
        }
        self.counted = before.len();
        self.appended.get(&queue).copied().unwrap_or_default()
    }
}
