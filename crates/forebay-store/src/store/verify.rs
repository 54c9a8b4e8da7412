//! Whether everything that was written can still be read.

use super::Store;
use crate::{
    disk::{Disk, FileName},
    error::{ContentError, Damage, Poisoned},
    log::Chain,
    types::{QueueId, Rowid},
};

/// What [`Store::verify`] found.
#[derive(Debug, Default)]
pub struct Verified {
    /// Frames that were looked for and found, whole or not.
    pub frames: u64,
    /// Bytes of the segments and backups that were read.
    pub bytes: u64,
    /// Pending messages whose content was read.
    pub messages: u64,
    /// What is not as it was written.
    pub damage: Vec<Damage>,
    /// Files that could not be read to their end.
    pub unread: Vec<FileName>,
    /// Pending messages whose content can't be read.
    pub unreadable: Vec<(QueueId, Rowid, ContentError)>,
}

impl<D: Disk> Store<D> {
    /// Reads everything: both slots of `ROOT`, every frame of every segment and backup, and the
    /// content of every pending message, and compares every checksum. Changes nothing. `progress`
    /// is told how much is done of how much, in bytes and, behind them, messages.
    ///
    /// # Errors
    /// When a write failed: the process must end then. Never with
    /// [`Access::Read`](crate::Access::Read).
    pub fn verify(&mut self, mut progress: impl FnMut(u64, u64)) -> Result<Verified, Poisoned> {
        if self.access == crate::Access::Write {
            self.sync()?;
        }
        let mut found = Verified::default();
        let mut chain = Chain::default();
        if self.log.verify_root(&mut chain).is_err() {
            found.unread.push(FileName::Root);
        }
        let segments = self.log.written_segments();
        let bytes = segments.iter().map(|&it| self.log.file_of(it).1);
        let all = bytes.sum::<u64>() + self.state.pending();
        for segment in segments {
            let (file, len) = self.log.file_of(segment);
            if self.log.verify_segment(segment, &mut chain).is_err() {
                found.unread.push(file);
            }
            found.bytes += len;
            progress(found.bytes, all);
        }
        (found.frames, found.damage) = (chain.frames, chain.damage);
        let queues: Vec<QueueId> = self.state.queues.iter().map(|it| it.id).collect();
        for queue in queues {
            let Some(it) = self.state.queues.get(queue) else {
                continue;
            };
            let pending: Vec<_> = it
                .pending_below(it.next, it.pending_len())
                .into_iter()
                .rev()
                .map(|(rowid, entry)| (rowid, entry.content()))
                .collect();
            for (rowid, at) in pending {
                match self.log.read_content(at) {
                    Ok(_) => found.messages += 1,
                    Err(error) => found.unreadable.push((queue, rowid, error)),
                }
                let messages = found.messages + found.unreadable.len() as u64;
                progress(found.bytes + messages, all);
            }
        }
        Ok(found)
    }
}
