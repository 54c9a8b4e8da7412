//! Checkpoints: what bounds the reading of the log at the next start.
//!
//! A checkpoint tells everything that is pending and every row again, in steps between other
//! frames of the log, so that it neither stalls the writer nor needs a copy in memory. Once its
//! end is durable, recovery begins at its begin and older segments without content die.

use bytes::Bytes;

use super::Store;
use crate::{
    disk::Disk,
    error::{CommitError, Poisoned},
    options::{Access, Options},
    record::{self, RunWriter},
    types::{QueueId, Rowid, TableId},
};

/// Entries of one run.
const RUN_ENTRIES: usize = 1024;

#[derive(Debug)]
pub(super) struct Checkpointer {
    after_bytes: u64,
    step_bytes: usize,
    bytes: u64,
    number: u64,
    completed: u64,
    stage: Stage,
}

#[derive(Clone, Debug)]
enum Stage {
    Idle,
    Tables(Option<(TableId, Bytes)>),
    Queues {
        slot: u32,
    },
    Runs {
        slot: u32,
        queue: QueueId,
        below: Rowid,
    },
    /// Everything is told; waits until the frame of the end is durable.
    Ending {
        seq: u64,
    },
}

impl Checkpointer {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            after_bytes: options.checkpoint_after,
            step_bytes: options.checkpoint_step,
            bytes: 0,
            number: 0,
            completed: 0,
            stage: Stage::Idle,
        }
    }

    pub(super) fn note_bytes(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    /// Has a checkpoint begin as soon as can be, and answers its number.
    pub(super) fn hurry(&mut self) -> u64 {
        self.bytes = self.after_bytes;
        self.number + 1
    }

    pub(super) fn completed(&self) -> u64 {
        self.completed
    }
}

impl<D: Disk> Store<D> {
    /// Tells everything again, so that the next start has little to read.
    ///
    /// # Errors
    /// When a write failed: the process must end.
    pub fn checkpoint(&mut self) -> Result<(), Poisoned> {
        if self.access == Access::Read {
            return Ok(());
        }
        let before = self.checkpointer.completed;
        self.checkpointer.bytes = self.checkpointer.after_bytes;
        while self.checkpointer.completed == before {
            self.log.poll(true)?;
            if !self.step_checkpoint()? {
                // No room for it: the log stays as it is.
                return Ok(());
            }
        }
        Ok(())
    }

    /// Takes the next step of a checkpoint that is due. `false` where there was no room.
    pub(super) fn step_checkpoint(&mut self) -> Result<bool, Poisoned> {
        let mut told = 0;
        while told < self.checkpointer.step_bytes {
            let step = match self.checkpointer.stage.clone() {
                Stage::Idle => {
                    if self.checkpointer.bytes < self.checkpointer.after_bytes {
                        return Ok(true);
                    }
                    self.begin_checkpoint()
                }
                Stage::Tables(after) => self.tell_row(after.as_ref()),
                Stage::Queues { slot } => self.tell_queue(slot),
                Stage::Runs { slot, queue, below } => self.tell_run(slot, queue, below),
                Stage::Ending { seq } => {
                    if self.log.durable() >= seq {
                        self.end_checkpoint()?;
                    }
                    return Ok(true);
                }
            };
            match step {
                Ok(bytes) => told += bytes,
                Err(CommitError::Poisoned(poisoned)) => return Err(poisoned),
                Err(_) => return Ok(false),
            }
        }
        Ok(true)
    }

    fn begin_checkpoint(&mut self) -> Result<usize, CommitError> {
        self.log.seal();
        self.log.reserve(record::bound(0))?;
        self.log.mark();
        let number = self.checkpointer.number + 1;
        let next_queue = QueueId(self.state.next_queue);
        if let Some((_, _, _, buf)) = self.log.frame() {
            record::write_begin(buf, number, next_queue);
        }
        self.checkpointer.number = number;
        self.checkpointer.bytes = 0;
        self.checkpointer.stage = Stage::Tables(None);
        Ok(record::bound(0))
    }

    fn tell_row(&mut self, after: Option<&(TableId, Bytes)>) -> Result<usize, CommitError> {
        let Some((table, key, value)) = self.state.tables.next(after) else {
            self.checkpointer.stage = Stage::Queues { slot: 0 };
            return Ok(0);
        };
        let (key, value) = (key.clone(), value.clone());
        let len = record::bound(key.len() + value.len() + 10);
        self.log.reserve(len)?;
        if let Some((_, _, _, buf)) = self.log.frame() {
            record::write_put(buf, table, &key, &value);
        }
        self.checkpointer.stage = Stage::Tables(Some((table, key)));
        Ok(len)
    }

    fn tell_queue(&mut self, slot: u32) -> Result<usize, CommitError> {
        if slot >= self.state.queues.slots() {
            self.log.reserve(record::bound(0))?;
            if let Some((_, _, _, buf)) = self.log.frame() {
                record::write_end(buf, self.checkpointer.number);
            }
            self.checkpointer.stage = Stage::Ending {
                seq: self.log.last_seq(),
            };
            return Ok(record::bound(0));
        }
        let next = Stage::Queues { slot: slot + 1 };
        let Some(queue) = self.state.queues.slot(slot) else {
            self.checkpointer.stage = next;
            return Ok(1);
        };
        let len = record::bound(queue.name.len() + 10);
        self.log.reserve(len)?;
        if let Some((_, _, _, buf)) = self.log.frame() {
            record::write_queue_image(buf, queue.id, queue.next, &queue.name);
        }
        self.checkpointer.stage = if queue.pending_len() == 0 {
            next
        } else {
            Stage::Runs {
                slot,
                queue: queue.id,
                below: queue.next,
            }
        };
        Ok(len)
    }

    fn tell_run(&mut self, slot: u32, id: QueueId, below: Rowid) -> Result<usize, CommitError> {
        let queue = self.state.queues.slot(slot).filter(|queue| queue.id == id);
        let run = queue.map(|queue| (queue, queue.pending_below(below, RUN_ENTRIES)));
        let Some((queue, first, run)) =
            run.and_then(|(queue, run)| Some((queue, run.first()?.0, run)))
        else {
            self.checkpointer.stage = Stage::Queues { slot: slot + 1 };
            return Ok(1);
        };
        let mut writer = RunWriter::new(first);
        for (rowid, entry) in &run {
            writer.push(*rowid, entry, &queue.note(*rowid));
        }
        let len = writer.bound();
        self.log.reserve(len)?;
        if let Some((_, _, _, buf)) = self.log.frame() {
            writer.write(buf, id);
        }
        self.checkpointer.stage = Stage::Runs {
            slot,
            queue: id,
            below: first,
        };
        Ok(len)
    }

    fn end_checkpoint(&mut self) -> Result<(), Poisoned> {
        if let Some(start) = self.log.marked() {
            self.log.set_root(start)?;
        }
        self.checkpointer.stage = Stage::Idle;
        self.checkpointer.completed += 1;
        Ok(())
    }
}
