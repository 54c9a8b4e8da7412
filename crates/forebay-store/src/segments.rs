//! Which segments there are, and how many pending messages have their content in each.

use std::collections::VecDeque;

use crate::index::Entry;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Segment {
    /// Bytes of the file; 0 if there is none.
    pub(crate) len: u32,
    /// Pending messages whose content is in it.
    pub(crate) live: u32,
    /// The frame that took the last of them.
    pub(crate) emptied: u64,
}

/// Segments by number. Those between the first and the last that have no file have length 0.
#[derive(Debug, Default)]
pub(crate) struct Segments {
    first: u32,
    all: VecDeque<Segment>,
}

impl Segments {
    /// Adds a segment that has a file.
    pub(crate) fn add(&mut self, number: u32, len: u32) {
        if let Some(segment) = self.slot(number) {
            segment.len = len;
        }
    }

    /// The segment of a number, made if there is none.
    fn slot(&mut self, number: u32) -> Option<&mut Segment> {
        if self.all.is_empty() {
            self.first = number;
        }
        while number < self.first {
            self.all.push_front(Segment::default());
            self.first -= 1;
        }
        let at = (number - self.first) as usize;
        if at >= self.all.len() {
            self.all.resize(at + 1, Segment::default());
        }
        self.all.get_mut(at)
    }

    pub(crate) fn get(&self, number: u32) -> Option<Segment> {
        let at = number.checked_sub(self.first)?;
        self.all.get(at as usize).copied()
    }

    /// The oldest segment and its number.
    pub(crate) fn first(&self) -> Option<(u32, Segment)> {
        self.all.front().map(|&segment| (self.first, segment))
    }

    /// Forgets the oldest segment.
    pub(crate) fn remove_first(&mut self) {
        let removed = self.all.pop_front();
        debug_assert!(removed.is_some_and(|segment| segment.live == 0));
        self.first += 1;
    }

    /// Counts a message that is now pending.
    #[inline]
    pub(crate) fn count(&mut self, entry: &Entry) {
        if let Some(segment) = self.slot(entry.content().segment) {
            segment.live += 1;
        }
    }

    /// Counts a message that no longer is, since the frame `seq`.
    #[inline]
    pub(crate) fn discount(&mut self, entry: &Entry, seq: u64) {
        let segment = self.slot(entry.content().segment);
        if let Some(segment) = segment {
            debug_assert!(segment.live > 0, "a message is discounted once");
            segment.live = segment.live.saturating_sub(1);
            if segment.live == 0 {
                segment.emptied = seq;
            }
        }
    }

    /// Bytes of all files.
    pub(crate) fn bytes(&self) -> u64 {
        self.all.iter().map(|segment| u64::from(segment.len)).sum()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, Segment)> {
        self.all
            .iter()
            .enumerate()
            .map(|(i, &segment)| (self.first + i as u32, segment))
    }
}
