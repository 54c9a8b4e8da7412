//! How far a log is.
//!
//! Owns what can be asked of a [`Log`] without changing it.

use super::Log;
use crate::{disk::Disk, options::Durability};

impl<D: Disk> Log<D> {
    /// The highest frame that may be acknowledged.
    pub(crate) fn acknowledged(&self) -> u64 {
        match self.options.durability {
            Durability::Always => self.durable,
            Durability::Interval(_) => self.next_seq - 1,
            Durability::Os => self.started,
        }
    }

    /// The highest frame on stable storage, with all before it.
    pub(crate) fn durable(&self) -> u64 {
        self.durable
    }

    /// The segment that is written to.
    pub(crate) fn head(&self) -> u32 {
        self.room.head.segment
    }

    /// The last frame that was opened.
    pub(crate) fn last_seq(&self) -> u64 {
        self.next_seq - 1
    }

    /// Whether frames or zeros are in flight.
    pub(crate) fn is_writing(&self) -> bool {
        self.outstanding > 0
    }

    /// Bytes that wait for a slot.
    pub(crate) fn staged_bytes(&self) -> usize {
        self.sealed
            .iter()
            .chain(&self.open)
            .map(|staged| staged.buf.len())
            .sum()
    }
}
