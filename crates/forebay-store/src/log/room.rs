//! Where the log goes on: the segment after the head, made before it is needed.
//!
//! Owns the life of a segment's file. Files are made with their blocks allocated, and zeros are
//! written over them a step at a time beside the frames, because a first write to a block costs
//! the file system a journal commit. Dead segments, oldest first, are used again instead.

use std::{io, sync::Arc};

use super::{Head, Log, ZEROING};
use crate::{
    disk::{AlignedBuf, Disk, FileName},
    error::{CommitError, Poisoned},
};

/// The free space is looked at again once this part of a segment was written.
const FREE_SHARE: u64 = 64;
/// Bytes of zeros in one write.
const STEP: u32 = 1 << 20;

#[derive(Debug)]
pub(super) struct Room {
    pub(super) head: Head,
    /// The length of the segment after the head, if its file is ready.
    next: Option<u32>,
    zeroing: Option<Zeroing>,
    /// From where in the head on the next segment is made.
    prepare_at: u32,
    /// The space above the low water when this many bytes of frames had been written.
    free: (u64, u64),
}

/// A new segment, which is the next one or the head.
#[derive(Debug)]
struct Zeroing {
    segment: u32,
    at: u32,
    len: u32,
    in_flight: bool,
}

impl Head {
    pub(super) fn left(&self) -> u32 {
        self.len - self.at
    }
}

impl Room {
    pub(super) fn new(head: Head, next: Option<u32>) -> Self {
        Self {
            head,
            next,
            zeroing: None,
            prepare_at: head.len / 4,
            free: (0, 0),
        }
    }

    pub(super) fn zeroed(&mut self) {
        if let Some(zeroing) = &mut self.zeroing {
            zeroing.in_flight = false;
            zeroing.at = (zeroing.at + STEP).min(zeroing.len);
            if zeroing.at == zeroing.len {
                self.zeroing = None;
            }
        }
    }
}

impl<D: Disk> Log<D> {
    /// Goes on in the next segment, which takes a frame of `need` bytes.
    pub(super) fn roll(&mut self, need: u32) -> Result<(), CommitError> {
        debug_assert!(self.open.is_none());
        if self.room.next.is_none() {
            self.prepare()?;
        }
        let len = self.room.next.unwrap_or_default();
        if need > len.saturating_sub(self.alignment) {
            let max = len.saturating_sub(self.alignment) as usize;
            return Err(CommitError::TooLarge {
                len: need as usize,
                max,
            });
        }
        // Zeros that are still on their way must not land on a frame.
        while self
            .room
            .zeroing
            .as_ref()
            .is_some_and(|zeroing| zeroing.in_flight)
        {
            self.wait_for_one()?;
        }
        self.room.zeroing = None;
        let segment = self.room.head.segment + 1;
        self.room = Room::new(
            Head {
                segment,
                len,
                at: self.alignment,
            },
            None,
        );
        Ok(())
    }

    /// Goes on in a segment that holds nothing yet, and answers its number.
    pub(crate) fn go_on_in_another(&mut self) -> Result<u32, CommitError> {
        self.seal();
        if self.room.head.at > self.alignment {
            self.roll(self.alignment)?;
        }
        Ok(self.room.head.segment)
    }

    /// Makes the segment after the head: a dead one used again, or a new file.
    fn prepare(&mut self) -> Result<(), CommitError> {
        let number = self.room.head.segment + 1;
        let name = FileName::Segment(number);
        let len = self.options.segment_size;
        if self.use_again(name, len)? {
            self.stats.syncs += 1;
        } else {
            match self.disk.create(name, u64::from(len)) {
                Ok(()) => {}
                Err(error) if is_full(&error) => return Err(CommitError::Full),
                Err(error) => return Err(CommitError::Io(error)),
            }
            self.stats.syncs += 1;
            let at = self.alignment;
            self.room.zeroing = Some(Zeroing {
                segment: number,
                at,
                len,
                in_flight: false,
            });
        }
        self.write_header(number, len)?;
        self.segments.add(number, len);
        self.room.next = Some(len);
        self.room.free = (0, 0);
        Ok(())
    }

    /// The oldest segment and its length, if nothing needs it any more.
    pub(super) fn dead(&self) -> Option<(u32, u32)> {
        let (number, segment) = self.segments.first()?;
        let dead = segment.live == 0
            && segment.emptied <= self.durable
            && number < self.root.start.segment;
        dead.then_some((number, segment.len))
    }

