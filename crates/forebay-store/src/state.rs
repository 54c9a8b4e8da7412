//! What the log adds up to: queues, tables, and which segments they need.
//!
//! Owns the meaning of each record, for the writer that has just written it and for recovery that
//! reads it again. Knows no file.

use std::ops::Range;

use bytes::Bytes;

use crate::{
    index::Entry,
    queue::{Content, Queue},
    queues::Queues,
    record::{ContentRef, Record},
    segments::Segments,
    tables::Tables,
    types::{Place, QueueId, Rowid, TableId},
};

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) queues: Queues,
    pub(crate) tables: Tables,
    /// The number of the next queue.
    pub(crate) next_queue: u64,
    /// What a queue has until it is told otherwise.
    pub(crate) max_inflight: u32,
    pending: u64,
    released: u64,
    /// Messages done with in one queue that make a rotation due; 0 for none.
    rotate_after: u32,
    rotation_due: bool,
}

impl State {
    pub(crate) fn new(max_inflight: u32, rotate_after: u32) -> Self {
        Self {
            next_queue: 1,
            max_inflight,
            rotate_after,
            ..Self::default()
        }
    }

    /// Pending messages of all queues.
    pub(crate) fn pending(&self) -> u64 {
        self.pending
    }

    /// Bytes of the contents of messages that are done with; one counts for each of its queues.
    pub(crate) fn released(&self) -> u64 {
        self.released
    }

    pub(crate) fn create_queue(&mut self, id: QueueId, name: &[u8]) {
        self.queues
            .insert(Queue::new(id, name.into(), 1, self.max_inflight));
        self.next_queue = self.next_queue.max(id.0 + 1);
    }

    pub(crate) fn drop_queue(&mut self, segments: &mut Segments, id: QueueId, seq: u64) {
        if let Some(queue) = self.queues.remove(id) {
            self.pending -= queue.pending_len() as u64;
            for entry in queue.entries() {
                segments.discount(entry, seq);
                self.released += u64::from(entry.content().len);
            }
        }
    }

    /// Adds a message to the queue of a number, which is likely in the slot before it.
    #[inline]
    pub(crate) fn append(
        &mut self,
        segments: &mut Segments,
        (hint, id): (u32, QueueId),
        entry: Entry,
        note: &[u8],
        place: Place,
        content: impl FnOnce() -> Option<Content>,
    ) -> Option<Rowid> {
        let queue = self.queues.at_mut(hint, id)?;
        segments.count(&entry);
        self.pending += 1;
        Some(queue.append(entry, note, place, content))
    }

    /// Takes a message out of the queue of a number, which is likely in the slot before it.
    #[inline]
    pub(crate) fn finish(
        &mut self,
        segments: &mut Segments,
        (hint, id): (u32, QueueId),
        rowid: Rowid,
        seq: u64,
    ) -> bool {
        let Some(queue) = self.queues.at_mut(hint, id) else {
            return false;
        };
        let Some(entry) = queue.remove(rowid) else {
            return false;
        };
        queue.done = queue.done.saturating_add(1);
        self.rotation_due |= self.rotate_after > 0 && queue.done >= self.rotate_after;
        segments.discount(&entry, seq);
        self.pending -= 1;
        self.released += u64::from(entry.content().len);
        true
    }

    /// Whether a queue has had enough messages that are done with.
    pub(crate) fn is_rotation_due(&self) -> bool {
        self.rotation_due
    }

    /// Counts from zero again.
    pub(crate) fn restart_rotation(&mut self) {
        self.rotation_due = false;
        for queue in self.queues.iter_mut() {
            queue.done = 0;
        }
    }

    /// Says that a content has been copied to another place.
    pub(crate) fn move_content(
        &mut self,
        segments: &mut Segments,
        (id, rowid): (QueueId, Rowid),
        to: ContentRef,
        seq: u64,
    ) -> bool {
        let old = self
            .queues
            .get_mut(id)
            .and_then(|queue| queue.set_content(rowid, to));
        if let Some(old) = old {
            segments.discount(&old, seq);
            segments.count(&Entry::new(to, old.flag, old.packet_id));
        }
        old.is_some()
    }

    pub(crate) fn restore(
        &mut self,
        segments: &mut Segments,
        id: QueueId,
        row: (Rowid, Entry, &[u8]),
    ) -> bool {
        let Some(queue) = self.queues.get_mut(id) else {
            return false;
        };
        if queue.is_pending(row.0) {
            return false;
        }
        segments.count(&row.1);
        self.pending += 1;
        queue.restore(row.0, row.1, row.2);
        true
    }
}

/// How far the reading of a log has come, as far as the meaning of records depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Nothing is known from before, and nothing is to be expected: the log begins here.
    Whole,
    /// Reading begins with a checkpoint; its begin must come first.
    BeforeCheckpoint,
    /// Inside that checkpoint: what it has not told of yet may be spoken of.
    InCheckpoint(u64),
    /// Behind it.
    AfterCheckpoint,
    /// A part of the log was left out, so anything may be spoken of.
    Damaged,
}

