//! One queue in memory: its pending messages and the list each of them is in.
//!
//! Owns the two lists. A pending message is *inflight* (its content in memory), *queued*
//! (in the index, content on disk) or *not loaded* (in the index too, in neither list). An idle
//! queue has no [`Lists`] and costs about a hundred bytes. Never reads or writes the disk.
//!
//! ```text
//!  append ──▶ queued ──promote──▶ inflight      load: not loaded ──▶ inflight or queued
//!      └────────────────────────▶ inflight      close: either list ──▶ not loaded
//! ```

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use bytes::Bytes;

use crate::{
    index::{self, Entry, Index},
    ranges::Ranges,
    types::{List, Place, QueueId, Rowid},
};

use packet_ids::PacketIds;

mod packet_ids;
mod walk;

/// A message's content and its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// Nanoseconds since 1970.
    pub time: u64,
    /// What was appended.
    pub bytes: Bytes,
}

#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) id: QueueId,
    pub(crate) name: Box<[u8]>,
    /// The rowid of the next message.
    pub(crate) next: Rowid,
    /// The most messages inflight by rule; 0 is no limit.
    pub(crate) max_inflight: u32,
    /// Messages done with since the last rotation.
    pub(crate) done: u32,
    open: bool,
    /// Pending messages that are not inflight.
    index: Index,
    lists: Option<Box<Lists>>,
}

/// What only some queues have.
#[derive(Debug, Default)]
struct Lists {
    inflight: Index<Inflight>,
    /// Packet identifiers of pending messages, 0 left out.
    packet_ids: PacketIds,
    /// Notes of pending messages, empty ones left out.
    notes: BTreeMap<Rowid, Bytes>,
    /// Contents that were asked for of queued messages.
    held: BTreeMap<Rowid, Content>,
    /// Which pending messages are in neither list.
    unloaded: Ranges,
    /// Queued messages that promotion steps over.
    quarantined: BTreeSet<Rowid>,
    /// What the last load could not read.
    failed: Option<Range<Rowid>>,
    /// Rowids whose records are in a damaged part of the log.
    lost: Vec<Range<Rowid>>,
}

#[derive(Debug)]
pub(crate) struct Inflight {
    pub(crate) entry: Entry,
    pub(crate) content: Option<Content>,
}

impl index::Place for Inflight {
    const HOLE: Self = Self {
        entry: Entry::HOLE,
        content: None,
    };

    fn is_hole(&self) -> bool {
        self.entry.is_hole()
    }
}

impl Queue {
    /// A queue without messages: closed.
    pub(crate) fn new(id: QueueId, name: Box<[u8]>, next: Rowid, max_inflight: u32) -> Self {
        Self {
            id,
            name,
            next,
            max_inflight,
            done: 0,
            open: false,
            index: Index::default(),
            lists: None,
        }
    }

    fn lists_mut(&mut self) -> &mut Lists {
        self.lists.get_or_insert_default()
    }

    /// Opens it, with nothing of before in the lists. Does nothing if it is open.
    pub(crate) fn open(&mut self) {
        if !self.open {
            self.open = true;
            if self.pending_len() > 0 {
                let all = Ranges::one(0..self.next);
                self.lists_mut().unloaded = all;
            }
        }
    }

    /// Empties the lists and forgets contents. Pending messages stay pending.
    pub(crate) fn close(&mut self) {
        self.open = false;
        if let Some(lists) = &mut self.lists {
            for (rowid, inflight) in lists.inflight.range(..).rev() {
                self.index.insert(rowid, inflight.entry);
            }
            lists.inflight = Index::default();
            lists.held.clear();
            lists.quarantined.clear();
            lists.unloaded = Ranges::default();
            lists.failed = None;
        }
        self.drop_empty_lists();
    }

    fn drop_empty_lists(&mut self) {
        if self.lists.as_ref().is_some_and(|lists| lists.is_empty()) {
            self.lists = None;
        }
    }

    /// Every pending message, in the lists or not.
    pub(crate) fn pending_len(&self) -> usize {
        self.index.len() + self.inflight_len()
    }

    pub(crate) fn inflight_len(&self) -> usize {
        self.lists.as_ref().map_or(0, |lists| lists.inflight.len())
    }

    pub(crate) fn queued_len(&self) -> usize {
        if !self.open {
            return 0;
        }
        let unloaded = self.unloaded().map_or(0, |ranges| {
            ranges
                .iter()
                .map(|range| self.index.range(range).count())
                .sum()
        });
        self.index.len() - unloaded
    }

