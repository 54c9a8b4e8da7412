//! The fault seam: everything the store asks of an operating system.
//!
//! Owns the [`Disk`] trait, the names of files and the aligned buffer that crosses the seam.
//! Never knows what the bytes mean. A store is one directory; offsets and lengths are bytes and
//! always multiples of [`Disk::alignment`]. The layout of files is in `docs/format.md`.

use std::{fmt, io, sync::Arc, task::Waker, time::Duration};

use thiserror::Error;

pub use self::{
    buffer::AlignedBuf,
    os::{Driver, OsDisk, OsOptions},
    sim::SimDisk,
};

mod buffer;
mod os;
pub(crate) mod sim;

/// What a store needs of a directory: files of fixed length, durable writes of which several may
/// be in flight, and synced changes of the directory itself.
///
/// One caller at a time, one directory for the life of the value. The store never writes the same
/// block twice at once, and never reads a block while a write to it is in flight and expects the
/// new bytes. [`SimDisk`] is the reference for how a disk may behave.
pub trait Disk: Send + 'static {
    /// The unit of offsets, lengths and buffer addresses: 512 or 4096, constant.
    fn alignment(&self) -> usize;

    /// How many writes may be in flight at once, at least 1, constant.
    fn max_in_flight(&self) -> usize;

    /// Takes the directory for this process alone, until the value is dropped. The first call a
    /// writer makes; one that only reads never makes it.
    ///
    /// # Errors
    /// [`LockError::Held`] when another process, or another value of this process, has it.
    fn lock(&mut self) -> Result<(), LockError>;

    /// Every file of the directory whose name [`FileName::parse`] knows, with its length in bytes,
    /// in any order. Other files are left out and left alone.
    ///
    /// # Errors
    /// Those of the operating system.
    fn list(&mut self) -> io::Result<Vec<(FileName, u64)>>;

    /// Makes a file that does not exist, `len` bytes long, with its blocks allocated and reading
    /// as zeros, and syncs file and directory. After a crash in the middle the file may be absent
    /// or of any length up to `len`. On an error the file is gone again where that is possible.
    ///
    /// Blocks need not have been written: the store writes zeros over them itself, a step at a
    /// time, before it counts on fast writes.
    ///
    /// # Errors
    /// `StorageFull` when the blocks can't be had; others as the operating system gives them.
    fn create(&mut self, name: FileName, len: u64) -> io::Result<()>;

    /// Renames a file over nothing: `to` does not exist. Durable after [`Disk::sync_dir`].
    ///
    /// # Errors
    /// Those of the operating system.
    fn rename(&mut self, from: FileName, to: FileName) -> io::Result<()>;

    /// Removes a file. Durable after [`Disk::sync_dir`].
    ///
    /// # Errors
    /// Those of the operating system.
    fn remove(&mut self, name: FileName) -> io::Result<()>;

    /// Makes renames and removals durable.
    ///
    /// # Errors
    /// Those of the operating system. The store never tries again after one.
    fn sync_dir(&mut self) -> io::Result<()>;

    /// Fills the whole of `buf` from `offset` on.
    ///
    /// # Errors
    /// `UnexpectedEof` when the file ends before; others as the operating system gives them.
    fn read_at(&mut self, name: FileName, offset: u64, buf: &mut AlignedBuf) -> io::Result<()>;

    /// Begins a durable write of the whole buffer, inside the file's length. It is on stable
    /// storage once [`Disk::next_done`] gives it back. Writes complete in any order; until then a
    /// crash may leave any subset of their sectors. Errors come with the completion. Called with
    /// fewer than [`Disk::max_in_flight`] writes in flight.
    fn start_write(&mut self, write: Write);

    /// Gives back one write that has ended, with its buffer. With `wait`, waits for one if any is
    /// in flight. `None` when none has ended, or none is in flight.
    fn next_done(&mut self, wait: bool) -> Option<Done>;

    /// Bytes that this process may still allocate on the file system.
    ///
    /// # Errors
    /// Those of the operating system.
    fn free_space(&mut self) -> io::Result<u64>;

    /// Sleeps until [`Disk::next_done`] may have something to give back, the [`Disk::waker`] is
    /// called, or the time is over. A call made since the last sleep ends this one at once. May
    /// also end for no reason, as it always does on a disk without a waker.
    fn park(&mut self, timeout: Option<Duration>) {
        let _ = timeout;
    }

    /// What other threads end a [`Disk::park`] with, at the price of an atomic operation while
    /// the owner is awake. `None` on a disk that never sleeps.
    fn waker(&self) -> Option<Waker> {
        None
    }
}

/// A durable write to begin.
#[derive(Debug)]
pub struct Write {
    /// Which file.
    pub name: FileName,
    /// Where in it, a multiple of the alignment.
    pub offset: u64,
    /// What; its length is a multiple of the alignment. Shared, so that the store can read what is
    /// on its way.
    pub buf: Arc<AlignedBuf>,
    /// Handed back in [`Done`].
    pub tag: u64,
}

/// A write that has ended.
#[derive(Debug)]
pub struct Done {
    /// The tag it was started with.
    pub tag: u64,
    /// Its buffer, unchanged.
    pub buf: Arc<AlignedBuf>,
    /// `Ok` once all of it is on stable storage. After an error any part of it may be there.
    pub result: io::Result<()>,
}

/// A file of a store's directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FileName {
    /// `ROOT`: where the newest checkpoint begins.
    Root,
    /// `seg-0000000001.log`, ten digits: a segment of the log, numbered from 1.
    Segment(u32),
    /// `bak-0000000001.log`: a segment that nothing needs any more, kept as a backup.
    Backup(u32),
}

impl FileName {
    /// Reads a name as [`fmt::Display`] writes it; `None` for any other.
    pub fn parse(name: &str) -> Option<Self> {
        if name == "ROOT" {
            return Some(Self::Root);
        }
        let (kind, digits) = name.strip_suffix(".log")?.split_once('-')?;
        if digits.len() != 10 || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let number = digits.parse().ok().filter(|&number| number > 0)?;
        match kind {
            "seg" => Some(Self::Segment(number)),
            "bak" => Some(Self::Backup(number)),
            _ => None,
        }
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str("ROOT"),
            Self::Segment(number) => write!(f, "seg-{number:010}.log"),
            Self::Backup(number) => write!(f, "bak-{number:010}.log"),
        }
    }
}

/// Why a directory could not be taken for writing.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LockError {
    /// Another writer has it; stop that one first.
    #[error("the store is in use by process {pid}")]
    Held {
        /// The holder, or 0 where it can't be told.
        pid: u32,
    },
    /// The operating system refused.
    #[error("the store can't be locked: {0}")]
    Io(#[from] io::Error),
}

#[cfg(test)]
mod tests;
