//! The frames written last, still in memory.
//!
//! Owns what direct writes take from us, the page cache: contents of frames in flight and of those
//! just written are read from here. Frames in flight are kept whatever the bound; buffers come
//! back into use when their frame goes.

use std::{collections::VecDeque, sync::Arc};

use crate::disk::AlignedBuf;

/// Buffers that wait for use at most.
const POOL: usize = 8;
/// The largest buffer that waits for use.
const POOLED_MAX: usize = 4 << 20;

#[derive(Debug)]
pub(super) struct Recent {
    frames: VecDeque<Frame>,
    pool: Vec<AlignedBuf>,
    bytes: usize,
    bytes_max: usize,
}

#[derive(Debug)]
struct Frame {
    seq: u64,
    segment: u32,
    offset: u32,
    buf: Arc<AlignedBuf>,
}

impl Recent {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self {
            frames: VecDeque::new(),
            pool: Vec::new(),
            bytes: 0,
            bytes_max,
        }
    }

    pub(super) fn take_buffer(&mut self, capacity: usize, alignment: usize) -> AlignedBuf {
        let large = self.pool.iter().rposition(|buf| buf.capacity() >= capacity);
        match large.or_else(|| self.pool.len().checked_sub(1)) {
            Some(at) => self.pool.swap_remove(at),
            None => AlignedBuf::with_capacity(capacity.max(64 << 10), alignment),
        }
    }

    /// Keeps a frame that is about to be written, and lets go of the oldest durable ones.
    pub(super) fn keep(
        &mut self,
        seq: u64,
        segment: u32,
        offset: u32,
        buf: AlignedBuf,
        durable: u64,
    ) -> Arc<AlignedBuf> {
        let buf = self.fit(buf);
        self.bytes += buf.capacity();
        let buf = Arc::new(buf);
        self.frames.push_back(Frame {
            seq,
            segment,
            offset,
            buf: Arc::clone(&buf),
        });
        while self.bytes > self.bytes_max && self.frames.front().is_some_and(|f| f.seq <= durable) {
            if let Some(frame) = self.frames.pop_front() {
                self.bytes -= frame.buf.capacity();
                if let Some(buf) = Arc::into_inner(frame.buf) {
                    self.give_back(buf);
                }
            }
        }
        buf
    }

    /// Puts a small frame into a small buffer, so that the bound counts what is used.
    fn fit(&mut self, buf: AlignedBuf) -> AlignedBuf {
        if buf.capacity() <= 2 * buf.len() {
            return buf;
        }
        let mut small = AlignedBuf::with_capacity(buf.len(), buf.alignment());
        small.extend_from_slice(&buf);
        self.give_back(buf);
        small
    }

    fn give_back(&mut self, mut buf: AlignedBuf) {
        if self.pool.len() < POOL && (32 << 10..=POOLED_MAX).contains(&buf.capacity()) {
            buf.clear();
            self.pool.push(buf);
        }
    }

    /// The bytes at a place of a segment, if a kept frame has them.
    pub(super) fn find(&self, segment: u32, offset: u32, len: usize) -> Option<&[u8]> {
        let after = self
            .frames
            .partition_point(|f| (f.segment, f.offset) <= (segment, offset));
        let frame = self.frames.get(after.checked_sub(1)?)?;
        let at = offset.checked_sub(frame.offset)? as usize;
        frame
            .buf
            .get(at..at + len)
            .filter(|_| frame.segment == segment)
    }
}
