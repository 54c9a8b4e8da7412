//! One error type for each operation, its variants named by what the caller does about them.

use std::{io, ops::Range, sync::Arc};

use thiserror::Error;

use crate::{
    disk::FileName,
    types::{QueueId, Rowid},
};

/// Why a store did not open. Nothing was changed or deleted.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Another writer has it; stop that one first.
    #[error("the store is in use by process {pid}")]
    Locked {
        /// The holder, or 0 where it can't be told.
        pid: u32,
    },
    /// Something that was acknowledged can't be read. Open it for reading to save the rest.
    #[error("the store is damaged: {0}")]
    Damaged(Damage),
    /// It was written by a later version of this program; use that one.
    #[error(
        "{file} has format {version}, and the newest known here is {}",
        crate::header::VERSION
    )]
    Newer {
        /// Which file says so.
        file: FileName,
        /// Its format.
        version: u16,
    },
    /// It has a kind of record that a later version of this program writes; use that one.
    #[error("{file} has a record of unknown kind {kind} in the frame at {offset}")]
    UnknownRecord {
        /// Which file.
        file: FileName,
        /// Where its frame begins.
        offset: u64,
        /// The kind.
        kind: u8,
    },
    /// An option has no meaning, or the disk can't do what it asks.
    #[error("{0}")]
    Options(&'static str),
    /// The operating system refused.
    #[error("{doing} {file}: {source}")]
    Io {
        /// Which file, or the directory.
        file: String,
        /// What was tried.
        doing: &'static str,
        /// What it said.
        source: io::Error,
    },
}

/// A place in the log where something acknowledged was and can't be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Which file.
    pub file: FileName,
    /// Where in it, bytes.
    pub offset: u64,
    /// The frame that should be there, or 0 where that can't be told.
    pub seq: u64,
    /// What is wrong.
    pub what: &'static str,
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at byte {} of {}", self.what, self.offset, self.file)
    }
}

/// A write or a sync failed, so nothing after it can be promised. The process must end; what was
/// acknowledged is there when the store is opened again.
#[derive(Clone, Debug, Error)]
#[error("the store is poisoned: {reason}")]
pub struct Poisoned {
    /// What failed first.
    pub reason: Arc<str>,
}

/// Why a rotation did not begin. Nothing was moved or removed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RotateError {
    /// The last load of a queue could not read everything; repair the store and load it again.
    #[error("queue {} has messages {rowids:?} that can't be read", queue.get())]
    LoadFailed {
        /// Which queue.
        queue: QueueId,
        /// The rowids that it could not read.
        rowids: Range<Rowid>,
    },
    /// A pending message's content can't be read; repair the store.
    #[error("{file} has a pending message that can't be read")]
    Unreadable {
        /// Which file, the oldest if there are several.
        file: FileName,
    },
    /// There is no room for another segment; see [`CommitError`].
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// An earlier write failed; the process must end.
    #[error(transparent)]
    Poisoned(#[from] Poisoned),
}

