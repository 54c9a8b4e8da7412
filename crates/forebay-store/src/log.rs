//! The log as its writer sees it: frames being filled, waiting, in flight and just written.
//!
//! Owns the order of frames, their places in segments, the durable watermark and the poison.
//! Never looks into a frame. A frame's place is known from its first byte on, so what is put into
//! it can be referred to at once.
//!
//! ```text
//!  reserve ─▶ open ─seal─▶ sealed ─a slot is free─▶ in flight ─▶ recent (durable in order)
//! ```

use std::{
    collections::{BTreeMap, VecDeque},
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use self::{recent::Recent, room::Room};
use crate::{
    disk::{AlignedBuf, Disk, Done, FileName, Write},
    error::{CommitError, Poisoned},
    frame::{FrameHeader, HEADER},
    header::{BLOCK, Root, SLOT, SegmentHeader, Start, StoreId},
    options::{Durability, Options},
    record,
    segments::Segments,
    types::now_ns,
};

mod backups;
mod progress;
mod read;
mod recent;
mod room;
mod scan;
mod verify;

pub(crate) use verify::Chain;

/// Tags of writes that are not frames.
const ZEROING: u64 = u64::MAX;
const NOW: u64 = u64::MAX - 1;

/// Where a frame was put together.
#[derive(Debug)]
struct Staged {
    seq: u64,
    segment: u32,
    offset: u32,
    buf: AlignedBuf,
}

#[derive(Debug)]
struct InFlight {
    seq: u64,
    done: bool,
}

/// The segment that is written to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) segment: u32,
    pub(crate) len: u32,
    /// Where the next frame goes.
    pub(crate) at: u32,
}

/// What recovery hands over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resume {
    pub(crate) store: StoreId,
    pub(crate) epoch: u64,
    pub(crate) head: Head,
    /// The length of the segment after the head, if it is ready.
    pub(crate) next: Option<u32>,
    pub(crate) next_seq: u64,
    /// The checksum of the frame before that.
    pub(crate) prev: u32,
    pub(crate) root: Root,
}

/// Figures of the log.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LogStats {
    pub(crate) frames: u64,
    pub(crate) frame_bytes: u64,
    pub(crate) writes: u64,
    pub(crate) syncs: u64,
}

pub(crate) struct Log<D> {
    disk: D,
    options: Options,
    alignment: u32,
    /// Frames in flight at most.
    slots: usize,
    store: StoreId,
    epoch: u64,
    announced: bool,
    pub(crate) segments: Segments,
    /// Lengths of the backups.
    backups: BTreeMap<u32, u64>,
    /// Why the last change of the directory that may be tried again was not done.
    pub(crate) refused: Option<String>,
    room: Room,
    root: Root,
    open: Option<Staged>,
    sealed: VecDeque<Staged>,
    in_flight: VecDeque<InFlight>,
    /// Writes in flight of any kind.
    outstanding: usize,
    recent: Recent,
    cache: read::Cache,
    next_seq: u64,
    started: u64,
    durable: u64,
    prev: u32,
    /// A frame whose place is wanted for the root, and the place once it is written.
    marked: (u64, Option<Start>),
    /// When the oldest frame that waits was opened; only kept for [`Durability::Interval`].
    waiting_since: Option<Instant>,
    poisoned: Option<Poisoned>,
    pub(crate) stats: LogStats,
}

impl<D: Disk> Log<D> {
    pub(crate) fn new(
        disk: D,
        options: Options,
        segments: Segments,
        backups: BTreeMap<u32, u64>,
        resume: Resume,
    ) -> Self {
        let alignment = disk.alignment() as u32;
        let slots = options.writes_in_flight.clamp(1, disk.max_in_flight());
        Self {
            alignment,
            slots,
            store: resume.store,
            epoch: resume.epoch,
            announced: false,
            segments,
            backups,
            refused: None,
            room: Room::new(resume.head, resume.next),
            root: resume.root,
            open: None,
            sealed: VecDeque::new(),
            in_flight: VecDeque::new(),
            outstanding: 0,
            recent: Recent::new(options.recent_max),
            cache: read::Cache::default(),
            next_seq: resume.next_seq,
            started: resume.next_seq - 1,
            durable: resume.next_seq - 1,
            prev: resume.prev,
            marked: (0, None),
            waiting_since: None,
            poisoned: None,
            stats: LogStats::default(),
            disk,
            options,
        }
    }

    pub(crate) fn disk(&self) -> &D {
        &self.disk
    }

    pub(crate) fn check(&self) -> Result<(), Poisoned> {
        self.poisoned.clone().map_or(Ok(()), Err)
    }

    pub(crate) fn poison(&mut self, what: &str, error: &io::Error) -> Poisoned {
        let reason = format!("{what}: {error}").into();
        self.poisoned.get_or_insert(Poisoned { reason }).clone()
    }

