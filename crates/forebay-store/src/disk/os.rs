//! A real directory on Linux, with several durable writes in flight.
//!
//! Owns the choice of how writes are made, which falls from one driver to the next when the system
//! refuses it; the file format is the same under all of them. Files are mode 0600 and the
//! directory 0700. A write that failed is reported once and never made again. Two descriptors at
//! most are open for each of a few files, however many there are.

use std::{collections::VecDeque, fmt, io, path::Path, sync::Arc, task::Waker, time::Duration};

use self::{directory::Directory, inline::Inline, ring::Ring, threads::Threads};
use super::{AlignedBuf, Disk, Done, FileName, LockError, Write};

mod directory;
mod inline;
mod mailbox;
mod ring;
mod signal;
mod threads;

/// The unit of reads and writes. Devices that can only tear between 4096-byte sectors exist, and
/// some that say 512 rewrite the 4096 around it, neighbours included.
const ALIGNMENT: usize = 4096;

/// More writes in flight than any disk gains from.
const IN_FLIGHT_MAX: usize = 64;

/// How an [`OsDisk`] makes its durable writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Driver {
    /// Synchronous direct writes through an io_uring. The fastest.
    IoUring,
    /// `pwritev2` with `RWF_DSYNC` in one thread for each write in flight.
    Pwritev2,
    /// A plain write and `fdatasync`, one at a time, in the thread of the caller.
    Fdatasync,
}

impl fmt::Display for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::IoUring => "io_uring",
            Self::Pwritev2 => "pwritev2",
            Self::Fdatasync => "fdatasync",
        })
    }
}

/// What to ask of an [`OsDisk`].
#[derive(Clone, Copy, Debug)]
pub struct OsOptions {
    /// The best driver to use; those after it in [`Driver`]'s order follow if it is refused.
    pub driver: Driver,
    /// Writes in flight at once, 1 to 64; others are brought into that range.
    pub max_in_flight: usize,
    /// Whether to make the directory where it is missing.
    pub create: bool,
}

impl Default for OsOptions {
    fn default() -> Self {
        Self {
            driver: Driver::IoUring,
            max_in_flight: 4,
            create: true,
        }
    }
}

impl OsOptions {
    /// Options for reading a store beside its writer: makes nothing, starts nothing.
    #[must_use]
    pub fn reader() -> Self {
        Self {
            driver: Driver::Fdatasync,
            max_in_flight: 1,
            create: false,
        }
    }
}

/// One way to make durable writes.
trait Writer: Send {
    /// Begins a write to an open file.
    fn start(&mut self, file: Arc<std::fs::File>, write: Write);
    /// As [`Disk::next_done`]; never called with nothing in flight.
    fn next_done(&mut self, wait: bool) -> Option<Done>;
    /// As [`Disk::park`].
    fn park(&mut self, timeout: Option<Duration>);
    /// As [`Disk::waker`].
    fn waker(&self) -> Waker;
}

/// A directory of the operating system. See [`Disk`].
///
/// Dropping it waits for the writes in flight, and gives the lock back.
pub struct OsDisk {
    // First, so that it is dropped first: the lock goes after the last write has ended.
    writer: Box<dyn Writer>,
    directory: Directory,
    driver: Driver,
    refused: Vec<(Driver, io::Error)>,
    max_in_flight: usize,
    in_flight: usize,
    /// Writes that failed before they began.
    failed: VecDeque<Done>,
}

impl OsDisk {
    /// Opens a directory and chooses the driver. It takes no lock: see [`Disk::lock`].
    ///
    /// # Errors
    /// Those of the operating system; `NotFound` when the directory is missing and the options
    /// don't say to make it.
    pub fn open(path: impl AsRef<Path>, options: OsOptions) -> io::Result<Self> {
        let max_in_flight = options.max_in_flight.clamp(1, IN_FLIGHT_MAX);
        let mut refused = Vec::new();
        let mut chosen: Option<(Driver, Box<dyn Writer>)> = None;
        if options.driver <= Driver::IoUring {
            match Ring::new(max_in_flight) {
                Ok(ring) => chosen = Some((Driver::IoUring, Box::new(ring))),
                Err(error) => refused.push((Driver::IoUring, error)),
            }
        }
        if chosen.is_none() && options.driver <= Driver::Pwritev2 {
            match Threads::new(max_in_flight) {
                Ok(threads) => chosen = Some((Driver::Pwritev2, Box::new(threads))),
                Err(error) => refused.push((Driver::Pwritev2, error)),
            }
        }
        let (driver, writer) =
            chosen.unwrap_or_else(|| (Driver::Fdatasync, Box::new(Inline::default())));
        let directory = Directory::open(path.as_ref(), options.create, driver)?;
        Ok(Self {
            writer,
            directory,
            driver,
            refused,
            max_in_flight,
            in_flight: 0,
            failed: VecDeque::new(),
        })
    }

    /// How durable writes are made.
    pub fn driver(&self) -> Driver {
        self.driver
    }

    /// The better drivers that the system refused, with its reasons.
    pub fn refused(&self) -> &[(Driver, io::Error)] {
        &self.refused
    }

    /// Whether writes go past the page cache. Known once the directory is locked or a file is
    /// open for writing; true where nothing has spoken against it.
    pub fn direct(&self) -> bool {
        self.directory.direct()
    }

    /// The directory's path, as it was given.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

impl fmt::Debug for OsDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OsDisk")
            .field("path", &self.path())
            .field("driver", &self.driver)
            .field("in_flight", &self.in_flight)
            .finish_non_exhaustive()
    }
}

impl Disk for OsDisk {
    fn alignment(&self) -> usize {
        ALIGNMENT
    }

    fn max_in_flight(&self) -> usize {
        self.max_in_flight
    }

    fn lock(&mut self) -> Result<(), LockError> {
        self.directory.lock()
    }

    fn list(&mut self) -> io::Result<Vec<(FileName, u64)>> {
        self.directory.list()
    }

    fn create(&mut self, name: FileName, len: u64) -> io::Result<()> {
        self.directory.create(name, len)
    }

    fn rename(&mut self, from: FileName, to: FileName) -> io::Result<()> {
        self.directory.rename(from, to)
    }

    fn remove(&mut self, name: FileName) -> io::Result<()> {
        self.directory.remove(name)
    }

    fn sync_dir(&mut self) -> io::Result<()> {
        self.directory.sync()
    }

    fn read_at(&mut self, name: FileName, offset: u64, buf: &mut AlignedBuf) -> io::Result<()> {
        self.directory.read_at(name, offset, buf)
    }

    fn start_write(&mut self, write: Write) {
        self.in_flight += 1;
        match self.directory.file_to_write(write.name) {
            Ok(file) => self.writer.start(file, write),
            Err(error) => self.failed.push_back(Done {
                tag: write.tag,
                buf: write.buf,
                result: Err(error),
            }),
        }
    }

    fn next_done(&mut self, wait: bool) -> Option<Done> {
        if self.in_flight == 0 {
            return None;
        }
        let done = self
            .failed
            .pop_front()
            .or_else(|| self.writer.next_done(wait))?;
        self.in_flight -= 1;
        Some(done)
    }

    fn free_space(&mut self) -> io::Result<u64> {
        self.directory.free_space()
    }

    fn park(&mut self, timeout: Option<Duration>) {
        if self.failed.is_empty() {
            self.writer.park(timeout);
        }
    }

    fn waker(&self) -> Option<Waker> {
        Some(self.writer.waker())
    }
}

#[cfg(test)]
mod tests;
