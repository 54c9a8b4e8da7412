//! The records as bytes: one function for each kind.
//!
//! Owns the writing side of [`record`](super). What is written here is read there.

use super::{
    BEGIN, CONTENT, CONTENT_HEAD, CREATE_QUEUE, ContentRef, DELETE, DROP_QUEUE, END, ENTRY, FINISH,
    FLAG, MOVED, PUT, QUEUE_IMAGE, RUN, WRITER, content_checksum,
};
use crate::{
    codec::Small,
    disk::AlignedBuf,
    flag::UserFlag,
    index::Entry,
    types::{Outcome, QueueId, Rowid, TableId},
};

fn write_ref(small: &mut Small, at: ContentRef) {
    small.varint(u64::from(at.segment));
    small.varint(u64::from(at.offset));
    small.varint(u64::from(at.len));
}

fn write_string(buf: &mut AlignedBuf, mut head: Small, bytes: &[u8]) {
    head.varint(bytes.len() as u64);
    buf.extend_from_slice(head.bytes());
    buf.extend_from_slice(bytes);
}

/// At most how many bytes a content's record takes beside the content, an entry's beside its note,
/// a flag's and a finish's.
pub(crate) const CONTENT_MAX: usize = 1 + 5 + CONTENT_HEAD;
pub(crate) const ENTRY_MAX: usize = 1 + 2 * 10 + 2 * 2 + 3 * 5 + 5;
pub(crate) const FLAG_MAX: usize = 1 + 2 * 10 + 2 * 2;
pub(crate) const FINISH_MAX: usize = 1 + 2 * 10 + 3;

/// At most how many bytes a record of small fields and these strings takes.
pub(crate) const fn bound(strings: usize) -> usize {
    Small::ROOM + 10 + strings
}

pub(crate) fn write_create_queue(buf: &mut AlignedBuf, queue: QueueId, name: &[u8]) {
    let mut small = Small::new(CREATE_QUEUE);
    small.varint(queue.0);
    write_string(buf, small, name);
}

pub(crate) fn write_drop_queue(buf: &mut AlignedBuf, queue: QueueId) {
    let mut small = Small::new(DROP_QUEUE);
    small.varint(queue.0);
    buf.extend_from_slice(small.bytes());
}

/// Writes a content and gives the place of its checksum in the buffer.
pub(crate) fn write_content(buf: &mut AlignedBuf, time: u64, bytes: &[u8]) -> usize {
    let mut small = Small::new(CONTENT);
    small.varint(bytes.len() as u64);
    let at = buf.len() + small.bytes().len();
    let time = time.to_le_bytes();
    small.u32(content_checksum(time, bytes));
    small.put(&time);
    buf.extend_from_slice(small.bytes());
    buf.extend_from_slice(bytes);
    at
}

/// Writes an entry; its content is the last one of the frame if `near`.
pub(crate) fn write_entry(
    buf: &mut AlignedBuf,
    queue: QueueId,
    rowid: Rowid,
    entry: &Entry,
    near: bool,
    note: &[u8],
) {
    let mut small = Small::new(ENTRY);
    small.varint(queue.0);
    small.varint(rowid);
    small.u16(entry.flag.bits());
    small.u16(entry.packet_id);
    if near {
        small.varint(0);
    } else {
        write_ref(&mut small, entry.content());
    }
    write_string(buf, small, note);
}

/// Writes where a content is now: the last one of this frame if `near`.
pub(crate) fn write_moved(
    buf: &mut AlignedBuf,
    queue: QueueId,
    rowid: Rowid,
    to: ContentRef,
    near: bool,
) {
    let mut small = Small::new(MOVED);
    small.varint(queue.0);
    small.varint(rowid);
    if near {
        small.varint(0);
    } else {
        write_ref(&mut small, to);
    }
    buf.extend_from_slice(small.bytes());
}

pub(crate) fn write_flag(
    buf: &mut AlignedBuf,
    queue: QueueId,
    rowid: Rowid,
    flag: UserFlag,
    packet_id: u16,
) {
    let mut small = Small::new(FLAG);
    small.varint(queue.0);
    small.varint(rowid);
    small.u16(flag.bits());
    small.u16(packet_id);
    buf.extend_from_slice(small.bytes());
}

