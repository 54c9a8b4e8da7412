//! A store made anew from what can be read of another: what repair stands on.
//!
//! Queues keep their numbers, names and next rowids; messages their rowids, flags, packet
//! identifiers and notes. What is done with stays behind. Until the last checkpoint of the copy is
//! durable there is nothing in it that counts.

use std::collections::HashMap;

use super::{Store, compact::ENTRY_TOLD};
use crate::{
    disk::Disk,
    error::{CommitError, CopyError, Poisoned},
    index::Entry,
    options::{Access, Options},
    queue::Queue,
    record::{self, CONTENT_HEAD, ContentRef},
    types::{QueueId, Rowid},
};

/// Bytes that may wait for the disk.
const STAGED_MAX: usize = 4 << 20;
/// Contents whose place is remembered for the other queues that have them. One that is met again
/// after it was forgotten is written again.
const PLACES_MAX: usize = 1 << 20;

/// What a copy took along, and what it could not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Queues.
    pub queues: u64,
    /// Pending messages.
    pub messages: u64,
    /// Rows of tables.
    pub rows: u64,
    /// Pending messages whose content can't be read, left behind.
    pub unreadable: Vec<(QueueId, Rowid)>,
}

impl<D: Disk> Store<D> {
    /// Makes a new store in an empty directory of everything that can be read of this one, and
    /// calls `progress` with the messages copied, now and then. This one stays as it is.
    ///
    /// # Errors
    /// When the directory is not empty, or what is copied can't be written. What is in it then is
    /// of no use.
    pub fn copy_to<E: Disk>(
        &mut self,
        mut disk: E,
        options: &Options,
        mut progress: impl FnMut(u64),
    ) -> Result<Copied, CopyError> {
        if !disk.list()?.is_empty() {
            return Err(CopyError::NotEmpty);
        }
        let options = Options {
            access: Access::Write,
            ..options.clone()
        };
        let (mut to, _) = Store::open(disk, options)?;
        let mut copied = Copied::default();
        for (table, key, value) in self.state.tables.iter() {
            to.state.tables.put(table, key.clone(), value.clone());
            copied.rows += 1;
        }
        to.state.next_queue = self.state.next_queue;
        let ids: Vec<QueueId> = self.state.queues.iter().map(|queue| queue.id).collect();
        let mut places = HashMap::new();
        for id in ids {
            let Some(queue) = self.state.queues.get(id) else {
                continue;
            };
            let pending = queue.pending_below(queue.next, queue.pending_len());
            let same = Queue::new(id, queue.name.clone(), queue.next, queue.max_inflight);
            to.state.queues.insert(same);
            copied.queues += 1;
            for (rowid, entry) in pending {
                if self.copy_message(&mut to, (id, rowid), &entry, &mut places)? {
                    copied.messages += 1;
                } else {
                    copied.unreadable.push((id, rowid));
                }
                if copied.messages % 4096 == 0 {
                    progress(copied.messages);
                }
            }
        }
        to.sync()?;
        let before = to.stats().checkpoints;
        to.checkpoint()?;
        if to.stats().checkpoints == before {
            return Err(CommitError::Full.into());
        }
        progress(copied.messages);
        Ok(copied)
    }

    /// Copies one message; `false` where its content can't be read.
    fn copy_message<E: Disk>(
        &mut self,
        to: &mut Store<E>,
        (id, rowid): (QueueId, Rowid),
        entry: &Entry,
        places: &mut HashMap<(u32, u32), ContentRef>,
    ) -> Result<bool, CopyError> {
        let old = entry.content();
        let at = if let Some(at) = places.get(&(old.segment, old.offset)) {
            *at
        } else {
            let held = self.state.queues.get(id).and_then(|it| it.content(rowid));
            let content = match held.cloned() {
                Some(content) => content,
                None => match self.log.read_content(old) {
                    Ok(content) => content,
                    Err(_) => return Ok(false),
                },
            };
            let at = to.write_content(content.time, &content.bytes)?;
            if places.len() == PLACES_MAX {
                places.clear();
            }
            places.insert((old.segment, old.offset), at);
            at
        };
        let note = self.state.queues.get(id).map(|it| it.note(rowid));
        let entry = Entry::new(at, entry.flag, entry.packet_id);
        let row = (rowid, entry, &*note.unwrap_or_default());
        to.state.restore(&mut to.log.segments, id, row);
        Ok(true)
    }

    /// Writes a content that nothing refers to yet.
    fn write_content(&mut self, time: u64, bytes: &[u8]) -> Result<ContentRef, CommitError> {
        while self.log.staged_bytes() > STAGED_MAX {
            self.log.poll(true)?;
        }
        let len = record::bound(bytes.len() + CONTENT_HEAD);
        let told = self.state.pending() * ENTRY_TOLD;
        if !self.log.has_room_for_data(len, told) {
            return Err(CommitError::Full);
        }
        self.log.reserve(len)?;
        let Some((_, segment, frame, buf)) = self.log.frame() else {
            let reason = "no frame is open".into();
            return Err(Poisoned { reason }.into());
        };
        let offset = frame + record::write_content(buf, time, bytes) as u32;
        Ok(ContentRef {
            segment,
            offset,
            len: bytes.len() as u32,
        })
    }
}
