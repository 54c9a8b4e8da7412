//! Every queue of a store, found by number or by name.
//!
//! Owns the memory of a million idle queues: slots in chunks that never move, and two tables of
//! slot numbers whose keys are in the slots.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::{queue::Queue, types::QueueId};

const CHUNK: usize = 256;

#[derive(Debug, Default)]
pub(crate) struct Queues {
    chunks: Vec<Vec<Option<Queue>>>,
    free: Vec<u32>,
    by_id: HashTable<u32>,
    by_name: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl Queues {
    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// How many slots there are, empty ones too.
    pub(crate) fn slots(&self) -> u32 {
        (self.chunks.len().saturating_sub(1) * CHUNK + self.chunks.last().map_or(0, Vec::len))
            as u32
    }

    pub(crate) fn slot(&self, slot: u32) -> Option<&Queue> {
        let chunk = self.chunks.get(slot as usize / CHUNK)?;
        chunk.get(slot as usize % CHUNK)?.as_ref()
    }

    fn slot_mut(&mut self, slot: u32) -> Option<&mut Option<Queue>> {
        self.chunks
            .get_mut(slot as usize / CHUNK)?
            .get_mut(slot as usize % CHUNK)
    }

    /// The slot of a queue, to be given back to [`Queues::at`].
    #[inline]
    pub(crate) fn find(&self, id: QueueId) -> Option<u32> {
        let same = |&slot: &u32| self.slot(slot).is_some_and(|queue| queue.id == id);
        self.by_id.find(self.hasher.hash_one(id.0), same).copied()
    }

    #[inline]
    pub(crate) fn get(&self, id: QueueId) -> Option<&Queue> {
        self.slot(self.find(id)?)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: QueueId) -> Option<&mut Queue> {
        let slot = self.find(id)?;
        self.slot_mut(slot)?.as_mut()
    }

    /// A queue that is likely in a slot.
    #[inline]
    pub(crate) fn at(&self, hint: u32, id: QueueId) -> Option<&Queue> {
        let there = self.slot(hint).filter(|queue| queue.id == id);
        there.or_else(|| self.get(id))
    }

    /// As [`Queues::at`], to be changed.
    #[inline]
    pub(crate) fn at_mut(&mut self, hint: u32, id: QueueId) -> Option<&mut Queue> {
        let there = self.slot(hint).is_some_and(|queue| queue.id == id);
        let slot = if there { hint } else { self.find(id)? };
        self.slot_mut(slot)?.as_mut()
    }

    pub(crate) fn by_name(&self, name: &[u8]) -> Option<&Queue> {
        let same = |&slot: &u32| self.slot(slot).is_some_and(|queue| *queue.name == *name);
        let slot = self.by_name.find(self.hasher.hash_one(name), same)?;
        self.slot(*slot)
    }

    /// Adds a queue whose number and name are new.
    pub(crate) fn insert(&mut self, queue: Queue) {
        debug_assert!(self.get(queue.id).is_none() && self.by_name(&queue.name).is_none());
        let (id, name) = (
            self.hasher.hash_one(queue.id.0),
            self.hasher.hash_one(&*queue.name),
        );
        let slot = if let Some(slot) = self.free.pop() {
            if let Some(free) = self.slot_mut(slot) {
                *free = Some(queue);
            }
            slot
        } else {
            let slot = self.slots();
            if self.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK) {
                self.chunks.push(Vec::with_capacity(CHUNK));
            }
            if let Some(chunk) = self.chunks.last_mut() {
                chunk.push(Some(queue));
            }
            slot
        };
        let Self {
            chunks,
            by_id,
            by_name,
            hasher,
            ..
        } = self;
        let at = |slot: u32| {
            chunks
                .get(slot as usize / CHUNK)?
                .get(slot as usize % CHUNK)?
                .as_ref()
        };
        by_id.insert_unique(id, slot, |&s| {
            at(s).map_or(0, |queue| hasher.hash_one(queue.id.0))
        });
        by_name.insert_unique(name, slot, |&s| {
            at(s).map_or(0, |q| hasher.hash_one(&*q.name))
        });
    }

    pub(crate) fn remove(&mut self, id: QueueId) -> Option<Queue> {
        let slot = self.find(id)?;
        let queue = self.slot_mut(slot)?.take()?;
        let (id, name) = (
            self.hasher.hash_one(queue.id.0),
            self.hasher.hash_one(&*queue.name),
        );
        if let Ok(found) = self.by_id.find_entry(id, |&s| s == slot) {
            found.remove();
        }
        if let Ok(found) = self.by_name.find_entry(name, |&s| s == slot) {
            found.remove();
        }
        self.free.push(slot);
        Some(queue)
    }

    /// Every queue, to be changed.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Queue> {
        self.chunks.iter_mut().flatten().flatten()
    }

    /// Every queue, in any order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Queue> {
        self.chunks.iter().flatten().flatten()
    }
}
