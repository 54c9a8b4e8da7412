//! What the model holds: what must be on disk, and what memory adds.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use forebay_store::{Disk, List, QueueId, Store, TableId, UserFlag};

/// What the disk must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) queues: BTreeMap<QueueId, Fifo>,
    pub(super) rows: BTreeMap<(u8, Vec<u8>), Vec<u8>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fifo {
    pub(super) name: Vec<u8>,
    pub(super) next: u64,
    pub(super) messages: BTreeMap<u64, Message>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) flag: UserFlag,
    pub(super) packet_id: u16,
    pub(super) note: Vec<u8>,
    pub(super) content: (u64, Vec<u8>),
}

/// What memory adds for a queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct View {
    pub(super) open: bool,
    pub(super) max: u32,
    pub(super) inflight: Vec<u64>,
    pub(super) queued: Vec<u64>,
    pub(super) skipped: BTreeSet<u64>,
    pub(super) failed: Option<Range<u64>>,
}

impl View {
    pub(super) fn list_of(&self, rowid: u64) -> Option<List> {
        let inflight = self.inflight.contains(&rowid).then_some(List::Inflight);
        inflight.or(self.queued.contains(&rowid).then_some(List::Queued))
    }

    pub(super) fn has_room(&self) -> bool {
        self.max == 0 || self.inflight.len() < self.max as usize
    }

    pub(super) fn put(&mut self, list: List, rowid: u64) {
        let to = match list {
            List::Inflight => &mut self.inflight,
            List::Queued => &mut self.queued,
        };
        to.push(rowid);
        to.sort_unstable();
    }

    pub(super) fn remove(&mut self, rowid: u64) {
        self.inflight.retain(|&it| it != rowid);
        self.queued.retain(|&it| it != rowid);
        self.skipped.remove(&rowid);
    }
}

pub(super) fn name(number: u8) -> Vec<u8> {
    format!("../client {number}-OUT").into_bytes()
}

pub(super) fn table(number: u8) -> TableId {
    TableId(if number == 3 { 240 } else { number })
}

impl Kept {
    pub(super) fn queue(&self, number: u8) -> Option<QueueId> {
        let found = self.queues.iter().find(|(_, q)| q.name == name(number));
        found.map(|(&id, _)| id)
    }

    pub(super) fn message(&self, queue: QueueId, pick: u8) -> Option<u64> {
        let messages = &self.queues.get(&queue)?.messages;
        let nth = usize::from(pick) % messages.len().max(1);
        messages.keys().nth(nth).copied()
    }

    /// All that a store holds, its queues closed.
    pub(super) fn of<D: Disk>(store: &mut Store<D>) -> Self {
        let mut kept = Self::default();
        let queues: Vec<_> = store.queues().map(|(id, n)| (id, n.to_vec())).collect();
        for (id, name) in queues {
            let info = store.queue_info(id).expect("it is there");
            let mut messages = BTreeMap::new();
            for rowid in info.first_pending..info.next_rowid {
                if let Some(found) = store.message(id, rowid) {
                    let content = store.content(id, rowid).expect("it can be read");
                    let message = Message {
                        flag: found.flag,
                        packet_id: found.packet_id,
                        note: found.note.to_vec(),
                        content: (content.time, content.bytes.to_vec()),
                    };
                    messages.insert(rowid, message);
                }
            }
            assert_eq!(messages.len() as u64, info.pending);
            let next = info.next_rowid;
            let fifo = Fifo {
                name,
                next,
                messages,
            };
            kept.queues.insert(id, fifo);
        }
        for number in 0..3 {
            for (key, value) in store.scan(table(number)) {
                kept.rows.insert((number, key.to_vec()), value.to_vec());
            }
        }
        kept
    }
}
