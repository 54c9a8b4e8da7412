//! The packet identifiers of one queue's pending messages, found by identifier.
//!
//! Owns a sorted vector while there are few, which costs one small allocation, and a tree from
//! then on until it is empty again.

use std::collections::BTreeSet;

use crate::types::Rowid;

/// The most that the vector holds: beyond, shifting it costs more than a tree does.
const FEW: usize = 64;

#[derive(Debug, Default)]
pub(super) struct PacketIds {
    few: Vec<(u16, Rowid)>,
    /// All of them, unless it is empty.
    many: BTreeSet<(u16, Rowid)>,
}

impl PacketIds {
    pub(super) fn is_empty(&self) -> bool {
        self.few.is_empty() && self.many.is_empty()
    }

    pub(super) fn insert(&mut self, packet_id: u16, rowid: Rowid) {
        let key = (packet_id, rowid);
        if !self.many.is_empty() {
            self.many.insert(key);
        } else if self.few.last().is_none_or(|last| *last < key) && self.few.len() < FEW {
            self.few.push(key);
        } else if let Err(at) = self.few.binary_search(&key) {
            if self.few.len() < FEW {
                self.few.insert(at, key);
            } else {
                self.many.extend(self.few.drain(..));
                self.many.insert(key);
            }
        }
    }

    pub(super) fn remove(&mut self, packet_id: u16, rowid: Rowid) {
        let key = (packet_id, rowid);
        if !self.many.is_empty() {
            self.many.remove(&key);
        } else if let Ok(at) = self.few.binary_search(&key) {
            self.few.remove(at);
        }
    }

    /// The messages with an identifier, in rowid order.
    pub(super) fn with(&self, packet_id: u16) -> impl Iterator<Item = Rowid> {
        let first = self.few.partition_point(|key| key.0 < packet_id);
        let few = self.few.get(first..).unwrap_or_default().iter();
        let few = few.take_while(move |key| key.0 == packet_id);
        let many = self.many.range((packet_id, 0)..=(packet_id, Rowid::MAX));
        few.chain(many).map(|&(_, rowid)| rowid)
    }

    /// Every message that has one, in the order of those.
    pub(super) fn iter(&self) -> impl Iterator<Item = Rowid> {
        self.few.iter().chain(&self.many).map(|&(_, rowid)| rowid)
    }
}

#[cfg(test)]
mod tests;