    /// Bytes that a transaction may have.
    pub(crate) fn transaction_max(&self) -> usize {
        let capacity = (self.options.segment_size - self.alignment) as usize;
        // The first frame of a writer begins with a record of its own.
        let capacity = capacity - HEADER - record::bound(0);
        capacity.min(self.options.transaction_max as usize)
    }

    /// Makes sure that the open frame takes `len` more bytes.
    pub(crate) fn reserve(&mut self, len: usize) -> Result<(), CommitError> {
        if let Some(open) = &self.open {
            let whole = open.buf.len() + len;
            let begun = open.buf.len() > HEADER;
            if whole <= self.options.frame_target as usize || !begun {
                let end = u64::from(open.offset) + whole as u64;
                if end.next_multiple_of(u64::from(self.alignment)) <= u64::from(self.room.head.len)
                {
                    return Ok(());
                }
            }
            self.seal();
        }
        // The writer's own record comes first in its first frame.
        let whole = HEADER + len + if self.announced { 0 } else { record::bound(0) };
        let whole = whole.next_multiple_of(self.alignment as usize) as u32;
        if self.room.head.left() < whole {
            self.roll(whole)?;
        }
        self.open_frame(whole as usize);
        Ok(())
    }

    fn open_frame(&mut self, capacity: usize) {
        debug_assert!(self.open.is_none());
        let mut buf = self.recent.take_buffer(capacity, self.alignment as usize);
        buf.resize(HEADER);
        if !self.announced {
            self.announced = true;
            record::write_writer(&mut buf, now_ns(), std::process::id());
        }
        let Head {
            segment,
            at: offset,
            ..
        } = self.room.head;
        self.open = Some(Staged {
            seq: self.next_seq,
            segment,
            offset,
            buf,
        });
        self.next_seq += 1;
        if matches!(self.options.durability, Durability::Interval(_)) {
            self.waiting_since.get_or_insert_with(Instant::now);
        }
    }

    /// The open frame's number, segment, offset and bytes. Only after [`Log::reserve`].
    #[inline]
    pub(crate) fn frame(&mut self) -> Option<(u64, u32, u32, &mut AlignedBuf)> {
        let open = self.open.as_mut()?;
        Some((open.seq, open.segment, open.offset, &mut open.buf))
    }

    /// Closes the open frame, so that what comes next begins another.
    pub(crate) fn seal(&mut self) {
        if let Some(mut staged) = self.open.take() {
            let body_len = staged.buf.len() - HEADER;
            staged.buf.pad();
            self.room.head.at += staged.buf.len() as u32;
            debug_assert!(self.room.head.at <= self.room.head.len);
            write_body_len(&mut staged.buf, body_len as u32);
            self.sealed.push_back(staged);
        }
    }

    /// Marks the open frame as one that recovery may begin at.
    pub(crate) fn mark(&mut self) {
        self.marked = (self.open.as_ref().map_or(0, |open| open.seq), None);
    }

    /// Where the marked frame is, once its write has begun.
    pub(crate) fn marked(&self) -> Option<Start> {
        self.marked.1
    }

    /// Begins writes while slots are free.
    pub(crate) fn submit(&mut self) -> Result<(), Poisoned> {
        self.check()?;
        self.maintain()?;
        self.start_frames();
        self.start_zeroing();
        Ok(())
    }

    fn start_frames(&mut self) {
        while self.has_slot() {
            if self.sealed.is_empty() && !self.is_held_back() {
                self.seal();
            }
            let Some(staged) = self.sealed.pop_front() else {
                break;
            };
            self.start_frame(staged);
        }
        if self.sealed.is_empty() && self.open.is_none() {
            self.waiting_since = None;
        }
    }

    /// Whether the open frame waits for more, as the durability says.
    fn is_held_back(&self) -> bool {
        self.submit_in().is_some_and(|wait| wait > Duration::ZERO)
    }

    /// How long the open frame may wait still, where the durability says that it waits.
    fn submit_in(&self) -> Option<Duration> {
        match (self.options.durability, self.waiting_since) {
            (Durability::Interval(interval), Some(since)) => {
                Some(interval.saturating_sub(since.elapsed()))
            }
            _ => None,
        }
    }

