//! Messages of a queue that are done with beside those that are pending, for whoever looks.
//!
//! What is done with is nowhere but in the log, for as long as its segment lives. Nothing of a
//! queue changes here: not its lists, and not where a load begins.

use std::{collections::BTreeMap, ops::RangeBounds};

use bytes::Bytes;

use super::Store;
use crate::{
    disk::{Disk, FileName},
    error::{ContentError, LoadAllError},
    flag::UserFlag,
    index::Entry,
    options::Access,
    queue::Content,
    record::{ContentRef, Record, Records, read_content},
    types::{List, Outcome, QueueId, Rowid},
};

/// A message as [`Store::load_all`] finds it, pending or done with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspected {
    /// Its place in the queue.
    pub rowid: Rowid,
    /// Nanoseconds since 1970; `None` where its content can't be read any more.
    pub time: Option<u64>,
    /// Its flag as it was last, pending or not.
    pub flag: UserFlag,
    /// Its packet identifier, 0 for none.
    pub packet_id: u16,
    /// The list it is in; `None` for one that is done with or not loaded.
    pub list: Option<List>,
    /// Why it left its queue; `None` while it is pending, and where the record of it is lost.
    pub outcome: Option<Outcome>,
    /// What was kept with it for this queue alone.
    pub note: Bytes,
    /// Length of its content, bytes.
    pub len: u32,
    at: ContentRef,
}

/// What [`Store::load_all`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inspection {
    /// The messages, in order of rowid.
    pub messages: Vec<Inspected>,
    /// Files that could not be read: where there are some, messages that are done with may be
    /// missing. Pending ones never are.
    pub unread: Vec<FileName>,
}

impl Inspected {
    /// The segment that its content is in.
    pub(super) fn segment(&self) -> u32 {
        self.at.segment
    }

    fn new(rowid: Rowid, entry: &Entry, note: Bytes) -> Self {
        let at = entry.content();
        Self {
            rowid,
            time: None,
            flag: entry.flag,
            packet_id: entry.packet_id,
            list: None,
            outcome: None,
            note,
            len: at.len,
            at,
        }
    }
}

impl<D: Disk> Store<D> {
    /// Finds the messages of a queue in a range of rowids, those that are done with too as far as
    /// the log still has them. Waits until what was committed is on disk, and then reads the whole
    /// log: for inspection, not for work. The queue stays as it is, open or not.
    ///
    /// # Errors
    /// When there is no such queue, or a write failed: the process must end then.
    pub fn load_all(
        &mut self,
        queue: QueueId,
        rowids: impl RangeBounds<Rowid>,
    ) -> Result<Inspection, LoadAllError> {
        if self.state.queues.get(queue).is_none() {
            return Err(LoadAllError::NoQueue { queue });
        }
        if self.access == Access::Write {
            self.sync()?;
        }
        let (mut found, mut unread) = (BTreeMap::new(), Vec::new());
        for segment in self.log.written_segments() {
            let each = |records: Records<'_>| gather(records, queue, &rowids, &mut found);
            if self.log.scan(segment, each).is_err() {
                unread.push(self.log.file_of(segment).0);
            }
        }
        self.overlay(queue, &rowids, &mut found);
        let mut messages: Vec<Inspected> = found.into_values().collect();
        for message in &mut messages {
            if message.time.is_none() {
                message.time = self.inspected_content(message).ok().map(|it| it.time);
            }
        }
        Ok(Inspection { messages, unread })
    }

    /// As [`Store::load_all`], in a range of times, nanoseconds since 1970. Messages whose time
    /// can't be read any more are left out.
    ///
    /// # Errors
    /// As [`Store::load_all`].
    pub fn load_all_by_time(
        &mut self,
        queue: QueueId,
        times: impl RangeBounds<u64>,
    ) -> Result<Inspection, LoadAllError> {
        let mut all = self.load_all(queue, ..)?;
        all.messages
            .retain(|it| it.time.is_some_and(|time| times.contains(&time)));
        Ok(all)
    }

    /// The content of a message that was found so, not kept.
    ///
    /// # Errors
    /// When it can't be read, as where its segment is gone.
    pub fn inspected_content(&mut self, message: &Inspected) -> Result<Content, ContentError> {
        self.log.read_content(message.at)
    }

    /// Sets right what the log says of pending messages by what is known of them.
    fn overlay(
        &self,
        queue: QueueId,
        rowids: &impl RangeBounds<Rowid>,
        found: &mut BTreeMap<Rowid, Inspected>,
    ) {
        let Some(it) = self.state.queues.get(queue) else {
            return;
        };
        for message in found.values_mut() {
            message.flag = message.flag.with_pending(false);
        }
        for (rowid, entry) in it.pending_below(it.next, it.pending_len()) {
            if rowids.contains(&rowid) {
                let mut message = Inspected::new(rowid, &entry, it.note(rowid));
                message.list = it.list_of(rowid);
                message.time = found.get(&rowid).and_then(|logged| logged.time);
                found.insert(rowid, message);
            }
        }
    }
}

/// Applies the records of a frame to what was found in those before.
fn gather(
    records: Records<'_>,
    of: QueueId,
    rowids: &impl RangeBounds<Rowid>,
    found: &mut BTreeMap<Rowid, Inspected>,
) {
    let wanted = |queue: QueueId, rowid: Rowid| queue == of && rowids.contains(&rowid);
    let mut last = None;
    for record in records.map_while(Result::ok) {
        match record {
            Record::Content { at, stored } => {
                last = read_content(stored).map(|(time, _)| (at, time));
            }
            Record::Entry {
                queue,
                rowid,
                entry,
                note,
            } if wanted(queue, rowid) => {
                let mut message = Inspected::new(rowid, &entry, Bytes::copy_from_slice(note));
                let same = last.filter(|(at, _)| *at == message.at);
                message.time = same.map(|(_, time)| time);
                found.insert(rowid, message);
            }
            Record::Run { queue, entries } if queue == of => {
                for (rowid, entry, note) in entries.filter(|(rowid, ..)| rowids.contains(rowid)) {
                    let mut message = Inspected::new(rowid, &entry, Bytes::copy_from_slice(note));
                    message.time = found.get(&rowid).and_then(|known| known.time);
                    found.insert(rowid, message);
                }
            }
            Record::Flag {
                queue,
                rowid,
                flag,
                packet_id,
            } if queue == of => {
                if let Some(message) = found.get_mut(&rowid) {
                    (message.flag, message.packet_id) = (flag, packet_id);
                }
            }
            Record::Finish {
                queue,
                rowid,
                outcome,
            } if queue == of => {
                if let Some(message) = found.get_mut(&rowid) {
                    message.outcome = Some(outcome);
                }
            }
            Record::Moved { queue, rowid, to } if queue == of => {
                if let Some(message) = found.get_mut(&rowid) {
                    message.at = to;
                }
            }
            Record::CreateQueue { .. }
            | Record::DropQueue { .. }
            | Record::Entry { .. }
            | Record::Flag { .. }
            | Record::Finish { .. }
            | Record::Put { .. }
            | Record::Delete { .. }
            | Record::Writer { .. }
            | Record::Begin { .. }
            | Record::End { .. }
            | Record::QueueImage { .. }
            | Record::Run { .. }
            | Record::Moved { .. } => {}
        }
    }
}
