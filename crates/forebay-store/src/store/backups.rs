//! Rotation, and the backups that it leaves.
//!
//! A rotation goes on in a new segment and empties all those before it as a pass of compaction
//! does, beside the work of the queues; with the checkpoint behind it what is left in them, which
//! is done with, becomes backups or free space. Where [`Options::backups`](crate::Options) keeps
//! some, a segment is one generation.

use super::{Inspected, Store};
use crate::{
    batch::Batch,
    disk::{Disk, FileName},
    error::{BackupError, RotateError},
    flag::State,
    types::{Place, QueueId},
};

/// A backup: what was written while one segment was the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupInfo {
    /// Its name: always [`FileName::Backup`].
    pub name: FileName,
    /// Bytes of its file.
    pub bytes: u64,
}

/// What [`Store::restore_backup`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Messages that are pending anew, under new rowids.
    pub messages: u64,
    /// Messages whose content can't be read.
    pub unreadable: u64,
}

impl<D: Disk> Store<D> {
    /// Begins a rotation: what is done with by now leaves the log, as [`Store::poll`] goes on.
    /// What is pending stays pending, and nothing waits for it.
    ///
    /// # Errors
    /// Where something pending can't be read: then nothing is moved and nothing removed.
    pub fn rotate(&mut self) -> Result<(), RotateError> {
        self.log.check()?;
        let failed = self.state.queues.iter();
        let failed = failed.filter_map(|queue| Some((queue.id, queue.failed()?)));
        if let Some((queue, rowids)) = failed.into_iter().next() {
            return Err(RotateError::LoadFailed { queue, rowids });
        }
        if let Some(file) = self.pinned() {
            return Err(RotateError::Unreadable { file });
        }
        let head = self.log.go_on_in_another()?;
        self.empty_before(head);
        self.state.restart_rotation();
        Ok(())
    }

    /// Whether a rotation or a pass of compaction is under way.
    pub fn is_rotating(&self) -> bool {
        self.is_compacting()
    }

    /// Why segments or backups that should go or change their names could not, if so; it is tried
    /// again.
    pub fn refused(&self) -> Option<&str> {
        self.log.refused.as_deref()
    }

    /// The backups there are, oldest first.
    pub fn backups(&self) -> impl Iterator<Item = BackupInfo> {
        self.log.backups().map(|(number, bytes)| BackupInfo {
            name: FileName::Backup(number),
            bytes,
        })
    }

    /// The messages of a queue whose content is in a backup and that are done with, in order of
    /// rowid. Reads the whole log.
    ///
    /// # Errors
    /// When there is no such backup or queue.
    pub fn load_backup(
        &mut self,
        name: FileName,
        queue: QueueId,
    ) -> Result<Vec<Inspected>, BackupError> {
        let number = self.backup_number(name)?;
        let mut found = self.load_all(queue, ..)?.messages;
        found.retain(|message| message.segment() == number && !message.flag.pending());
        Ok(found)
    }

    /// Appends messages of a backup to their queue again, those that `wanted` says: queued, with
    /// a new rowid, without a packet identifier. They are durable with the next [`Store::sync`].
    ///
    /// # Errors
    /// As [`Store::load_backup`], and when a message can't be appended: those before it are.
    pub fn restore_backup(
        &mut self,
        name: FileName,
        queue: QueueId,
        mut wanted: impl FnMut(&Inspected) -> bool,
    ) -> Result<Restored, BackupError> {
        let mut restored = Restored::default();
        for message in self.load_backup(name, queue)? {
            if !wanted(&message) {
                continue;
            }
            let Ok(content) = self.inspected_content(&message) else {
                restored.unreadable += 1;
                continue;
            };
            let flag = message.flag.with_state(State::Queued).with_dup(false);
            let mut batch = Batch::new();
            batch.content(content.time, content.bytes).append(
                queue,
                flag,
                0,
                message.note,
                Place::ByRule,
            );
            self.commit(&batch)?;
            restored.messages += 1;
        }
        Ok(restored)
    }

    /// Deletes a backup.
    ///
    /// # Errors
    /// When there is no such backup, or the disk refused: it is still there then.
    pub fn delete_backup(&mut self, name: FileName) -> Result<(), BackupError> {
        let number = self.backup_number(name)?;
        if self.log.delete_backup(number)? {
            Ok(())
        } else {
            Err(BackupError::Refused {
                why: self.log.refused.clone().unwrap_or_default(),
            })
        }
    }

    fn backup_number(&self, name: FileName) -> Result<u32, BackupError> {
        let found = self.log.backups().map(|(number, _)| number);
        found
            .into_iter()
            .find(|&number| name == FileName::Backup(number))
            .ok_or(BackupError::NoBackup { name })
    }
}
