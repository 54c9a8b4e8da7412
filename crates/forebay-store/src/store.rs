//! The store: one directory, one writer, any number of queues and tables.
//!
//! Owns [`Store`], which puts the log and what it adds up to together. It has no thread: the
//! caller commits, submits and polls. `store/commit.rs` has transactions, `store/lists.rs` the
//! lists of queues, `store/checkpoint.rs` what bounds recovery, `store/compact.rs` what bounds the
//! disk.

use bytes::Bytes;

use crate::{
    disk::Disk,
    error::{OpenError, Poisoned},
    log::Log,
    options::{Access, Options},
    recovery::{self, Opened, Recovery},
    state::State,
    types::{QueueId, Rowid, Seq, TableId},
};

mod backups;
mod checkpoint;
mod commit;
mod compact;
mod copy;
mod inspect;
mod lists;
mod verify;

pub use backups::{BackupInfo, Restored};
pub use commit::Committed;
pub use copy::Copied;
pub use inspect::{Inspected, Inspection};
pub use lists::{Loaded, MessageInfo};
pub use verify::Verified;

use checkpoint::Checkpointer;
use compact::Compactor;

/// A store of durable queues. See the [crate](crate).
pub struct Store<D: Disk> {
    log: Log<D>,
    state: State,
    access: Access,
    checkpointer: Checkpointer,
    compactor: Compactor,
    scratch: commit::Scratch,
}

/// Figures of a store since it was opened; `pending`, `queues` and `segments` are as of the call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Frames written.
    pub frames: u64,
    /// Their bytes, padding included.
    pub frame_bytes: u64,
    /// Durable writes begun, frames and others.
    pub writes: u64,
    /// Syncs of the directory.
    pub syncs: u64,
    /// Transactions committed.
    pub commits: u64,
    /// Messages appended.
    pub appended: u64,
    /// Messages finished.
    pub finished: u64,
    /// Checkpoints completed.
    pub checkpoints: u64,
    /// Passes of compaction completed.
    pub compactions: u64,
    /// Bytes that compaction has written.
    pub compacted_bytes: u64,
    /// Pending messages.
    pub pending: u64,
    /// Queues.
    pub queues: u64,
    /// Segments of the log.
    pub segments: u64,
    /// Bytes of their files.
    pub segment_bytes: u64,
}

/// A queue as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueInfo {
    /// Its number.
    pub id: QueueId,
    /// The rowid that the next message gets.
    pub next_rowid: Rowid,
    /// The lowest pending rowid, or `next_rowid`.
    pub first_pending: Rowid,
    /// Pending messages, in the lists or not.
    pub pending: u64,
    /// Messages in the inflight list.
    pub inflight: u64,
    /// Messages in the queued list.
    pub queued: u64,
    /// Whether the last load did not read every pending message.
    pub load_failed: bool,
}

impl<D: Disk> Store<D> {
    /// Opens the store in `disk`, making it where the directory is empty.
    ///
    /// # Errors
    /// When it is in use, damaged, of a newer format, or can't be read. Nothing is changed then.
    pub fn open(disk: D, options: Options) -> Result<(Self, Recovery), OpenError> {
        let (checkpointer, compactor) = (Checkpointer::new(&options), Compactor::new(&options));
        let access = options.access;
        let Opened {
            log,
            state,
            recovery,
        } = recovery::open(disk, options)?;
        let scratch = commit::Scratch::default();
        Ok((
            Self {
                log,
                state,
                access,
                checkpointer,
                compactor,
                scratch,
            },
            recovery,
        ))
    }

    /// Begins writing what was committed, while writes may be in flight.
    ///
    /// # Errors
    /// When a write failed: the process must end.
    pub fn submit(&mut self) -> Result<(), Poisoned> {
        self.log.submit()
    }