/// Why a backup was not used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BackupError {
    /// There is no such backup.
    #[error("there is no backup {name}")]
    NoBackup {
        /// What was asked for.
        name: FileName,
    },
    /// The disk refused.
    #[error("{why}")]
    Refused {
        /// Which file, and what the disk said.
        why: String,
    },
    /// It could not be read.
    #[error(transparent)]
    Load(#[from] LoadAllError),
    /// A message could not be appended.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// A write failed; the process must end.
    #[error(transparent)]
    Poisoned(#[from] Poisoned),
}

/// Why a store was not copied.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CopyError {
    /// There is something in the directory already; take an empty one.
    #[error("there is a store where the copy should go")]
    NotEmpty,
    /// The directory can't be read.
    #[error("listing the directory of the copy: {0}")]
    Io(#[from] io::Error),
    /// The new store can't be made.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// It can't be written; see [`CommitError`].
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// A write failed.
    #[error(transparent)]
    Poisoned(#[from] Poisoned),
}

/// Why a batch was not committed. Nothing of it was applied.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CommitError {
    /// An earlier write failed; the process must end.
    #[error(transparent)]
    Poisoned(#[from] Poisoned),
    /// Too little space is left for what adds data. Finish messages, or free space; until then
    /// finishing, changing flags and deleting go on.
    #[error("the disk is full")]
    Full,
    /// It does not fit in one frame; make it smaller.
    #[error("a transaction of {len} bytes is larger than the largest of {max}")]
    TooLarge {
        /// About how large it is.
        len: usize,
        /// What would fit.
        max: usize,
    },
    /// The store was opened for reading.
    #[error("the store is open for reading only")]
    ReadOnly,
    /// The writer that the store was given to is closed.
    #[error("the store's writer is closed")]
    Closed,
    /// There is no such queue, or it is dropped earlier in the batch.
    #[error("there is no queue {}", queue.get())]
    NoQueue {
        /// Which one.
        queue: QueueId,
    },
    /// A queue of that name or number exists.
    #[error("queue {} exists", queue.get())]
    QueueExists {
        /// The one that exists.
        queue: QueueId,
    },
    /// A queue's name is longer than can be kept.
    #[error("a queue name of {len} bytes is longer than the longest of {max}")]
    NameTooLong {
        /// How long it is.
        len: usize,
        /// The longest.
        max: usize,
    },
    /// The message is not pending, or finished earlier in the batch.
    #[error("message {rowid} of queue {} is not pending", queue.get())]
    NotPending {
        /// Whose message.
        queue: QueueId,
        /// Which one.
        rowid: Rowid,
    },
    /// An append comes before any content in its batch.
    #[error("an append has no content before it")]
    NoContent,
    /// The table is one of the store's own.
    #[error("table {table} is reserved")]
    ReservedTable {
        /// Which one.
        table: u8,
    },
    /// A file for more of the log could not be made; try again when that may have changed.
    #[error("the log can't grow: {0}")]
    Io(#[source] io::Error),
}

/// Why a content could not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ContentError {
    /// The message is not pending, or its queue is gone.
    #[error("there is no such pending message")]
    NotPending,
    /// Its bytes are not those that were written; the operator must know.
    #[error("the content at byte {offset} of {file} is damaged")]
    Damaged {
        /// Which file.
        file: FileName,
        /// Where in it, bytes.
        offset: u64,
    },
    /// The operating system refused; try again when the cause may have gone.
    #[error("the content at byte {offset} of {file} can't be read: {source}")]
    Io {
        /// Which file.
        file: FileName,
        /// Where in it, bytes.
        offset: u64,
        /// What it said.
        source: io::Error,
    },
}

/// Why a load is not complete. What could be read is in the lists.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// There is no such queue.
    #[error("there is no queue {}", queue.get())]
    NoQueue {
        /// Which one.
        queue: QueueId,
    },
    /// Pending messages in a range could not be read. They stay pending; a load after a repair
    /// finds them.
    #[error("messages {} to {} of the queue can't all be read: {source}", range.start, range.end - 1)]
    Incomplete {
        /// From the first such message to behind the last.
        range: Range<Rowid>,
        /// What was loaded all the same.
        loaded: crate::Loaded,
        /// The first that went wrong.
        source: ContentError,
    },
    /// Records of this queue are in a damaged part of the log.
    #[error("messages {} to {} of the queue are in a damaged part of the log", range.start, range.end - 1)]
    Lost {
        /// From the first such message to behind the last.
        range: Range<Rowid>,
        /// What was loaded all the same.
        loaded: crate::Loaded,
    },
}

/// Why nothing could be looked at.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoadAllError {
    /// There is no such queue.
    #[error("there is no queue {}", queue.get())]
    NoQueue {
        /// Which one.
        queue: QueueId,
    },
    /// A write failed; the process must end.
    #[error(transparent)]
    Poisoned(#[from] Poisoned),
}

/// Why a message was not promoted. It stays queued.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PromoteError {
    /// There is no such queued message.
    #[error("message {rowid} is not queued")]
    NotQueued {
        /// Which one.
        rowid: Rowid,
    },
    /// The inflight list is full.
    #[error("the inflight list is full")]
    WindowFull,
    /// Its content can't be read; [quarantine](crate::Store::quarantine) it to get at those behind.
    #[error("message {rowid}: {source}")]
    Unreadable {
        /// Which one.
        rowid: Rowid,
        /// What went wrong.
        source: ContentError,
    },
}
