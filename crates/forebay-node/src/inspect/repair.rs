//! A damaged store made good: what can be read of it in a new one, in its place.
//!
//! Owns the order of the steps, at each of which a crash leaves the damaged store whole, under its
//! own name or beside a good one. Nothing is ever deleted.

use std::{
    ffi::OsString,
    fs::{self, File},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, chown},
    path::{Path, PathBuf},
};

use forebay_store::{CopyError, Disk, LockError, OpenError, OsDisk, OsOptions};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use thiserror::Error;

use super::{
    check::{Checked, check},
    error::{Fault, InspectError},
    look::{self, Look},
};

/// What a repair did.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Repaired {
    /// Pending messages that the store has now: all that could be read.
    pub messages: u64,
    /// Its queues.
    pub queues: u64,
    /// What could not be read, and is missing now.
    pub lost: Vec<Fault>,
    /// Where the damaged store is kept.
    pub damaged: PathBuf,
}

/// What a repair is at, and how much of how much is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// Reading the damaged store, bytes.
    Check(u64, u64),
    /// Copying, messages.
    Copy(u64, u64),
    /// Reading the copy, bytes.
    ReadBack(u64, u64),
}

/// Why a store was not repaired. It is as it was.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RepairError {
    /// The store can't be had, or nothing of it can be read.
    #[error(transparent)]
    Inspect(#[from] InspectError),
    /// Something would be lost, and that was not accepted.
    #[error("{} faults, and what they hold would be lost", .0.len())]
    Loss(Vec<Fault>),
    /// The new store can't be written: make room beside the old one, for all that is pending in it.
    #[error("the copy in {} can't be written", dir.display())]
    Copy {
        /// Where it was to be.
        dir: PathBuf,
        /// Why not.
        source: CopyError,
    },
    /// The new store does not hold what was copied: look at the disk.
    #[error("the copy in {} does not read as it was written", dir.display())]
    Unlike {
        /// Where it is.
        dir: PathBuf,
    },
    /// The new store is whole, but can't take the place of the old one, as where that is a file
    /// system of its own.
    #[error("the repaired store in {} can't be put in the place of the damaged one", dir.display())]
    Place {
        /// Where it is.
        dir: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The file system refused something else.
    #[error("{}", path.display())]
    Io {
        /// About what.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Repairs the store in `dir`, from which nothing may run: what can be read of it goes into a new
/// store, that takes its place, and the damaged one stays beside it as `<dir>.damaged-<stamp>`.
/// `None` where there was nothing to repair.
///
/// # Errors
/// [`RepairError::Loss`] unless `accept_loss`; others when it can't be done.
pub fn repair(
    dir: &Path,
    stamp: &str,
    accept_loss: bool,
    mut progress: impl FnMut(Step),
) -> Result<Option<Repaired>, RepairError> {
    let _lock = lock(dir)?;
    let found = check(dir, |done, all| progress(Step::Check(done, all)))?;
    if found.faults.is_empty() {
        return Ok(None);
    }
    if !accept_loss {
        return Err(RepairError::Loss(found.faults));
    }
    // The name of a directory is what its path ends in, wherever that leads.
    let dir = fs::canonicalize(dir).map_err(|source| io_error(dir, source))?;
    let new = beside(&dir, "repair", stamp);
    let copy = copy(&dir, &new, &found, &mut progress)?;
    let damaged = beside(&dir, "damaged", stamp);
    exchange(&dir, &new, &damaged)?;
    Ok(Some(Repaired {
        messages: copy.messages,
        queues: copy.queues,
        lost: found.faults,
        damaged,
    }))
}

/// Keeps every writer away.
fn lock(dir: &Path) -> Result<OsDisk, InspectError> {
    let not_opened = |source| InspectError::DataDir {
        path: dir.to_owned(),
        source,
    };
    let mut disk = OsDisk::open(dir, OsOptions::reader()).map_err(not_opened)?;
    match disk.lock() {
        Ok(()) => Ok(disk),
        Err(LockError::Held { pid }) => Err(InspectError::of_open(OpenError::Locked { pid }, dir)),
        Err(LockError::Io(source)) => Err(not_opened(source)),
        Err(other) => Err(not_opened(io::Error::other(other))),
    }
}

/// Makes a store of what can be read, with the rights of the old one, and reads it back.
fn copy(
    dir: &Path,
    new: &Path,
    found: &Checked,
    progress: &mut impl FnMut(Step),
) -> Result<Checked, RepairError> {
    let mut maker = fs::DirBuilder::new();
    let made = maker.mode(0o700).create(new);
    made.map_err(|source| io_error(new, source))?;
    let disk = OsDisk::open(new, OsOptions::default());
    let disk = disk.map_err(|source| io_error(new, source))?;
    let mut look = Look::open(dir)?;
    let copied = look
        .store
        .copy_to(disk, &look::options(dir), |done| {
            progress(Step::Copy(done, found.messages));
        })
        .map_err(|source| RepairError::Copy {
            dir: new.to_owned(),
            source,
        })?;
    same_rights(dir, new).map_err(|source| io_error(new, source))?;
    let copy = check(new, |done, all| progress(Step::ReadBack(done, all)))?;
    let is_like =
        copy.faults.is_empty() && (copy.messages, copy.queues) == (copied.messages, copied.queues);
    if is_like {
        Ok(copy)
    } else {
        Err(RepairError::Unlike {
            dir: new.to_owned(),
        })
    }
}

/// Gives a store to who has another.
fn same_rights(of: &Path, to: &Path) -> io::Result<()> {
    let owner = fs::metadata(of)?;
    for entry in fs::read_dir(to)? {
        chown(entry?.path(), Some(owner.uid()), Some(owner.gid()))?;
    }
    chown(to, Some(owner.uid()), Some(owner.gid()))?;
    fs::set_permissions(to, owner.permissions())?;
    File::open(to)?.sync_all()
}

/// Puts the store in `new` in the place of that in `dir`, which is in `damaged` then.
fn exchange(dir: &Path, new: &Path, damaged: &Path) -> Result<(), RepairError> {
    let fails = |at: &Path| {
        let at = at.to_owned();
        move |source| RepairError::Place { dir: at, source }
    };
    // The new one takes the name that is meant for the old one first, so that at no moment the
    // damaged store has a name that says it is not needed.
    fs::rename(new, damaged).map_err(fails(new))?;
    renameat_with(CWD, dir, CWD, damaged, RenameFlags::EXCHANGE)
        .map_err(|errno| fails(damaged)(errno.into()))?;
    let parent = dir.parent().unwrap_or(Path::new("/"));
    let synced = File::open(parent).and_then(|it| it.sync_all());
    synced.map_err(|source| io_error(parent, source))
}

fn beside(dir: &Path, what: &str, stamp: &str) -> PathBuf {
    let mut path = OsString::from(dir);
    path.push(format!(".{what}-{stamp}"));
    path.into()
}

fn io_error(path: &Path, source: io::Error) -> RepairError {
    RepairError::Io {
        path: path.to_owned(),
        source,
    }
}