    /// Takes in what was written, waiting for a write to end if told to, and gives the highest
    /// transaction that is durable with all before it.
    ///
    /// # Errors
    /// When a write failed: the process must end, and nothing more may be acknowledged.
    pub fn poll(&mut self, wait: bool) -> Result<Seq, Poisoned> {
        self.log.poll(wait)?;
        self.step_compaction()?;
        self.step_checkpoint()?;
        Ok(Seq(self.log.acknowledged()))
    }

    /// Writes and waits until everything that was committed is on stable storage.
    ///
    /// # Errors
    /// When a write failed: the process must end.
    pub fn sync(&mut self) -> Result<Seq, Poisoned> {
        self.log.seal();
        while self.log.durable() < self.log.last_seq() {
            self.log.poll(true)?;
        }
        self.poll(false)
    }

    /// Whether writes are in flight or wait for a slot.
    pub fn is_writing(&self) -> bool {
        self.log.is_writing() || self.log.staged_bytes() > 0
    }

    /// Bytes committed that no write has begun for.
    pub fn staged_bytes(&self) -> usize {
        self.log.staged_bytes()
    }

    /// Whether commits of `len` bytes together would still be taken: for callers that must stop
    /// taking things in before what they have taken is refused.
    pub fn has_room(&mut self, len: usize) -> bool {
        self.asks_for_room(len)
    }

    /// Whether appends would be refused with [`CommitError::Full`](crate::CommitError::Full).
    pub fn is_full(&mut self) -> bool {
        !self.asks_for_room(0)
    }

    /// Sleeps until a write has ended, the [`Store::waker`] is called or the time is over.
    pub fn park(&mut self, timeout: Option<std::time::Duration>) {
        self.log.park(timeout);
    }

    /// What other threads end a [`Store::park`] with.
    pub fn waker(&self) -> Option<std::task::Waker> {
        self.log.disk().waker()
    }

    /// The disk that it is on.
    pub fn disk(&self) -> &D {
        self.log.disk()
    }

    /// A number for a queue to be [created](crate::Batch::create_queue); never given twice.
    pub fn next_queue_id(&mut self) -> QueueId {
        let id = QueueId(self.state.next_queue);
        self.state.next_queue += 1;
        id
    }

    /// The queue of a name.
    pub fn queue(&self, name: &[u8]) -> Option<QueueId> {
        self.state.queues.by_name(name).map(|queue| queue.id)
    }

    /// Every queue with its name.
    pub fn queues(&self) -> impl Iterator<Item = (QueueId, &[u8])> {
        self.state
            .queues
            .iter()
            .map(|queue| (queue.id, &*queue.name))
    }

    /// A queue as it is.
    pub fn queue_info(&self, queue: QueueId) -> Option<QueueInfo> {
        self.state.queues.get(queue).map(|queue| QueueInfo {
            id: queue.id,
            next_rowid: queue.next,
            first_pending: queue.first_pending(),
            pending: queue.pending_len() as u64,
            inflight: queue.inflight_len() as u64,
            queued: queue.queued_len() as u64,
            load_failed: queue.failed().is_some(),
        })
    }

    /// A row of a table.
    pub fn get(&self, table: TableId, key: &[u8]) -> Option<&Bytes> {
        self.state.tables.get(table, key)
    }

    /// The rows of a table, in order of their keys.
    pub fn scan(&self, table: TableId) -> impl DoubleEndedIterator<Item = (&Bytes, &Bytes)> {
        self.state.tables.scan(table)
    }

    /// The figures so far.
    pub fn stats(&self) -> Stats {
        let log = self.log.stats;
        Stats {
            frames: log.frames,
            frame_bytes: log.frame_bytes,
            writes: log.writes,
            syncs: log.syncs,
            checkpoints: self.checkpointer.completed(),
            compactions: self.compactor.passes(),
            compacted_bytes: self.compactor.copied(),
            pending: self.state.pending(),
            queues: self.state.queues.len() as u64,
            segments: self.log.segments.iter().count() as u64,
            segment_bytes: self.log.segments.bytes(),
            ..self.scratch.stats
        }
    }
}
