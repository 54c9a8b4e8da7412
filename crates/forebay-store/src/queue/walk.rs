//! The messages of a queue in the order of their numbers.
//!
//! Owns what goes through the lists of a [`Queue`] without changing them.

use std::ops::Bound;

use super::Queue;
use crate::{
    index::Entry,
    types::{List, Rowid},
};

impl Queue {
    /// The queued message that is promoted next.
    pub(crate) fn next_queued(&self) -> Option<Rowid> {
        let skip = |rowid: &Rowid| {
            self.lists
                .as_ref()
                .is_some_and(|lists| lists.quarantined.contains(rowid))
        };
        self.queued(Bound::Unbounded, Bound::Unbounded)
            .find(|rowid| !skip(rowid))
    }

    /// Rowids of the queued list, in order, from either end.
    fn queued(
        &self,
        from: Bound<Rowid>,
        to: Bound<Rowid>,
    ) -> impl DoubleEndedIterator<Item = Rowid> {
        let range = if self.open {
            (from, to)
        } else {
            (Bound::Included(0), Bound::Excluded(0))
        };
        let unloaded = self.unloaded();
        let rowids = self.index.range(range).map(|(rowid, _)| rowid);
        rowids.filter(move |&rowid| unloaded.is_none_or(|ranges| !ranges.contains(rowid)))
    }

    /// Rowids of a list between bounds, in order, from either end.
    pub(crate) fn list(
        &self,
        list: List,
        from: Bound<Rowid>,
        to: Bound<Rowid>,
    ) -> impl DoubleEndedIterator<Item = Rowid> {
        let inflight = (list == List::Inflight)
            .then_some(self.lists.as_ref())
            .flatten();
        let inflight = inflight
            .into_iter()
            .flat_map(move |lists| lists.inflight.range((from, to)));
        let queued = (list == List::Queued).then(|| self.queued(from, to));
        inflight
            .map(|(rowid, _)| rowid)
            .chain(queued.into_iter().flatten())
    }

    /// Up to `count` pending messages below a rowid, the highest ones, in rowid order.
    pub(crate) fn pending_below(&self, below: Rowid, count: usize) -> Vec<(Rowid, Entry)> {
        let indexed = self
            .index
            .range(..below)
            .rev()
            .take(count)
            .map(|(rowid, e)| (rowid, *e));
        let mut found: Vec<_> = indexed.collect();
        if let Some(lists) = &self.lists {
            let inflight = lists.inflight.range(..below).rev().take(count);
            found.extend(inflight.map(|(rowid, inflight)| (rowid, inflight.entry)));
            found.sort_unstable_by_key(|&(rowid, _)| rowid);
            found.drain(..found.len().saturating_sub(count));
        } else {
            found.reverse();
        }
        found
    }

    /// Every pending message, in any order.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        let inflight = self.lists.iter().flat_map(|lists| lists.inflight.range(..));
        inflight
            .map(|(_, inflight)| &inflight.entry)
            .chain(self.index.range(..).map(|(_, entry)| entry))
    }
}
