//! The records inside a frame, one type for each kind.
//!
//! Owns their bytes: read here, written in `write`. Kinds below 64 are those of format 1
//! and have no length of their own; later kinds have one, and those from 128 on may be skipped by
//! a reader that does not know them. Layout in `docs/format.md`.

mod write;

use crate::{
    codec::Reader,
    flag::UserFlag,
    index::Entry,
    types::{Outcome, QueueId, Rowid, TableId},
};

pub(crate) use write::{
    CONTENT_MAX, ENTRY_MAX, FINISH_MAX, FLAG_MAX, RunWriter, bound, write_begin, write_content,
    write_create_queue, write_delete, write_drop_queue, write_end, write_entry, write_finish,
    write_flag, write_moved, write_put, write_queue_image, write_writer,
};

const CREATE_QUEUE: u8 = 1;
const DROP_QUEUE: u8 = 2;
const CONTENT: u8 = 3;
const ENTRY: u8 = 4;
const FLAG: u8 = 5;
const FINISH: u8 = 6;
const PUT: u8 = 7;
const DELETE: u8 = 8;
const WRITER: u8 = 9;
const BEGIN: u8 = 10;
const END: u8 = 11;
const QUEUE_IMAGE: u8 = 12;
const RUN: u8 = 13;
const MOVED: u8 = 14;
/// From here on a kind is followed by its length.
const SIZED: u8 = 64;
/// From here on a kind may be skipped.
const SKIPPABLE: u8 = 128;

/// Bytes before the content itself: its checksum and its time.
pub(crate) const CONTENT_HEAD: usize = 12;

/// Where a content is: its checksum's place, and how long the content itself is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ContentRef {
    pub(crate) segment: u32,
    pub(crate) offset: u32,
    pub(crate) len: u32,
}

/// One record, borrowed from its frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Record<'a> {
    CreateQueue {
        queue: QueueId,
        name: &'a [u8],
    },
    DropQueue {
        queue: QueueId,
    },
    Content {
        at: ContentRef,
        stored: &'a [u8],
    },
    Entry {
        queue: QueueId,
        rowid: Rowid,
        entry: Entry,
        note: &'a [u8],
    },
    Flag {
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
        key: &'a [u8],
        value: &'a [u8],
    },
    Delete {
        table: TableId,
        key: &'a [u8],
    },
    Writer {
        time: u64,
        pid: u64,
    },
    Begin {
        checkpoint: u64,
        next_queue: QueueId,
    },
    End {
        checkpoint: u64,
    },
    QueueImage {
        queue: QueueId,
        next: Rowid,
        name: &'a [u8],
    },
    Run {
        queue: QueueId,
        entries: Run<'a>,
    },
    Moved {
        queue: QueueId,
        rowid: Rowid,
        to: ContentRef,
    },
}

/// Entries of one queue, in rowid order.
#[derive(Clone, Debug)]
pub(crate) struct Run<'a> {
    count: u64,
    rowid: Rowid,
    fields: Reader<'a>,
}

impl PartialEq for Run<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.clone().eq_entries(other.clone())
    }
}

impl Eq for Run<'_> {}

impl<'a> Run<'a> {
    fn eq_entries(self, other: Self) -> bool {
        Iterator::eq(self, other)
    }

    /// Whether all its entries were read.
    pub(crate) fn is_done(&self) -> bool {
        self.count == 0 && self.fields.len() == 0
    }

    fn read(&mut self) -> Option<(Rowid, Entry, &'a [u8])> {
        let fields = &mut self.fields;
        self.rowid = self.rowid.checked_add(fields.varint()?)?;
        let flag = UserFlag::from_bits(fields.u16()?);
        let packet_id = fields.u16()?;
        let at = read_ref(fields, None)?;
        let note = fields.string()?;
        Some((self.rowid, Entry::new(at, flag, packet_id), note))
    }
}

impl<'a> Iterator for Run<'a> {
    type Item = (Rowid, Entry, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let left = self.count.checked_sub(1)?;
        let entry = self.read()?;
        self.count = left;
        Some(entry)
    }
}

/// Why records could not be read although the frame's checksum holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadRecord {
    /// A kind of a later format that may not be skipped.
    Unknown(u8),
    /// Not what a writer of this format writes.
    Malformed,
}

/// Reads the records of a frame's body.
#[derive(Debug)]
pub(crate) struct Records<'a> {
    reader: Reader<'a>,
    body_len: usize,
    segment: u32,
    /// Where the body begins in the segment.
    body_at: u32,
    content: Option<ContentRef>,
}