    /// The lowest pending rowid, or the next rowid if nothing is pending.
    pub(crate) fn first_pending(&self) -> Rowid {
        let inflight = self
            .lists
            .as_ref()
            .and_then(|lists| Some(lists.inflight.range(..).next()?.0));
        let waiting = self.index.range(..).next().map(|(rowid, _)| rowid);
        inflight
            .into_iter()
            .chain(waiting)
            .min()
            .unwrap_or(self.next)
    }

    fn unloaded(&self) -> Option<&Ranges> {
        self.lists
            .as_ref()
            .map(|lists| &lists.unloaded)
            .filter(|ranges| !ranges.is_empty())
    }

    pub(crate) fn is_pending(&self, rowid: Rowid) -> bool {
        self.get(rowid).is_some()
    }

    /// A pending message, in the lists or not.
    pub(crate) fn get(&self, rowid: Rowid) -> Option<&Entry> {
        let inflight = self
            .lists
            .as_ref()
            .and_then(|lists| lists.inflight.get(rowid));
        inflight
            .map(|inflight| &inflight.entry)
            .or_else(|| self.index.get(rowid))
    }

    fn get_mut(&mut self, rowid: Rowid) -> Option<&mut Entry> {
        let inflight = self
            .lists
            .as_mut()
            .and_then(|lists| lists.inflight.get_mut(rowid));
        match inflight {
            Some(inflight) => Some(&mut inflight.entry),
            None => self.index.get_mut(rowid),
        }
    }

    pub(crate) fn list_of(&self, rowid: Rowid) -> Option<List> {
        if let Some(lists) = &self.lists {
            if lists.inflight.get(rowid).is_some() {
                return Some(List::Inflight);
            }
            if lists.unloaded.contains(rowid) {
                return None;
            }
        }
        (self.open && self.index.get(rowid).is_some()).then_some(List::Queued)
    }

    /// Whether the rule puts a message that comes now into the inflight list.
    fn rule_is_inflight(&self) -> bool {
        self.has_room() && self.index.len() == 0
    }

    pub(crate) fn has_room(&self) -> bool {
        self.max_inflight == 0 || self.inflight_len() < self.max_inflight as usize
    }

    /// Adds the message with the next rowid. Its content is asked for if it goes inflight.
    pub(crate) fn append(
        &mut self,
        entry: Entry,
        note: &[u8],
        place: Place,
        content: impl FnOnce() -> Option<Content>,
    ) -> Rowid {
        let rowid = self.next;
        let inflight = match place {
            Place::ByRule => self.rule_is_inflight(),
            Place::Inflight => true,
            Place::Queued => false,
        };
        if self.open && inflight {
            self.add(rowid, None, entry, note);
            let content = content();
            self.lists_mut()
                .inflight
                .insert(rowid, Inflight { entry, content });
        } else {
            self.add(rowid, Some(entry), entry, note);
        }
        self.next += 1;
        rowid
    }

    /// Adds a message of the past to those that are not loaded, whatever its rowid.
    pub(crate) fn restore(&mut self, rowid: Rowid, entry: Entry, note: &[u8]) {
        debug_assert!(!self.open, "a queue is restored before it is opened");
        self.add(rowid, Some(entry), entry, note);
        self.next = self.next.max(rowid + 1);
    }

    fn add(&mut self, rowid: Rowid, indexed: Option<Entry>, entry: Entry, note: &[u8]) {
        if let Some(entry) = indexed {
            self.index.insert(rowid, entry);
        }
        if entry.packet_id != 0 {
            self.lists_mut().packet_ids.insert(entry.packet_id, rowid);
        }
        if !note.is_empty() {
            self.lists_mut()
                .notes
                .insert(rowid, Bytes::copy_from_slice(note));
        }
    }

    /// Sets flag and packet identifier of a pending message.
    pub(crate) fn set_flag(&mut self, rowid: Rowid, flag: crate::UserFlag, packet_id: u16) -> bool {
        let Some(entry) = self.get_mut(rowid) else {
            return false;
        };
        let old = std::mem::replace(&mut entry.packet_id, packet_id);
        entry.flag = flag;
        if old != packet_id {
            let lists = self.lists_mut();
            lists.packet_ids.remove(old, rowid);
            if packet_id != 0 {
                lists.packet_ids.insert(packet_id, rowid);
            }
        }
        true
    }

    /// Says that a pending message's content is elsewhere; gives the entry as it was.
    pub(crate) fn set_content(
        &mut self,
        rowid: Rowid,
        at: crate::record::ContentRef,
    ) -> Option<Entry> {
        let entry = self.get_mut(rowid)?;
        let old = *entry;
        entry.set_content(at);
        Some(old)
    }