    /// Gives a file that nothing needs any more a new name, if there is one.
    fn use_again(&mut self, name: FileName, len: u32) -> Result<bool, Poisoned> {
        let dead = self.dead().filter(|_| self.options.backups == 0);
        let old = match dead {
            Some((number, dead_len)) if dead_len == len => FileName::Segment(number),
            Some(_) => return Ok(false),
            None => match self.spare_backup(u64::from(len)) {
                Some(number) => FileName::Backup(number),
                None => return Ok(false),
            },
        };
        if let Err(error) = self.disk.rename(old, name) {
            self.refuse(old, &error);
            return Ok(false);
        }
        self.sync_dir()?;
        if let FileName::Backup(number) = old {
            self.forget_backup(number);
        } else {
            self.segments.remove_first();
        }
        Ok(true)
    }

    /// Removes dead segments but for one that is used again, or makes backups of them.
    pub(super) fn trim(&mut self) -> Result<(), Poisoned> {
        self.refused = None;
        if self.options.backups > 0 {
            return self.keep_dead();
        }
        let mut removed = false;
        while let Some((number, len)) = self.dead() {
            let after = self.segments.get(number + 1);
            let another = after.is_some_and(|segment| {
                segment.live == 0
                    && segment.emptied <= self.durable
                    && number + 1 < self.root.start.segment
            });
            if len == self.options.segment_size && !another {
                break;
            }
            if len > 0 {
                let name = FileName::Segment(number);
                if let Err(error) = self.disk.remove(name) {
                    self.refuse(name, &error);
                    break;
                }
                removed = true;
            }
            self.segments.remove_first();
        }
        if removed { self.sync_dir() } else { Ok(()) }
    }

    /// Makes the next segment before it is needed.
    pub(super) fn maintain(&mut self) -> Result<(), Poisoned> {
        let head = self.room.head;
        if self.room.next.is_some() || head.at < self.room.prepare_at {
            return Ok(());
        }
        // Not again for every frame where it can't be done.
        self.room.prepare_at = head.at + (head.left() / 4).max(self.alignment);
        if self.dead().is_none() && self.free_above_low_water() < u64::from(head.len) {
            return Ok(());
        }
        match self.prepare() {
            Err(CommitError::Poisoned(poisoned)) => Err(poisoned),
            _ => Ok(()),
        }
    }

    pub(super) fn start_zeroing(&mut self) {
        if self.outstanding >= self.disk.max_in_flight() {
            return;
        }
        let Some(zeroing) = self
            .room
            .zeroing
            .as_mut()
            .filter(|zeroing| !zeroing.in_flight)
        else {
            return;
        };
        zeroing.in_flight = true;
        let len = STEP.min(zeroing.len - zeroing.at) as usize;
        let (name, offset) = (FileName::Segment(zeroing.segment), u64::from(zeroing.at));
        let buf = Arc::new(AlignedBuf::zeroed(len, self.alignment as usize));
        self.start_write(name, offset, buf, ZEROING);
    }

    fn free_above_low_water(&mut self) -> u64 {
        let free = self.disk.free_space().unwrap_or_default();
        free.saturating_sub(self.options.low_water)
    }

    /// Bytes that may be moved to the head where the space is short, which is all that there is but
    /// for an eighth of a segment.
    pub(crate) fn room_to_move(&mut self) -> u64 {
        let len = u64::from(self.options.segment_size);
        let files = self.disk.free_space().unwrap_or_default() / len * len;
        let dead = self.dead().map_or(0, |(_, len)| u64::from(len));
        let room = u64::from(self.room.head.left()) + self.room.next.map_or(0, u64::from);
        (room + dead + files).saturating_sub(len / 8)
    }

    /// Whether `len` bytes that add data leave enough room for what only takes away: steps and
    /// ends of messages, and a checkpoint of `told` bytes, without which no segment dies.
    pub(crate) fn has_room_for_data(&mut self, len: usize, told: u64) -> bool {
        let segment = u64::from(self.options.segment_size);
        let need = len as u64 + u64::from(self.alignment) + segment / 4 + told;
        let mut room = u64::from(self.room.head.left()) + self.room.next.map_or(0, u64::from);
        room = room.saturating_sub(self.open.as_ref().map_or(0, |open| open.buf.len() as u64));
        if room < need {
            room += self.dead().map_or(0, |(_, len)| u64::from(len));
        }
        // A whole segment is made or none.
        room >= need || room + self.free_seen() / segment * segment >= need
    }

    /// The space above the low water, as it was a part of a segment ago if that was enough for one.
    fn free_seen(&mut self) -> u64 {
        let segment = u64::from(self.options.segment_size);
        let written = self.stats.frame_bytes;
        let (at, seen) = self.room.free;
        if seen < segment || written - at >= segment / FREE_SHARE {
            self.room.free = (written, self.free_above_low_water());
        }
        self.room.free.1
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}
