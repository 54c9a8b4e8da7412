//! The backups of a store: what rotation has kept of the messages that are done with.

use std::{ops::RangeInclusive, path::Path};

use forebay_proto::Direction;
use forebay_store::{BackupError, BackupInfo, FileName, Poisoned, Restored};
use thiserror::Error;

use super::{
    error::InspectError,
    look::{Look, own},
};
use crate::kept;

/// A backup.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackupRow {
    /// The name of its file.
    pub name: String,
    /// Bytes of it.
    pub bytes: u64,
}

/// Why a backup was not restored or deleted.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// The store can't be had, or has no such backup or queue.
    #[error(transparent)]
    Inspect(#[from] InspectError),
    /// What a client sent can't be taken a second time: it is known by a packet identifier that is
    /// used again by now.
    #[error("what came from a client can't come from it again")]
    Inbound,
    /// The store refused, as for want of room. Messages before this one are restored.
    #[error("the store refused")]
    Store(#[from] BackupError),
    /// A write failed: look at the disk.
    #[error("a write failed")]
    Poisoned(#[from] Poisoned),
}

/// The backups of the store in `dir`, oldest first.
///
/// # Errors
/// When nothing of the store can be read.
pub fn backups(dir: &Path) -> Result<Vec<BackupRow>, InspectError> {
    let look = Look::open(dir)?;
    let backups = look.store.backups().map(|it| BackupRow {
        name: it.name.to_string(),
        bytes: it.bytes,
    });
    Ok(backups.collect())
}

/// Puts the messages of a queue that are in a backup and whose rowids are wanted into the queue
/// again, behind what it has. No broker may run on the store.
///
/// # Errors
/// [`RestoreError`]; nothing was restored unless it says so.
pub fn restore(
    dir: &Path,
    backup: &str,
    queue: &[u8],
    rowids: &RangeInclusive<u64>,
) -> Result<Restored, RestoreError> {
    let mut store = own(dir, false)?;
    let name = find(store.backups(), backup)?;
    let Some(id) = store.queue(queue) else {
        let name = queue.to_vec();
        return Err(InspectError::NoQueue { name }.into());
    };
    if matches!(kept::owner(queue), Some((_, Direction::In))) {
        return Err(RestoreError::Inbound);
    }
    let restored = store.restore_backup(name, id, |it| rowids.contains(&it.rowid))?;
    store.sync()?;
    Ok(restored)
}

/// Deletes a backup. No broker may run on the store.
///
/// # Errors
/// [`RestoreError`]; the backup is still there.
pub fn delete_backup(dir: &Path, backup: &str) -> Result<(), RestoreError> {
    let mut store = own(dir, false)?;
    let name = find(store.backups(), backup)?;
    Ok(store.delete_backup(name)?)
}

/// The backup that is meant by its name, with `.log` or without.
pub(super) fn find(
    mut among: impl Iterator<Item = BackupInfo>,
    typed: &str,
) -> Result<FileName, InspectError> {
    let wanted = FileName::parse(typed).or_else(|| FileName::parse(&format!("{typed}.log")));
    among
        .find(|it| Some(it.name) == wanted)
        .map(|it| it.name)
        .ok_or_else(|| InspectError::NoBackup {
            name: typed.to_owned(),
        })
}
