//! The lists of a queue: opening, loading, promoting, looking up.

use std::ops::{Bound, Range, RangeBounds};

use bytes::Bytes;

use super::Store;
use crate::{
    disk::Disk,
    error::{ContentError, LoadError, PromoteError},
    flag::UserFlag,
    queue::{Content, Queue},
    ranges::Ranges,
    types::{List, Place, QueueId, Rowid},
};

/// How many messages a load put where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Into the inflight list.
    pub inflight: u64,
    /// Into the queued list.
    pub queued: u64,
}

/// A pending message without its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageInfo {
    /// Its place in the queue.
    pub rowid: Rowid,
    /// Its flag; always pending.
    pub flag: UserFlag,
    /// Its packet identifier, 0 for none.
    pub packet_id: u16,
    /// The list it is in; `None` before a load.
    pub list: Option<List>,
    /// What was kept with it for this queue alone.
    pub note: Bytes,
    /// Length of its content, bytes.
    pub len: u32,
}

impl<D: Disk> Store<D> {
    /// Opens a queue with empty lists: what was pending before is there after a load. Does
    /// nothing to one that is open. `false` where there is none.
    pub fn open_queue(&mut self, queue: QueueId) -> bool {
        self.state.queues.get_mut(queue).map(Queue::open).is_some()
    }

    /// Empties the lists of a queue. On disk nothing changes.
    pub fn close_queue(&mut self, queue: QueueId) {
        if let Some(queue) = self.state.queues.get_mut(queue) {
            queue.close();
        }
    }

    /// The most messages that rules put inflight; 0 is no limit.
    pub fn set_max_inflight(&mut self, queue: QueueId, max: u32) {
        if let Some(queue) = self.state.queues.get_mut(queue) {
            queue.max_inflight = max;
        }
    }

    /// Brings every pending message into the lists, in order: inflight while there is room, or
    /// all queued with [`Place::Queued`].
    ///
    /// # Errors
    /// When not every one could be read. Those that could are in the lists; the others stay
    /// pending, and the queue says that its load failed until one succeeds.
    pub fn load(&mut self, queue: QueueId, place: Place) -> Result<Loaded, LoadError> {
        self.load_and_tell(queue, place, None)
    }

    /// As [`Store::load`], and shows each message as it comes into a list.
    ///
    /// # Errors
    /// As [`Store::load`].
    pub fn load_traced(
        &mut self,
        queue: QueueId,
        place: Place,
        mut each: impl FnMut(&MessageInfo),
    ) -> Result<Loaded, LoadError> {
        self.load_and_tell(queue, place, Some(&mut each))
    }

    fn load_and_tell(
        &mut self,
        queue: QueueId,
        place: Place,
        mut each: Option<&mut dyn FnMut(&MessageInfo)>,
    ) -> Result<Loaded, LoadError> {
        let traced = each.is_some();
        let mut tell = |it: Option<MessageInfo>, list| {
            if let (Some(each), Some(mut it)) = (each.as_mut(), it) {
                it.list = Some(list);
                each(&it);
            }
        };
        let it = self
            .state
            .queues
            .get_mut(queue)
            .ok_or(LoadError::NoQueue { queue })?;
        it.open();
        let waiting: Vec<Rowid> = it.unloaded_rowids().map(|(rowid, _)| rowid).collect();
        let mut loaded = Loaded::default();
        let mut unread = Ranges::default();
        let mut first_error = None;
        for rowid in waiting {
            let Some(it) = self.state.queues.get(queue) else {
                break;
            };
            let wants_content = match place {
                Place::ByRule => it.has_room() && loaded.queued == 0,
                Place::Inflight => true,
                Place::Queued => false,
            };
            if !wants_content {
                loaded.queued += 1;
                if traced {
                    tell(self.message(queue, rowid), List::Queued);
                }
                continue;
            }
            match self.read(queue, rowid) {
                Ok(content) => {
                    if let Some(it) = self.state.queues.get_mut(queue) {
                        it.make_inflight(rowid, Some(content));
                        loaded.inflight += 1;
                    }
                    if traced {
                        tell(self.message(queue, rowid), List::Inflight);
                    }
                }
                Err(error) => {
                    unread.push(rowid);
                    first_error.get_or_insert(error);
                }
            }
        }
        let Some(it) = self.state.queues.get_mut(queue) else {
            return Err(LoadError::NoQueue { queue });
        };
        let failed: Option<Range<Rowid>> = unread
            .iter()
            .next()
            .zip(unread.iter().next_back())
            .map(|(first, last)| first.start..last.end);
        it.set_unloaded(unread, failed.clone());
        match (failed, first_error, it.lost()) {
            (Some(range), Some(source), _) => Err(LoadError::Incomplete {
                range,
                loaded,
                source,
            }),
            (_, _, Some(range)) => Err(LoadError::Lost { range, loaded }),
            _ => Ok(loaded),
        }
    }

