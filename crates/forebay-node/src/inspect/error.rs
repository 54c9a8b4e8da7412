//! Why nothing can be seen, and what was not seen.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use forebay_store::{ContentError, Damage, FileName, OpenError};
use thiserror::Error;

/// Why a store could not be looked into, or not be written to.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InspectError {
    /// The directory, or a file in it, can't be read, or there is no store in it: correct the
    /// path or the rights.
    #[error("data directory {}", path.display())]
    DataDir {
        /// Which directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another process writes the store: stop that one first.
    #[error("data directory {} is in use by process {pid}", path.display())]
    Locked {
        /// Which directory.
        path: PathBuf,
        /// The process, 0 where it can't be told.
        pid: u32,
    },
    /// The store is damaged where all reading begins.
    #[error("{} is damaged at byte {offset}: {what}", file.display())]
    Damaged {
        /// Which file.
        file: PathBuf,
        /// Where in it, bytes.
        offset: u64,
        /// What is wrong there.
        what: &'static str,
    },
    /// The store was written by a newer release: use that one.
    #[error("the store was written by a newer release")]
    NewerFormat {
        /// What is newer, and where.
        source: OpenError,
    },
    /// The store can't be opened for another reason, which the text names.
    #[error("the store can't be opened")]
    Store {
        /// Why.
        source: OpenError,
    },
    /// There is no backup of that name: the list of backups has those there are.
    #[error("there is no backup {name}")]
    NoBackup {
        /// Which name.
        name: String,
    },
    /// There is no queue of that name: the list of queues has those there are.
    #[error("there is no queue {}", String::from_utf8_lossy(name))]
    NoQueue {
        /// Which name.
        name: Vec<u8>,
    },
}

impl InspectError {
    /// Why the store in `dir` was not opened, by what there is to do about it.
    pub(super) fn of_open(error: OpenError, dir: &Path) -> Self {
        match error {
            OpenError::Locked { pid } => Self::Locked {
                path: dir.to_owned(),
                pid,
            },
            OpenError::Damaged(damage) => Self::Damaged {
                file: dir.join(damage.file.to_string()),
                offset: damage.offset,
                what: damage.what,
            },
            OpenError::Newer { .. } | OpenError::UnknownRecord { .. } => {
                Self::NewerFormat { source: error }
            }
            OpenError::Io { ref source, .. } => Self::DataDir {
                path: dir.to_owned(),
                source: io::Error::new(source.kind(), error),
            },
            source @ (OpenError::Options(_) | _) => Self::Store { source },
        }
    }
}

/// Something that should be there and could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// The file it is in, where that is known.
    pub file: Option<String>,
    /// Where in that file, bytes.
    pub offset: Option<u64>,
    /// The queue it belongs to, where it belongs to one.
    pub queue: Option<Vec<u8>>,
    /// The first and the last rowid that are or may be concerned.
    pub rowids: Option<(u64, u64)>,
    /// What is wrong.
    pub what: String,
}

impl Fault {
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self {
            file: None,
            offset: None,
            queue: None,
            rowids: None,
            what: what.into(),
        }
    }

    fn at(file: FileName, offset: u64, what: impl Into<String>) -> Self {
        Self {
            file: Some(file.to_string()),
            offset: Some(offset),
            ..Self::new(what)
        }
    }

    pub(super) fn of_damage(damage: &Damage) -> Self {
        Self::at(damage.file, damage.offset, damage.what)
    }

    /// A file that could not be read to its end.
    pub(super) fn unread(file: FileName) -> Self {
        Self {
            file: Some(file.to_string()),
            ..Self::new("the file can't be read to its end")
        }
    }

    /// The content of a message could not be read.
    pub(super) fn of_content(error: &ContentError, queue: &[u8], rowid: u64) -> Self {
        let it = match error {
            ContentError::Damaged { file, offset } => {
                Self::at(*file, *offset, "the content does not check")
            }
            ContentError::Io {
                file,
                offset,
                source,
            } => Self::at(
                *file,
                *offset,
                format!("the content can't be read: {source}"),
            ),
            ContentError::NotPending | _ => Self::new(error.to_string()),
        };
        it.in_queue(queue, (rowid, rowid))
    }

    /// Whether this is about the same place.
    pub(super) fn is_at(&self, other: &Self) -> bool {
        (&self.file, self.offset, &self.queue, self.rowids)
            == (&other.file, other.offset, &other.queue, other.rowids)
    }

    pub(super) fn in_queue(self, queue: &[u8], rowids: (u64, u64)) -> Self {
        Self {
            queue: Some(queue.to_vec()),
            rowids: Some(rowids),
            ..self
        }
    }
}

/// What is wrong and where, without the queue, whose name may hold anything.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match (&self.file, self.offset) {
            (Some(file), Some(offset)) => write!(f, " at byte {offset} of {file}")?,
            (Some(file), None) => write!(f, ": {file}")?,
            (None, _) => {}
        }
        match self.rowids {
            Some((first, last)) if first == last => write!(f, ", message {first}"),
            Some((first, last)) => write!(f, ", messages {first} to {last}"),
            None => Ok(()),
        }
    }
}