impl Phase {
    /// Whether the log must go on until its checkpoint has ended.
    pub(crate) fn is_in_checkpoint(self) -> bool {
        matches!(self, Self::BeforeCheckpoint | Self::InCheckpoint(_))
    }
}

/// Applies the records of a log that is read again.
#[derive(Debug)]
pub(crate) struct Replay {
    pub(crate) state: State,
    pub(crate) segments: Segments,
    pub(crate) phase: Phase,
}

impl Replay {
    /// Whether things that are not known may be spoken of.
    fn is_partial(&self) -> bool {
        matches!(self.phase, Phase::InCheckpoint(_) | Phase::Damaged)
    }

    /// Applies a record of frame `seq`.
    ///
    /// # Errors
    /// What is wrong with it, given all that came before.
    pub(crate) fn apply(&mut self, record: &Record<'_>, seq: u64) -> Result<(), &'static str> {
        let partial = self.is_partial();
        let expect = |known: bool, what| if known || partial { Ok(()) } else { Err(what) };
        let Self {
            state,
            segments,
            phase,
        } = self;
        match *record {
            Record::Begin {
                checkpoint,
                next_queue,
            } => {
                if *phase == Phase::BeforeCheckpoint {
                    *phase = Phase::InCheckpoint(checkpoint);
                    state.next_queue = next_queue.0;
                }
                Ok(())
            }
            Record::Writer { .. } => Ok(()),
            _ if *phase == Phase::BeforeCheckpoint => Err("there is no checkpoint where one was"),
            Record::End { checkpoint } => {
                if *phase == Phase::InCheckpoint(checkpoint) {
                    *phase = Phase::AfterCheckpoint;
                }
                Ok(())
            }
            Record::QueueImage { queue, next, name } => {
                if partial {
                    if state
                        .queues
                        .by_name(name)
                        .is_some_and(|other| other.id != queue)
                    {
                        return Err("two queues have one name");
                    }
                    state.drop_queue(segments, queue, seq);
                    state.create_queue(queue, name);
                    if let Some(queue) = state.queues.get_mut(queue) {
                        queue.next = next;
                    }
                }
                Ok(())
            }
            Record::Run { queue, ref entries } => {
                if !partial {
                    return Ok(());
                }
                let mut entries = entries.clone();
                // From the highest down, as the runs of a queue come, so that its index stays dense.
                let run: Vec<_> = entries.by_ref().collect();
                for &row in run.iter().rev() {
                    if !state.restore(segments, queue, row) {
                        return Err("a checkpoint tells twice of a message");
                    }
                }
                if entries.is_done() {
                    Ok(())
                } else {
                    Err("a checkpoint is malformed")
                }
            }
            Record::CreateQueue { queue, name } => {
                if state.queues.get(queue).is_some() || state.queues.by_name(name).is_some() {
                    return expect(false, "a queue is created twice");
                }
                state.create_queue(queue, name);
                Ok(())
            }
            Record::DropQueue { queue } => {
                let known = state.queues.get(queue).is_some();
                state.drop_queue(segments, queue, seq);
                expect(known, "a queue that is not there is dropped")
            }
            Record::Content { .. } => Ok(()),
            Record::Entry {
                queue: id,
                rowid,
                entry,
                note,
            } => {
                let Some(queue) = state.queues.get_mut(id) else {
                    return expect(false, "a message has no queue");
                };
                let next = queue.next;
                if rowid != next {
                    if *phase != Phase::Damaged || rowid < next {
                        return Err("a message has the wrong number");
                    }
                    queue.lose(next..rowid);
                }
                state.restore(segments, id, (rowid, entry, note));
                Ok(())
            }
            Record::Flag {
                queue,
                rowid,
                flag,
                packet_id,
            } => {
                let queue = state.queues.get_mut(queue);
                let known = queue.is_some_and(|queue| queue.set_flag(rowid, flag, packet_id));
                expect(known, "a flag is set on a message that is not pending")
            }
            Record::Finish { queue, rowid, .. } => {
                let known = state.finish(segments, (u32::MAX, queue), rowid, seq);
                expect(known, "a message that is not pending is finished")
            }
            Record::Put { table, key, value } => {
                let (key, value) = (Bytes::copy_from_slice(key), Bytes::copy_from_slice(value));
                state.tables.put(table, key, value);
                Ok(())
            }
            Record::Delete { table, key } => {
                state.tables.delete(table, key);
                Ok(())
            }
            Record::Moved { queue, rowid, to } => {
                let known = state.move_content(segments, (queue, rowid), to, seq);
                expect(known, "a message that is not pending is moved")
            }
        }
    }

    /// Rowids whose records were in a part of the log that was left out.
    pub(crate) fn lost(&self) -> Vec<(QueueId, Range<Rowid>)> {
        let queues = self.state.queues.iter();
        queues
            .filter_map(|queue| Some((queue.id, queue.lost()?)))
            .collect()
    }
}

/// Whether callers may use a table.
pub(crate) fn is_free_table(table: TableId) -> bool {
    table.0 < TableId::RESERVED
}
