//! Compaction: what still lives in old segments is copied forward, so that they die.
//!
//! Segments die oldest first, so one message that nobody takes would pin everything behind it.
//! Once enough was written or finished since the last look, the store counts what lives. If closed
//! segments hold three quarters as much again and one segment more, the contents in the oldest of
//! them are written again at the head, a step beside each batch, and the checkpoint behind that
//! lets the emptied segments die; then it looks again, until it is down to half as much again. One
//! pass copies an eighth of what lives at most, so that the copies themselves take little room.
//!
//! Units: bytes of files; a content counts once, however many queues have it.

use std::collections::{HashMap, HashSet};

use super::Store;
use crate::{
    disk::{Disk, FileName},
    error::{CommitError, Poisoned, RotateError},
    index::Entry,
    options::{Access, Options},
    record::{self, CONTENT_HEAD, ContentRef},
    segments::Segment,
    types::{QueueId, Rowid},
};

/// Entries looked at between two looks at the budget.
const RUN: usize = 1024;
/// A store that is short of room counts again once this part of a segment was written or done with.
const PRESSED_SHARE: u64 = 16;
/// Bytes that a checkpoint takes for a pending message, about.
pub(super) const ENTRY_TOLD: u64 = 16;
/// Contents counted one by one; of more, a share is counted and multiplied.
const SAMPLE_MAX: u64 = 1 << 16;
/// Contents whose new place is remembered for the other queues that have them. One that is met
/// again after it was forgotten is copied again.
const MOVED_MAX: usize = 1 << 16;

#[derive(Debug)]
pub(super) struct Compactor {
    segment_size: u64,
    after_bytes: u64,
    step_bytes: usize,
    /// How far [`Store::changed`] was at the last count, if there was one.
    counted_at: Option<u64>,
    /// Whether the last room that was asked for is not there.
    pressed: bool,
    /// Bytes that lived at the last count.
    live: u64,
    stage: Stage,
    /// The oldest segment with a content that can't be read.
    pinned: Option<u32>,
    passes: u64,
    copied: u64,
}

#[derive(Debug)]
enum Stage {
    Idle,
    Pass(Pass),
    /// The pass is over; its segments die once the checkpoint of this number is complete.
    Settling(u64),
}

/// A segment that is not written to any more.
struct Closed {
    number: u32,
    len: u64,
    /// Bytes in it that live.
    lives: u64,
}

/// The youngest segment to empty so that closed ones hold half as much again as lives and a
/// segment more, or as far towards that as one pass goes.
fn bound_kept<'a>(
    closed: impl Iterator<Item = &'a Closed>,
    mut total: u64,
    live: u64,
    segment_size: u64,
) -> Option<u32> {
    let (mut copies, mut last) = (0, None);
    for it in closed {
        let too_much = copies > 0 && copies + it.lives > (live / 8).max(segment_size / 2);
        if total <= live + live / 2 + segment_size || too_much {
            break;
        }
        copies += it.lives;
        total -= it.len.saturating_sub(it.lives);
        last = Some(it.number);
    }
    last
}

/// The youngest segment to empty so that there is more room than before, where `room` is all that
/// the copies may take. A pass that can't be finished would take room and give none.
fn room_gained<'a>(closed: impl Iterator<Item = &'a Closed>, room: u64) -> Option<u32> {
    let (mut copies, mut gained, mut last) = (0, 0, None);
    for it in closed {
        copies += it.lives;
        // Copies are padded to whole blocks.
        if copies + copies / 2 > room {
            break;
        }
        gained += it.len.saturating_sub(it.lives);
        if gained >= copies / 4 {
            last = Some(it.number);
        }
    }
    last
}

/// A walk over all queues that empties the oldest segments.
#[derive(Debug)]
struct Pass {
    /// The youngest segment to empty.
    last: u32,
    slot: u32,
    below: Rowid,
    moved: HashMap<(u32, u32), ContentRef>,
}

impl Pass {
    fn new(last: u32) -> Self {
        Self {
            last,
            slot: 0,
            below: Rowid::MAX,
            moved: HashMap::new(),
        }
    }
}

impl Compactor {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            segment_size: u64::from(options.segment_size),
            after_bytes: options.compact_after,
            step_bytes: options.checkpoint_step,
            counted_at: None,
            pressed: false,
            live: 0,
            stage: Stage::Idle,
            pinned: None,
            passes: 0,
            copied: 0,
        }
    }

    /// Whether a count is due, with so much written and done with since the store was opened.
    ///
    /// A store that is short of room looks early, and once at all: what was done with before it was
    /// opened is not in `changed`, and nothing more may be done with while it is full.
    fn is_due(&self, changed: u64) -> bool {
        let usual = self.after_bytes.max(self.live / 16);
        match self.counted_at {
            None if self.pressed => true,
            Some(at) if self.pressed => {
                changed - at >= usual.min(self.segment_size / PRESSED_SHARE)
            }
            at => changed - at.unwrap_or(0) >= usual,
        }
    }

    /// Passes completed.
    pub(super) fn passes(&self) -> u64 {
        self.passes
    }

    /// Bytes copied.
    pub(super) fn copied(&self) -> u64 {
        self.copied
    }
}