    fn start_frame(&mut self, staged: Staged) {
        let Staged {
            seq,
            segment,
            offset,
            mut buf,
        } = staged;
        debug_assert_eq!(seq, self.started + 1, "frames are written in order");
        let body_len = read_body_len(&buf);
        let body = buf
            .get(HEADER..HEADER + body_len as usize)
            .unwrap_or_default();
        let header = FrameHeader {
            seq,
            epoch: self.epoch,
            acked: self.durable,
            prev: self.prev,
            segment,
            body_len,
            body_crc: crc32c::crc32c(body),
        };
        if self.marked.0 == seq {
            let (epoch, prev) = (self.epoch, self.prev);
            self.marked.1 = Some(Start {
                segment,
                offset,
                seq,
                epoch,
                prev,
            });
        }
        let (bytes, checksum) = header.encode(&self.store);
        crate::frame::copy_fields(&mut buf, &[&bytes]);
        let buf = self.recent.keep(seq, segment, offset, buf, self.durable);
        self.prev = checksum;
        self.started = seq;
        self.stats.frames += 1;
        self.stats.frame_bytes += buf.len() as u64;
        self.in_flight.push_back(InFlight { seq, done: false });
        self.start_write(FileName::Segment(segment), u64::from(offset), buf, seq);
    }

    fn start_write(&mut self, name: FileName, offset: u64, buf: Arc<AlignedBuf>, tag: u64) {
        self.outstanding += 1;
        self.stats.writes += 1;
        self.disk.start_write(Write {
            name,
            offset,
            buf,
            tag,
        });
    }

    /// Takes in writes that have ended, waiting for one if told to, and begins others.
    pub(crate) fn poll(&mut self, wait: bool) -> Result<u64, Poisoned> {
        self.submit()?;
        let mut wait = wait && self.outstanding > 0;
        while let Some(done) = self.disk.next_done(wait) {
            wait = false;
            self.handle_done(&done)?;
        }
        self.submit()?;
        Ok(self.acknowledged())
    }

    fn handle_done(&mut self, done: &Done) -> Result<(), Poisoned> {
        self.outstanding -= 1;
        if let Err(error) = &done.result {
            return Err(self.poison("a write failed", error));
        }
        if done.tag == ZEROING {
            self.room.zeroed();
            return Ok(());
        }
        if let Some(flight) = self
            .in_flight
            .iter_mut()
            .find(|flight| flight.seq == done.tag)
        {
            flight.done = true;
        }
        while self.in_flight.front().is_some_and(|flight| flight.done) {
            if let Some(flight) = self.in_flight.pop_front() {
                debug_assert_eq!(flight.seq, self.durable + 1, "acknowledged in order");
                self.durable = flight.seq;
            }
        }
        Ok(())
    }

    /// Writes a block durably before anything else happens.
    fn write_now(&mut self, name: FileName, offset: u64, bytes: &[u8]) -> Result<(), Poisoned> {
        let mut buf = AlignedBuf::with_capacity(bytes.len(), self.alignment as usize);
        buf.extend_from_slice(bytes);
        buf.pad();
        while self.outstanding >= self.disk.max_in_flight() {
            self.wait_for_one()?;
        }
        self.start_write(name, offset, Arc::new(buf), NOW);
        while self.wait_for_one()? != NOW {}
        Ok(())
    }

    fn wait_for_one(&mut self) -> Result<u64, Poisoned> {
        let Some(done) = self.disk.next_done(true) else {
            let error = io::Error::other("a write was lost by the disk");
            return Err(self.poison("a write failed", &error));
        };
        self.handle_done(&done)?;
        Ok(done.tag)
    }

    fn write_header(&mut self, number: u32, len: u32) -> Result<(), Poisoned> {
        let (store, alignment) = (self.store, self.alignment);
        let header = SegmentHeader {
            store,
            alignment,
            number,
            len: u64::from(len),
        };
        self.write_now(FileName::Segment(number), 0, &header.encode())
    }

    /// Makes `start` the place where recovery begins. Everything up to its checkpoint's end is
    /// durable.
    pub(crate) fn set_root(&mut self, start: Start) -> Result<(), Poisoned> {
        let root = Root {
            generation: self.root.generation + 1,
            start,
            ..self.root
        };
        let slot = root.generation % 2 * SLOT;
        debug_assert!(BLOCK <= self.alignment as usize);
        self.write_now(FileName::Root, slot, &root.encode())?;
        self.root = root;
        self.trim()
    }

    /// Sleeps as the disk does, but not longer than a frame may wait that has a free slot.
    pub(crate) fn park(&mut self, timeout: Option<Duration>) {
        let due = self.submit_in().filter(|_| self.has_slot());
        let timeout = match (timeout, due) {
            (Some(timeout), Some(due)) => Some(timeout.min(due)),
            (timeout, due) => timeout.or(due),
        };
        self.disk.park(timeout);
    }

    fn has_slot(&self) -> bool {
        self.in_flight.len() < self.slots && self.outstanding < self.disk.max_in_flight()
    }
}

// A sealed frame keeps its body's length where the header will have it.
fn write_body_len(buf: &mut AlignedBuf, len: u32) {
    if let Some(bytes) = buf.get_mut(40..44) {
        bytes.copy_from_slice(&len.to_le_bytes());
    }
}

fn read_body_len(buf: &AlignedBuf) -> u32 {
    let bytes = buf.get(40..44).and_then(|bytes| bytes.first_chunk());
    bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
}
