//! Messages of one queue, found by rowid: the pending ones with 16 bytes each, or those inflight.
//!
//! Owns two parts: a dense run of entries whose place gives the rowid, and a sparse map for the
//! few that stayed behind while those after them went. All sparse rowids are below the dense
//! ones. Holes in the dense run are at most half of it, so one stuck message costs one map entry,
//! however many finish behind it. Never knows which list a message is in.

use std::{
    collections::{BTreeMap, VecDeque},
    ops::RangeBounds,
};

use crate::{flag::UserFlag, record::ContentRef, types::Rowid};

/// Below this many places, holes don't matter.
const SMALL: usize = 32;

/// What memory keeps of a pending message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// 0 marks a hole.
    segment: u32,
    offset: u32,
    len: u32,
    pub(crate) flag: UserFlag,
    pub(crate) packet_id: u16,
}

const _: () = assert!(size_of::<Entry>() == 16);

/// What a place of an [`Index`] holds.
pub(crate) trait Place {
    /// What is there where nothing is.
    const HOLE: Self;

    /// Whether nothing is there.
    fn is_hole(&self) -> bool;
}

impl Place for Entry {
    const HOLE: Self = Self {
        segment: 0,
        offset: 0,
        len: 0,
        flag: UserFlag::from_bits(0),
        packet_id: 0,
    };

    #[inline]
    fn is_hole(&self) -> bool {
        self.segment == 0
    }
}

impl Entry {
    pub(crate) fn new(at: ContentRef, flag: UserFlag, packet_id: u16) -> Self {
        debug_assert!(at.segment != 0);
        Self {
            segment: at.segment,
            offset: at.offset,
            len: at.len,
            flag,
            packet_id,
        }
    }

    pub(crate) fn content(&self) -> ContentRef {
        ContentRef {
            segment: self.segment,
            offset: self.offset,
            len: self.len,
        }
    }

    pub(crate) fn set_content(&mut self, at: ContentRef) {
        *self = Self::new(at, self.flag, self.packet_id);
    }
}

#[derive(Debug)]
#[expect(
    clippy::box_collection,
    reason = "most queues have none, and eight bytes for it are enough"
)]
pub(crate) struct Index<T = Entry> {
    /// The rowid of the first dense place.
    base: Rowid,
    dense: VecDeque<T>,
    holes: u32,
    sparse: Option<Box<BTreeMap<Rowid, T>>>,
}

impl<T> Default for Index<T> {
    fn default() -> Self {
        Self {
            base: 0,
            dense: VecDeque::new(),
            holes: 0,
            sparse: None,
        }
    }
}

impl<T: Place> Index<T> {
    /// How many entries there are.
    pub(crate) fn len(&self) -> usize {
        self.sparse_len() + self.dense_len()
    }

    fn sparse_len(&self) -> usize {
        self.sparse.as_ref().map_or(0, |sparse| sparse.len())
    }

    fn dense_len(&self) -> usize {
        self.dense.len() - self.holes as usize
    }

    fn end(&self) -> Rowid {
        self.base + self.dense.len() as u64
    }

    fn place(&self, rowid: Rowid) -> Option<usize> {
        rowid.checked_sub(self.base)?.try_into().ok()
    }

    pub(crate) fn get(&self, rowid: Rowid) -> Option<&T> {
        if rowid < self.base {
            return self.sparse.as_ref()?.get(&rowid);
        }
        self.dense
            .get(self.place(rowid)?)
            .filter(|entry| !entry.is_hole())
    }

    pub(crate) fn get_mut(&mut self, rowid: Rowid) -> Option<&mut T> {
        if rowid < self.base {
            return self.sparse.as_mut()?.get_mut(&rowid);
        }
        let place = self.place(rowid)?;
        self.dense.get_mut(place).filter(|entry| !entry.is_hole())
    }