    /// Moves a queued message to the inflight list, its content read first.
    ///
    /// # Errors
    /// When it is not queued, the list is full, or its content can't be read; it stays queued.
    pub fn promote(&mut self, queue: QueueId, rowid: Rowid) -> Result<Content, PromoteError> {
        let it = self
            .state
            .queues
            .get(queue)
            .ok_or(PromoteError::NotQueued { rowid })?;
        if it.list_of(rowid) != Some(List::Queued) {
            return Err(PromoteError::NotQueued { rowid });
        }
        if !it.has_room() {
            return Err(PromoteError::WindowFull);
        }
        let content = self
            .read(queue, rowid)
            .map_err(|source| PromoteError::Unreadable { rowid, source })?;
        if let Some(it) = self.state.queues.get_mut(queue) {
            it.make_inflight(rowid, Some(content.clone()));
        }
        Ok(content)
    }

    /// Steps over a queued message in [`Store::next_queued`] until the next load.
    pub fn quarantine(&mut self, queue: QueueId, rowid: Rowid) -> bool {
        self.state
            .queues
            .get_mut(queue)
            .is_some_and(|it| it.quarantine(rowid))
    }

    /// The queued message that is promoted next.
    pub fn next_queued(&self, queue: QueueId) -> Option<Rowid> {
        self.state.queues.get(queue)?.next_queued()
    }

    /// A pending message, in a list or not.
    pub fn message(&self, queue: QueueId, rowid: Rowid) -> Option<MessageInfo> {
        let it = self.state.queues.get(queue)?;
        let entry = it.get(rowid)?;
        Some(MessageInfo {
            rowid,
            flag: entry.flag,
            packet_id: entry.packet_id,
            list: it.list_of(rowid),
            note: it.note(rowid),
            len: entry.content().len,
        })
    }

    /// The message in the lists with a packet identifier: inflight first, then queued.
    pub fn by_packet_id(&self, queue: QueueId, packet_id: u16) -> Option<MessageInfo> {
        let rowid = self.state.queues.get(queue)?.find_packet_id(packet_id)?;
        self.message(queue, rowid)
    }

    /// The message in the lists with a rowid.
    pub fn by_rowid(&self, queue: QueueId, rowid: Rowid) -> Option<MessageInfo> {
        self.message(queue, rowid).filter(|it| it.list.is_some())
    }

    /// Pending messages with a packet identifier, in order of rowid.
    pub fn with_packet_id(&self, queue: QueueId) -> Vec<Rowid> {
        let it = self.state.queues.get(queue);
        let mut rowids: Vec<Rowid> = it.into_iter().flat_map(Queue::with_packet_id).collect();
        rowids.sort_unstable();
        rowids
    }

    /// The rowids of a list within a range, in order, from either end. For forward iteration
    /// that changes the list, ask again from behind the last one.
    pub fn list(
        &self,
        queue: QueueId,
        list: List,
        rowids: impl RangeBounds<Rowid>,
    ) -> impl DoubleEndedIterator<Item = Rowid> {
        let (from, to) = (rowids.start_bound().cloned(), rowids.end_bound().cloned());
        let it = self.state.queues.get(queue);
        it.into_iter().flat_map(move |it| it.list(list, from, to))
    }

    /// The content of a pending message, kept in memory with it if it is in a list.
    ///
    /// # Errors
    /// When it is not pending or can't be read.
    pub fn content(&mut self, queue: QueueId, rowid: Rowid) -> Result<Content, ContentError> {
        let content = self.read(queue, rowid)?;
        if let Some(it) = self.state.queues.get_mut(queue) {
            it.hold(rowid, content.clone());
        }
        Ok(content)
    }

    /// The content of a pending message, not kept.
    fn read(&mut self, queue: QueueId, rowid: Rowid) -> Result<Content, ContentError> {
        let it = self
            .state
            .queues
            .get(queue)
            .ok_or(ContentError::NotPending)?;
        if let Some(content) = it.content(rowid) {
            return Ok(content.clone());
        }
        let at = it.get(rowid).ok_or(ContentError::NotPending)?.content();
        self.log.read_content(at)
    }

    /// The first message of a list after a rowid.
    pub fn next(&self, queue: QueueId, list: List, after: Rowid) -> Option<Rowid> {
        self.list(queue, list, (Bound::Excluded(after), Bound::Unbounded))
            .next()
    }
}