impl<D: Disk> Store<D> {
    /// Whether a pass is under way, or what it emptied is not gone yet.
    pub(super) fn is_compacting(&self) -> bool {
        !matches!(self.compactor.stage, Stage::Idle)
    }

    /// The oldest segment with a pending content that could not be read, if there is one.
    pub(super) fn pinned(&self) -> Option<FileName> {
        let number = self.compactor.pinned?;
        let segment = self.log.segments.get(number)?;
        (segment.live > 0).then_some(FileName::Segment(number))
    }

    /// Whether `len` bytes that add data would be taken. Where not, what is done with is looked for
    /// early.
    pub(super) fn asks_for_room(&mut self, len: usize) -> bool {
        let has_room = self
            .log
            .has_room_for_data(len, self.state.pending() * ENTRY_TOLD);
        self.compactor.pressed = !has_room;
        has_room
    }

    /// Begins a pass that empties all segments before `head`.
    pub(super) fn empty_before(&mut self, head: u32) {
        self.compactor.stage = Stage::Pass(Pass::new(head - 1));
    }

    /// Bytes written and bytes of contents done with, since the store was opened.
    fn changed(&self) -> u64 {
        self.log.stats.frame_bytes + self.state.released()
    }

    /// Takes the next step of a pass, or sees whether one is due.
    pub(super) fn step_compaction(&mut self) -> Result<(), Poisoned> {
        match &self.compactor.stage {
            _ if self.access == Access::Read => return Ok(()),
            Stage::Idle if self.state.is_rotation_due() => match self.rotate() {
                Ok(()) => {}
                Err(RotateError::Poisoned(poisoned)) => return Err(poisoned),
                Err(error) => {
                    self.log.refused = Some(error.to_string());
                    self.state.restart_rotation();
                }
            },
            Stage::Idle => {
                if !self.compactor.is_due(self.changed()) {
                    return Ok(());
                }
                self.plan(3);
            }
            Stage::Settling(checkpoint) => {
                if self.checkpointer.completed() < *checkpoint {
                    return Ok(());
                }
                self.plan(2);
            }
            Stage::Pass(_) => {}
        }
        let Stage::Pass(mut pass) = std::mem::replace(&mut self.compactor.stage, Stage::Idle)
        else {
            return Ok(());
        };
        self.compactor.stage = match self.empty_some(&mut pass) {
            Ok(false) => Stage::Pass(pass),
            Ok(true) => {
                self.compactor.passes += 1;
                Stage::Settling(self.checkpointer.hurry())
            }
            Err(CommitError::Poisoned(poisoned)) => return Err(poisoned),
            // No room to copy to: the next count sees to it.
            Err(_) => Stage::Idle,
        };
        Ok(())
    }

    /// Counts what lives, and begins a pass where closed segments hold more than that, some
    /// `quarters` of it and a segment.
    fn plan(&mut self, quarters: u64) {
        let mut lives = self.count();
        let live: u64 = lives.values().sum();
        let of_checkpoint = self.state.pending() * ENTRY_TOLD;
        let compactor = &mut self.compactor;
        let segment_size = compactor.segment_size;
        compactor.live = live;
        compactor.counted_at = Some(self.log.stats.frame_bytes + self.state.released());
        compactor.stage = Stage::Idle;
        let segments = &self.log.segments;
        let pinned = compactor.pinned.and_then(|at| segments.get(at));
        if pinned.is_none_or(|segment| segment.live == 0) {
            compactor.pinned = None;
        }
        // What is written to, and what is made ready behind it, stays.
        let closed = || {
            segments
                .iter()
                .take_while(|&(number, _)| number < self.log.head())
        };
        let is_empty = |segment: &Segment| segment.live == 0;
        let empty = closed()
            .take_while(|(_, segment)| is_empty(segment))
            .count();
        // One stays to be written to again, unless its room is wanted now.
        if empty > usize::from(!compactor.pressed) {
            self.checkpointer.hurry();
        }
        let closed = closed().skip(empty).map(|(number, segment)| Closed {
            number,
            len: u64::from(segment.len),
            lives: lives.remove(&number).unwrap_or_default(),
        });
        let closed: Vec<Closed> = closed.collect();
        let unpinned = closed
            .iter()
            .take_while(|it| Some(it.number) != compactor.pinned);
        let total: u64 = closed.iter().map(|it| it.len).sum();
        let last = if compactor.pressed {
            room_gained(
                unpinned,
                self.log.room_to_move().saturating_sub(of_checkpoint),
            )
        } else if total <= live + live / 4 * quarters + segment_size {
            None
        } else {
            bound_kept(unpinned, total, live, segment_size)
        };
        if let Some(last) = last {
            compactor.stage = Stage::Pass(Pass::new(last));
        }
    }

