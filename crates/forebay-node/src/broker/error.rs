//! Why a broker did not start, or stopped.

use std::{
    io,
    path::{Path, PathBuf},
};

use forebay_proto::RestoreError;
use forebay_store::{OpenError, Poisoned};
use thiserror::Error;

use super::door::At;
use crate::net::TlsError;

/// Why a broker did not start, or stopped before it was asked to.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// Something else listens there: stop it, or choose another address.
    #[error("address {address} is in use")]
    AddressInUse {
        /// Which address.
        address: At,
    },
    /// The system doesn't let the broker listen there: correct the address or the rights.
    #[error("can't listen at {address}")]
    Listen {
        /// Which address.
        address: At,
        /// Why.
        source: io::Error,
    },
    /// Certificate or key can't be used: correct them.
    #[error("TLS can't be used")]
    Tls {
        /// Which, and why.
        source: TlsError,
    },
    /// The data directory can't be made, read or written: correct its path or its rights.
    #[error("data directory {}", path.display())]
    DataDir {
        /// Which directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another process uses the data directory: stop that one first.
    #[error("data directory {} is in use by process {pid}", path.display())]
    Locked {
        /// Which directory.
        path: PathBuf,
        /// The process, 0 where it can't be told.
        pid: u32,
    },
    /// The store is damaged where it was acknowledged. Nothing was changed.
    #[error("{} is damaged at byte {offset}: {what}", file.display())]
    Damaged {
        /// Which file.
        file: PathBuf,
        /// Where in it, bytes.
        offset: u64,
        /// What is wrong there.
        what: &'static str,
    },
    /// The store was written by a newer release: use that one. Nothing was changed.
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
    /// A row of the store is not one that this release writes. Nothing was changed.
    #[error("the store can't be understood")]
    Row {
        /// Which row, and why.
        source: RestoreError,
    },
    /// A write failed, so what is on the disk is uncertain. Nothing was acknowledged since.
    /// A start reads what is there.
    #[error("a write to the store failed")]
    Poisoned {
        /// What failed.
        source: Poisoned,
    },
    /// The system refused a thread or a timer.
    #[error("can't start")]
    System {
        /// Why.
        source: io::Error,
    },
}

impl RunError {
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
            OpenError::Io { ref source, .. } => {
                let kind = source.kind();
                let source = io::Error::new(kind, error);
                Self::DataDir {
                    path: dir.to_owned(),
                    source,
                }
            }
            source @ (OpenError::Options(_) | _) => Self::Store { source },
        }
    }
}
