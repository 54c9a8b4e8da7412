//! What a caller wants done as one transaction.

use bytes::Bytes;

use crate::{
    flag::UserFlag,
    record,
    types::{Outcome, Place, QueueId, Rowid, TableId},
};

/// Operations that are all there after a crash, or none is. Applied in order by
/// [`Store::commit`](crate::Store::commit).
#[derive(Clone, Debug, Default)]
pub struct Batch {
    pub(crate) ops: Vec<Op>,
}

#[derive(Clone, Debug)]
pub(crate) enum Op {
    CreateQueue {
        queue: QueueId,
        name: Bytes,
    },
    DropQueue {
        queue: QueueId,
    },
    Content {
        time: u64,
        bytes: Bytes,
    },
    ContentOf {
        queue: QueueId,
        rowid: Rowid,
    },
    Append {
        queue: QueueId,
        flag: UserFlag,
        packet_id: u16,
        note: Bytes,
        place: Place,
    },
    SetFlag {
        queue: QueueId,
        rowid: Rowid,
        flag: UserFlag,
        packet_id: u16,
    },
    Finish {
        queue: QueueId,
        rowid: Rowid,
        outcome: Outcome,
    },
    Put {
        table: TableId,
        key: Bytes,
        value: Bytes,
    },
    Delete {
        table: TableId,
        key: Bytes,
    },
}

impl Op {
    /// At most how many bytes its records take.
    pub(crate) fn bound(&self) -> usize {
        match self {
            Self::CreateQueue { name, .. } => record::bound(name.len()),
            Self::Content { bytes, .. } => record::CONTENT_MAX + bytes.len(),
            Self::Append { note, .. } => record::ENTRY_MAX + note.len(),
            Self::Put { key, value, .. } => record::bound(key.len() + value.len() + 10),
            Self::Delete { key, .. } => record::bound(key.len()),
            Self::ContentOf { .. } => 0,
            Self::SetFlag { .. } => record::FLAG_MAX,
            Self::Finish { .. } => record::FINISH_MAX,
            Self::DropQueue { .. } => record::bound(0),
        }
    }

    /// Whether the store holds more for it: such operations are refused when space runs out.
    pub(crate) fn adds_data(&self) -> bool {
        match self {
            Self::CreateQueue { .. }
            | Self::Content { .. }
            | Self::ContentOf { .. }
            | Self::Append { .. }
            | Self::Put { .. } => true,
            Self::DropQueue { .. }
            | Self::SetFlag { .. }
            | Self::Finish { .. }
            | Self::Delete { .. } => false,
        }
    }
}

impl Batch {
    /// A batch of nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// Takes everything out and keeps the memory for the next use.
    pub fn clear(&mut self) {
        self.ops.clear();
    }

    /// Makes a queue under a number from [`Store::next_queue_id`](crate::Store::next_queue_id).
    /// The name is any bytes, at most 65,600 of them.
    pub fn create_queue(&mut self, queue: QueueId, name: impl Into<Bytes>) -> &mut Self {
        self.push(Op::CreateQueue {
            queue,
            name: name.into(),
        })
    }

    /// Ends a queue and everything in it.
    pub fn drop_queue(&mut self, queue: QueueId) -> &mut Self {
        self.push(Op::DropQueue { queue })
    }

    /// A message's content and its time, nanoseconds since 1970. Stored once; the appends that
    /// follow refer to it.
    pub fn content(&mut self, time: u64, bytes: impl Into<Bytes>) -> &mut Self {
        self.push(Op::Content {
            time,
            bytes: bytes.into(),
        })
    }

    /// The content of a pending message; the appends that follow refer to it.
    pub fn content_of(&mut self, queue: QueueId, rowid: Rowid) -> &mut Self {
        self.push(Op::ContentOf { queue, rowid })
    }

    /// A message in a queue, with the content last named. It is pending whatever `flag` says;
    /// `note` is kept for this queue alone.
    pub fn append(
        &mut self,
        queue: QueueId,
        flag: UserFlag,
        packet_id: u16,
        note: impl Into<Bytes>,
        place: Place,
    ) -> &mut Self {
        self.push(Op::Append {
            queue,
            flag,
            packet_id,
            note: note.into(),
            place,
        })
    }

    /// New flag and packet identifier of a pending message, which stays pending.
    pub fn set_flag(
        &mut self,
        queue: QueueId,
        rowid: Rowid,
        flag: UserFlag,
        packet_id: u16,
    ) -> &mut Self {
        self.push(Op::SetFlag {
            queue,
            rowid,
            flag,
            packet_id,
        })
    }

    /// The message is done with.
    pub fn finish(&mut self, queue: QueueId, rowid: Rowid, outcome: Outcome) -> &mut Self {
        self.push(Op::Finish {
            queue,
            rowid,
            outcome,
        })
    }

    /// Sets a row of a table.
    pub fn put(
        &mut self,
        table: TableId,
        key: impl Into<Bytes>,
        value: impl Into<Bytes>,
    ) -> &mut Self {
        self.push(Op::Put {
            table,
            key: key.into(),
            value: value.into(),
        })
    }

    /// Removes a row of a table, if it is there.
    pub fn delete(&mut self, table: TableId, key: impl Into<Bytes>) -> &mut Self {
        self.push(Op::Delete {
            table,
            key: key.into(),
        })
    }

    fn push(&mut self, op: Op) -> &mut Self {
        self.ops.push(op);
        self
    }
}