    /// Bytes that live in each segment.
    fn count(&self) -> HashMap<u32, u64> {
        let share = (self.state.pending() / SAMPLE_MAX + 1).next_power_of_two();
        let mut seen = HashSet::new();
        let mut lives: HashMap<u32, u64> = HashMap::new();
        for queue in self.state.queues.iter() {
            for entry in queue.entries() {
                let at = entry.content();
                let place = u64::from(at.segment) << 32 | u64::from(at.offset);
                if spread(place) & (share - 1) == 0 && seen.insert(place) {
                    *lives.entry(at.segment).or_default() += share * stored_len(at);
                }
            }
        }
        lives
    }

    /// Moves contents until the budget of a step is used. `true` at the end of the pass.
    fn empty_some(&mut self, pass: &mut Pass) -> Result<bool, CommitError> {
        let mut copied = 0;
        while copied < self.compactor.step_bytes {
            let Some(queue) = self.state.queues.slot(pass.slot) else {
                pass.slot += 1;
                pass.below = Rowid::MAX;
                if pass.slot >= self.state.queues.slots() {
                    return Ok(true);
                }
                continue;
            };
            let id = queue.id;
            let run = queue.pending_below(pass.below, RUN);
            let Some(&(first, _)) = run.first() else {
                pass.slot += 1;
                pass.below = Rowid::MAX;
                continue;
            };
            for (rowid, entry) in run.into_iter().rev() {
                if entry.content().segment <= pass.last {
                    copied += self.move_one(pass, (id, rowid), &entry)?;
                }
                pass.below = rowid;
                if copied >= self.compactor.step_bytes {
                    return Ok(false);
                }
            }
            pass.below = first;
        }
        Ok(false)
    }

    /// Gives a message a content at the head, and answers how much was written.
    fn move_one(
        &mut self,
        pass: &mut Pass,
        (id, rowid): (QueueId, Rowid),
        entry: &Entry,
    ) -> Result<usize, CommitError> {
        let old = entry.content();
        let known = pass.moved.get(&(old.segment, old.offset)).copied();
        let content = if known.is_some() {
            None
        } else {
            let held = self.state.queues.get(id).and_then(|it| it.content(rowid));
            let content = match held.cloned() {
                Some(content) => Ok(content),
                None => self.log.read_content(old),
            };
            // It stays where it is, with everything behind it: nothing unreadable is deleted.
            let Ok(content) = content else {
                let pinned = self.compactor.pinned.get_or_insert(old.segment);
                *pinned = old.segment.min(*pinned);
                return Ok(0);
            };
            Some(content)
        };
        let len = content
            .as_ref()
            .map_or(0, |it| record::bound(it.bytes.len() + CONTENT_HEAD))
            + record::bound(0);
        // What was begun for want of room was found to fit into what is kept back.
        let told = self.state.pending() * ENTRY_TOLD;
        if !self.compactor.pressed && !self.log.has_room_for_data(len, told) {
            return Err(CommitError::Full);
        }
        self.log.reserve(len)?;
        let Some((seq, segment, frame, buf)) = self.log.frame() else {
            return Ok(0);
        };
        let near = content.is_some();
        let to = match (known, content) {
            (Some(to), _) => to,
            (None, Some(content)) => {
                let at = record::write_content(buf, content.time, &content.bytes) as u32;
                ContentRef {
                    segment,
                    offset: frame + at,
                    len: old.len,
                }
            }
            (None, None) => return Ok(0),
        };
        record::write_moved(buf, id, rowid, to, near);
        let segments = &mut self.log.segments;
        self.state.move_content(segments, (id, rowid), to, seq);
        if near {
            if pass.moved.len() == MOVED_MAX {
                pass.moved.clear();
            }
            pass.moved.insert((old.segment, old.offset), to);
        }
        self.compactor.copied += len as u64;
        self.checkpointer.note_bytes(len as u64);
        Ok(len)
    }
}

/// Bytes that a content takes in its segment, about.
fn stored_len(at: ContentRef) -> u64 {
    (CONTENT_HEAD + 8) as u64 + u64::from(at.len)
}

/// Mixes a place, so that any bits of it make a fair sample.
fn spread(place: u64) -> u64 {
    let mixed = place.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed >> 32 ^ mixed
}