    /// Takes a message out, wherever it is.
    pub(crate) fn remove(&mut self, rowid: Rowid) -> Option<Entry> {
        let inflight = self
            .lists
            .as_mut()
            .and_then(|lists| lists.inflight.remove(rowid));
        let entry = match inflight {
            Some(inflight) => inflight.entry,
            None => self.index.remove(rowid)?,
        };
        if let Some(lists) = &mut self.lists {
            lists.packet_ids.remove(entry.packet_id, rowid);
            lists.notes.remove(&rowid);
            lists.held.remove(&rowid);
            lists.quarantined.remove(&rowid);
            self.drop_empty_lists();
        }
        Some(entry)
    }

    /// Moves a message that is queued or not loaded to the inflight list.
    pub(crate) fn make_inflight(&mut self, rowid: Rowid, content: Option<Content>) {
        debug_assert!(self.open);
        if let Some(entry) = self.index.remove(rowid) {
            let lists = self.lists_mut();
            let content = lists.held.remove(&rowid).or(content);
            lists.quarantined.remove(&rowid);
            lists.inflight.insert(rowid, Inflight { entry, content });
        }
    }

    /// Which pending messages are in neither list, in rowid order.
    pub(crate) fn unloaded_rowids(&self) -> impl Iterator<Item = (Rowid, &Entry)> {
        let ranges = self.unloaded();
        ranges
            .into_iter()
            .flat_map(Ranges::iter)
            .flat_map(|range| self.index.range(range))
    }

    /// Ends a load: of those that were in neither list, only these still are.
    pub(crate) fn set_unloaded(&mut self, unloaded: Ranges, failed: Option<Range<Rowid>>) {
        if self.lists.is_some() || !unloaded.is_empty() || failed.is_some() {
            let lists = self.lists_mut();
            lists.unloaded = unloaded;
            lists.failed = failed;
            lists.quarantined.clear();
            self.drop_empty_lists();
        }
    }

    /// Pending messages with a packet identifier, in the order of those.
    pub(crate) fn with_packet_id(&self) -> impl Iterator<Item = Rowid> {
        self.lists.iter().flat_map(|lists| lists.packet_ids.iter())
    }

    /// The message in the lists that has a packet identifier: inflight first, then queued.
    pub(crate) fn find_packet_id(&self, packet_id: u16) -> Option<Rowid> {
        let ids = &self.lists.as_ref()?.packet_ids;
        let find = |list| {
            ids.with(packet_id)
                .find(|&rowid| self.list_of(rowid) == Some(list))
        };
        find(List::Inflight).or_else(|| find(List::Queued))
    }

    pub(crate) fn note(&self, rowid: Rowid) -> Bytes {
        let note = self
            .lists
            .as_ref()
            .and_then(|lists| lists.notes.get(&rowid));
        note.cloned().unwrap_or_default()
    }

    /// The content in memory of a message, if it is.
    pub(crate) fn content(&self, rowid: Rowid) -> Option<&Content> {
        let lists = self.lists.as_ref()?;
        let inflight = lists
            .inflight
            .get(rowid)
            .and_then(|inflight| inflight.content.as_ref());
        inflight.or_else(|| lists.held.get(&rowid))
    }

    /// Keeps a content with its message, if that is in a list.
    pub(crate) fn hold(&mut self, rowid: Rowid, content: Content) {
        match self.list_of(rowid) {
            Some(List::Inflight) => {
                if let Some(inflight) = self.lists_mut().inflight.get_mut(rowid) {
                    inflight.content = Some(content);
                }
            }
            Some(List::Queued) => drop(self.lists_mut().held.insert(rowid, content)),
            None => {}
        }
    }

    /// Steps over a queued message in promotions, until the next load.
    pub(crate) fn quarantine(&mut self, rowid: Rowid) -> bool {
        self.list_of(rowid) == Some(List::Queued) && self.lists_mut().quarantined.insert(rowid)
    }

    /// What the last load could not read.
    pub(crate) fn failed(&self) -> Option<Range<Rowid>> {
        self.lists.as_ref()?.failed.clone()
    }

    /// Notes that the records of a range of rowids can't be read.
    pub(crate) fn lose(&mut self, range: Range<Rowid>) {
        self.lists_mut().lost.push(range);
    }

    pub(crate) fn lost(&self) -> Option<Range<Rowid>> {
        let lost = &self.lists.as_ref()?.lost;
        Some(lost.first()?.start..lost.last()?.end)
    }
}

impl Lists {
    fn is_empty(&self) -> bool {
        self.inflight.len() == 0
            && self.packet_ids.is_empty()
            && self.notes.is_empty()
            && self.held.is_empty()
            && self.unloaded.is_empty()
            && self.quarantined.is_empty()
            && self.failed.is_none()
            && self.lost.is_empty()
    }
}
