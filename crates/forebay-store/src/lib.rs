//! Durable message queues on one segmented log.
//!
//! A [`Store`] is one directory with one writer. It holds any number of queues, each a FIFO of
//! messages with a flag and a step of a handshake, and small tables in the same log, so that a
//! [`Batch`] over any of them is atomic. What is committed is durable, and may be acknowledged,
//! once [`Store::poll`] says so; several writes are in flight at once and one write covers
//! whatever was committed while they were.
//!
//! ```
//! use forebay_store::{Batch, Options, Place, SimDisk, Store, UserFlag};
//!
//! let (mut store, _) = Store::open(SimDisk::new(1), Options { low_water: 0, ..Options::default() })?;
//! let work = store.next_queue_id();
//! let mut batch = Batch::new();
//! batch.create_queue(work, "work");
//! batch.content(0, "first").append(work, UserFlag::default(), 0, "", Place::ByRule);
//! let committed = store.commit(&batch)?;
//! store.submit()?;
//! while store.poll(true)? < committed.seq {}
//! assert_eq!(committed.rowids, [1]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod batch;
mod codec;
mod disk;
mod error;
mod flag;
mod frame;
mod header;
mod index;
mod log;
mod options;
mod queue;
mod queues;
mod ranges;
mod record;
mod recovery;
mod segments;
mod state;
mod store;
mod tables;
mod types;
mod writer;

pub use batch::Batch;
pub use disk::{
    AlignedBuf, Disk, Done, Driver, FileName, LockError, OsDisk, OsOptions, SimDisk, Write,
};
pub use error::{
    BackupError, CommitError, ContentError, CopyError, Damage, LoadAllError, LoadError, OpenError,
    Poisoned, PromoteError, RotateError,
};
pub use flag::{Direction, Origin, State, UserFlag};
pub use options::{Access, Durability, Options};
pub use queue::Content;
pub use recovery::Recovery;
pub use store::{
    BackupInfo, Committed, Copied, Inspected, Inspection, Loaded, MessageInfo, QueueInfo, Restored,
    Stats, Store, Verified,
};
pub use types::{List, Outcome, OutcomeKind, Place, QueueId, Rowid, Seq, TableId, now_ns};
pub use writer::{Handle, Writer};

/// The README's example is run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