    /// Adds an entry, or replaces the one with that rowid.
    pub(crate) fn insert(&mut self, rowid: Rowid, entry: T) {
        debug_assert!(!entry.is_hole());
        if self.dense.is_empty() && self.sparse_last().is_none_or(|last| last < rowid) {
            self.base = rowid;
        }
        // As many holes as there are entries may be made to keep the run dense.
        let bridge = self.dense_len().max(SMALL) as u64;
        if rowid >= self.end() {
            let gap = rowid - self.end();
            if gap > bridge {
                self.spill(0);
                self.base = rowid;
            } else {
                self.bridge_back(gap);
            }
            self.grow();
            self.dense.push_back(entry);
        } else if rowid >= self.base {
            let place = self.place(rowid).unwrap_or_default();
            if let Some(old) = self.dense.get_mut(place) {
                self.holes -= u32::from(old.is_hole());
                *old = entry;
            }
        } else if self.base - rowid <= bridge && self.sparse_last().is_none_or(|l| l < rowid) {
            while self.base - rowid > 1 {
                self.grow();
                self.dense.push_front(T::HOLE);
                self.holes += 1;
                self.base -= 1;
            }
            self.grow();
            self.dense.push_front(entry);
            self.base -= 1;
        } else {
            self.sparse.get_or_insert_default().insert(rowid, entry);
        }
    }

    fn bridge_back(&mut self, gap: u64) {
        for _ in 0..gap {
            self.grow();
            self.dense.push_back(T::HOLE);
            self.holes += 1;
        }
    }

    /// Makes room for one more with an eighth to spare, where a plain push would double.
    fn grow(&mut self) {
        if self.dense.len() == self.dense.capacity() {
            self.dense.reserve_exact((self.dense.len() / 8).max(2));
        }
    }

    pub(crate) fn remove(&mut self, rowid: Rowid) -> Option<T> {
        if rowid < self.base {
            let sparse = self.sparse.as_mut()?;
            let entry = sparse.remove(&rowid);
            if sparse.is_empty() {
                self.sparse = None;
            }
            return entry;
        }
        let place = self.place(rowid)?;
        let entry = self.dense.get_mut(place).filter(|entry| !entry.is_hole())?;
        let removed = std::mem::replace(entry, T::HOLE);
        self.holes += 1;
        self.tidy();
        Some(removed)
    }

    /// Drops the holes at the ends; moves stragglers at the front out of a run that is mostly
    /// holes; gives memory back.
    fn tidy(&mut self) {
        if self.dense.len() > SMALL && self.holes as usize * 2 > self.dense.len() {
            self.spill(self.dense.len() / 4);
        }
        while self.dense.front().is_some_and(Place::is_hole) {
            self.dense.pop_front();
            self.holes -= 1;
            self.base += 1;
        }
        while self.dense.back().is_some_and(Place::is_hole) {
            self.dense.pop_back();
            self.holes -= 1;
        }
        if self.dense.capacity() > SMALL.max(4 * self.dense.len()) {
            self.dense.shrink_to(2 * self.dense.len());
        }
    }

    /// Moves entries from the front to the sparse part until at most `holes` holes are left.
    fn spill(&mut self, holes: usize) {
        while self.holes as usize > holes || (holes == 0 && !self.dense.is_empty()) {
            let Some(entry) = self.dense.pop_front() else {
                break;
            };
            if entry.is_hole() {
                self.holes -= 1;
            } else {
                self.sparse.get_or_insert_default().insert(self.base, entry);
            }
            self.base += 1;
        }
    }

    fn sparse_last(&self) -> Option<Rowid> {
        self.sparse
            .as_ref()?
            .last_key_value()
            .map(|(&rowid, _)| rowid)
    }

    /// Entries in a range of rowids, in order, from either end.
    pub(crate) fn range(
        &self,
        range: impl RangeBounds<Rowid>,
    ) -> impl DoubleEndedIterator<Item = (Rowid, &T)> {
        use std::ops::Bound::{Excluded, Included, Unbounded};
        let from = match range.start_bound() {
            Included(&rowid) => rowid,
            Excluded(&rowid) => rowid.saturating_add(1),
            Unbounded => 0,
        };
        let to = match range.end_bound() {
            Included(&rowid) => rowid.saturating_add(1),
            Excluded(&rowid) => rowid,
            Unbounded => Rowid::MAX,
        }
        .max(from);
        let place = |rowid: Rowid| (rowid.clamp(self.base, self.end()) - self.base) as usize;
        let (first, last) = (place(from), place(to));
        let base = self.base;
        let dense = self.dense.range(first..last).enumerate();
        let dense = dense.map(move |(i, entry)| (base + (first + i) as u64, entry));
        let sparse = self
            .sparse
            .iter()
            .flat_map(move |sparse| sparse.range(from..to));
        sparse
            .map(|(&rowid, entry)| (rowid, entry))
            .chain(dense.filter(|(_, entry)| !entry.is_hole()))
    }
}

#[cfg(test)]
mod tests;