pub(crate) fn write_finish(buf: &mut AlignedBuf, queue: QueueId, rowid: Rowid, outcome: Outcome) {
    let mut small = Small::new(FINISH);
    small.varint(queue.0);
    small.varint(rowid);
    small.varint(u64::from(outcome.bits()));
    buf.extend_from_slice(small.bytes());
}

pub(crate) fn write_put(buf: &mut AlignedBuf, table: TableId, key: &[u8], value: &[u8]) {
    let mut small = Small::new(PUT);
    small.u8(table.0);
    write_string(buf, small, key);
    let mut len = [0; 10];
    buf.extend_from_slice(varint(&mut len, value.len() as u64));
    buf.extend_from_slice(value);
}

pub(crate) fn write_delete(buf: &mut AlignedBuf, table: TableId, key: &[u8]) {
    let mut small = Small::new(DELETE);
    small.u8(table.0);
    write_string(buf, small, key);
}

pub(crate) fn write_writer(buf: &mut AlignedBuf, time: u64, pid: u32) {
    let mut small = Small::new(WRITER);
    small.u64(time);
    small.varint(u64::from(pid));
    buf.extend_from_slice(small.bytes());
}

pub(crate) fn write_begin(buf: &mut AlignedBuf, checkpoint: u64, next_queue: QueueId) {
    let mut small = Small::new(BEGIN);
    small.varint(checkpoint);
    small.varint(next_queue.0);
    buf.extend_from_slice(small.bytes());
}

pub(crate) fn write_end(buf: &mut AlignedBuf, checkpoint: u64) {
    let mut small = Small::new(END);
    small.varint(checkpoint);
    buf.extend_from_slice(small.bytes());
}

pub(crate) fn write_queue_image(buf: &mut AlignedBuf, queue: QueueId, next: Rowid, name: &[u8]) {
    let mut small = Small::new(QUEUE_IMAGE);
    small.varint(queue.0);
    small.varint(next);
    write_string(buf, small, name);
}

/// Puts a run together; its entries come in rowid order.
#[derive(Debug)]
pub(crate) struct RunWriter {
    count: u64,
    rowid: Rowid,
    fields: Vec<u8>,
}

impl RunWriter {
    /// A run whose first rowid is not below `from`.
    pub(crate) fn new(from: Rowid) -> Self {
        let mut fields = Vec::new();
        fields.extend_from_slice(varint(&mut [0; 10], from));
        Self {
            count: 0,
            rowid: from,
            fields,
        }
    }

    pub(crate) fn push(&mut self, rowid: Rowid, entry: &Entry, note: &[u8]) {
        debug_assert!(rowid >= self.rowid);
        let mut len = [0; 10];
        self.fields
            .extend_from_slice(varint(&mut len, rowid - self.rowid));
        self.fields
            .extend_from_slice(&entry.flag.bits().to_le_bytes());
        self.fields
            .extend_from_slice(&entry.packet_id.to_le_bytes());
        let at = entry.content();
        for value in [at.segment, at.offset, at.len] {
            self.fields
                .extend_from_slice(varint(&mut len, u64::from(value)));
        }
        self.fields
            .extend_from_slice(varint(&mut len, note.len() as u64));
        self.fields.extend_from_slice(note);
        self.count += 1;
        self.rowid = rowid;
    }

    /// At most how many bytes [`RunWriter::write`] adds.
    pub(crate) fn bound(&self) -> usize {
        bound(self.fields.len())
    }

    pub(crate) fn write(&self, buf: &mut AlignedBuf, queue: QueueId) {
        let mut small = Small::new(RUN);
        small.varint(queue.0);
        small.varint(self.count);
        write_string(buf, small, &self.fields);
    }
}

fn varint(room: &mut [u8; 10], mut value: u64) -> &[u8] {
    let mut len = 0;
    for byte in room.iter_mut() {
        len += 1;
        *byte = value as u8 & 0x7F;
        value >>= 7;
        if value == 0 {
            break;
        }
        *byte |= 0x80;
    }
    room.get(..len).unwrap_or_default()
}
