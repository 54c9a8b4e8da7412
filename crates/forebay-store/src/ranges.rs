//! A small set of rowids, kept as ranges.

use std::ops::Range;

use crate::types::Rowid;

/// Disjoint ranges in order, each without its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ranges(Vec<Range<Rowid>>);

impl Ranges {
    pub(crate) fn one(range: Range<Rowid>) -> Self {
        Self(if range.is_empty() {
            Vec::new()
        } else {
            vec![range]
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn contains(&self, rowid: Rowid) -> bool {
        let after = self.0.partition_point(|range| range.start <= rowid);
        let range = after.checked_sub(1).and_then(|i| self.0.get(i));
        range.is_some_and(|range| range.contains(&rowid))
    }

    /// Adds a rowid above all others.
    pub(crate) fn push(&mut self, rowid: Rowid) {
        match self.0.last_mut() {
            Some(last) if last.end == rowid => last.end += 1,
            _ => self.0.push(rowid..rowid + 1),
        }
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = Range<Rowid>> {
        self.0.iter().cloned()
    }
}

#[cfg(test)]
mod tests;
