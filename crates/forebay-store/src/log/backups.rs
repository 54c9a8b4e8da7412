//! Backups: dead segments that keep their bytes under another name.
//!
//! Owns how many there are. A segment becomes one as a whole, once nothing in it is pending, by a
//! rename that neither touches what is pending nor needs an idle queue. The oldest ones are used
//! again or removed. A rename or removal that is refused is tried again behind the next checkpoint.

use std::io;

use super::Log;
use crate::{
    disk::{Disk, FileName},
    error::Poisoned,
};

impl<D: Disk> Log<D> {
    /// Makes backups of the dead segments, and removes the oldest backups beyond those to keep
    /// but for one that is used again.
    pub(super) fn keep_dead(&mut self) -> Result<(), Poisoned> {
        let mut changed = false;
        while let Some((number, len)) = self.dead() {
            if len > 0 {
                let (old, new) = (FileName::Segment(number), FileName::Backup(number));
                if let Err(error) = self.disk.rename(old, new) {
                    self.refuse(old, &error);
                    break;
                }
                changed = true;
                self.backups.insert(number, u64::from(len));
            }
            self.segments.remove_first();
        }
        while self.backups.len() > self.options.backups as usize + 1 {
            let Some((&oldest, _)) = self.backups.first_key_value() else {
                break;
            };
            if !self.try_remove(oldest) {
                break;
            }
            changed = true;
        }
        if changed { self.sync_dir() } else { Ok(()) }
    }

    /// The oldest backup, if it is one too many and of this length.
    pub(super) fn spare_backup(&self, len: u64) -> Option<u32> {
        let (&number, &backup_len) = self.backups.first_key_value()?;
        let spare = self.backups.len() > self.options.backups as usize;
        (spare && backup_len == len).then_some(number)
    }

    pub(super) fn forget_backup(&mut self, number: u32) {
        self.backups.remove(&number);
    }

    /// Every backup with its length in bytes, oldest first.
    pub(crate) fn backups(&self) -> impl Iterator<Item = (u32, u64)> {
        self.backups.iter().map(|(&number, &len)| (number, len))
    }

    /// Removes a backup; `false` if the disk refused.
    pub(crate) fn delete_backup(&mut self, number: u32) -> Result<bool, Poisoned> {
        let removed = self.try_remove(number);
        if removed {
            self.sync_dir()?;
        }
        Ok(removed)
    }

    fn try_remove(&mut self, number: u32) -> bool {
        let name = FileName::Backup(number);
        if let Err(error) = self.disk.remove(name) {
            self.refuse(name, &error);
            return false;
        }
        self.backups.remove(&number);
        true
    }

    /// The file that a segment's bytes are in, and its length; 0 if there is none.
    pub(crate) fn file_of(&self, segment: u32) -> (FileName, u64) {
        if let Some(backup) = self.backups.get(&segment) {
            return (FileName::Backup(segment), *backup);
        }
        let len = self.segments.get(segment).map_or(0, |it| it.len);
        (FileName::Segment(segment), u64::from(len))
    }

    pub(super) fn refuse(&mut self, name: FileName, error: &io::Error) {
        self.refused = Some(format!("{name} could not be renamed or removed: {error}"));
    }

    pub(super) fn sync_dir(&mut self) -> Result<(), Poisoned> {
        self.stats.syncs += 1;
        let result = self.disk.sync_dir();
        result.map_err(|error| self.poison("the directory could not be synced", &error))
    }
}