impl<'a> Records<'a> {
    pub(crate) fn new(body: &'a [u8], segment: u32, body_at: u32) -> Self {
        let reader = Reader::new(body);
        Self {
            reader,
            body_len: body.len(),
            segment,
            body_at,
            content: None,
        }
    }

    fn read(&mut self, kind: u8) -> Option<Record<'a>> {
        let r = &mut self.reader;
        Some(match kind {
            CREATE_QUEUE => Record::CreateQueue {
                queue: QueueId(r.varint()?),
                name: r.string()?,
            },
            DROP_QUEUE => Record::DropQueue {
                queue: QueueId(r.varint()?),
            },
            CONTENT => {
                let len = r.varint32()?;
                let offset = u32::try_from(self.body_len - r.len()).ok()?;
                let at = ContentRef {
                    segment: self.segment,
                    offset: self.body_at.checked_add(offset)?,
                    len,
                };
                self.content = Some(at);
                Record::Content {
                    at,
                    stored: r.take(CONTENT_HEAD as u64 + u64::from(len))?,
                }
            }
            ENTRY => {
                let (queue, rowid) = (QueueId(r.varint()?), r.varint()?);
                let (flag, packet_id) = (UserFlag::from_bits(r.u16()?), r.u16()?);
                let at = read_ref(r, self.content)?;
                let entry = Entry::new(at, flag, packet_id);
                Record::Entry {
                    queue,
                    rowid,
                    entry,
                    note: r.string()?,
                }
            }
            FLAG => Record::Flag {
                queue: QueueId(r.varint()?),
                rowid: r.varint()?,
                flag: UserFlag::from_bits(r.u16()?),
                packet_id: r.u16()?,
            },
            FINISH => Record::Finish {
                queue: QueueId(r.varint()?),
                rowid: r.varint()?,
                outcome: Outcome::from_bits(r.varint()?.try_into().ok()?),
            },
            PUT => Record::Put {
                table: TableId(r.u8()?),
                key: r.string()?,
                value: r.string()?,
            },
            DELETE => Record::Delete {
                table: TableId(r.u8()?),
                key: r.string()?,
            },
            WRITER => Record::Writer {
                time: r.u64()?,
                pid: r.varint()?,
            },
            BEGIN => Record::Begin {
                checkpoint: r.varint()?,
                next_queue: QueueId(r.varint()?),
            },
            END => Record::End {
                checkpoint: r.varint()?,
            },
            QUEUE_IMAGE => Record::QueueImage {
                queue: QueueId(r.varint()?),
                next: r.varint()?,
                name: r.string()?,
            },
            RUN => {
                let queue = QueueId(r.varint()?);
                let count = r.varint()?;
                let mut fields = Reader::new(r.string()?);
                let rowid = fields.varint()?;
                Record::Run {
                    queue,
                    entries: Run {
                        count,
                        rowid,
                        fields,
                    },
                }
            }
            MOVED => Record::Moved {
                queue: QueueId(r.varint()?),
                rowid: r.varint()?,
                to: read_ref(r, self.content)?,
            },
            _ => return None,
        })
    }

    fn next_known(&mut self) -> Option<Result<Record<'a>, BadRecord>> {
        loop {
            let kind = self.reader.u8()?;
            match kind {
                0..SIZED => return Some(self.read(kind).ok_or(BadRecord::Malformed)),
                SIZED..SKIPPABLE => return Some(Err(BadRecord::Unknown(kind))),
                SKIPPABLE.. => {
                    if self.reader.string().is_none() {
                        return Some(Err(BadRecord::Malformed));
                    }
                }
            }
        }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, BadRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.next_known();
        if matches!(next, Some(Err(_))) {
            self.reader = Reader::new(&[]);
        }
        next
    }
}

/// Reads where a content is: 0 for the last one of this frame, or segment, offset and length.
fn read_ref(r: &mut Reader<'_>, last: Option<ContentRef>) -> Option<ContentRef> {
    match r.varint32()? {
        0 => last,
        segment => Some(ContentRef {
            segment,
            offset: r.varint32()?,
            len: r.varint32()?,
        }),
    }
}

fn content_checksum(time: [u8; 8], bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&time), bytes)
}

/// Takes a stored content apart; `None` if its checksum does not hold.
pub(crate) fn read_content(stored: &[u8]) -> Option<(u64, &[u8])> {
    let mut reader = Reader::new(stored);
    let checksum = reader.u32()?;
    let time = reader.u64()?;
    let bytes = reader.take(reader.len() as u64)?;
    (content_checksum(time.to_le_bytes(), bytes) == checksum).then_some((time, bytes))
}

#[cfg(test)]
mod tests;
