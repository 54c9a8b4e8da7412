//! From frame to frame through the segments.

use super::files::Files;
use crate::{
    disk::{Disk, FileName},
    error::{Damage, OpenError},
    frame::{FrameHeader, HEADER},
    header::Start,
    record::{BadRecord, Record, Records},
    state::Replay,
};

/// A place between two frames.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    pub(super) segment: u32,
    pub(super) offset: u32,
    /// The frame that comes next.
    pub(super) seq: u64,
    /// The checksum of the frame before; `None` where any will do.
    pub(super) prev: Option<u32>,
    epoch: u64,
    /// The frame before.
    pub(super) last: Option<Landed>,
}

/// A frame whose header is there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Landed {
    pub(super) segment: u32,
    pub(super) offset: u32,
    pub(super) header: FrameHeader,
}

/// A frame that checks.
#[derive(Debug)]
pub(super) struct Frame<'a> {
    pub(super) at: Landed,
    /// The checksum of the frame before.
    prev: u32,
    pub(super) body: &'a [u8],
}

impl Walk {
    pub(super) fn new(start: Start) -> Self {
        let Start {
            segment,
            offset,
            seq,
            epoch,
            prev,
        } = start;
        Self {
            segment,
            offset,
            seq,
            prev: Some(prev),
            epoch,
            last: None,
        }
    }

    /// Goes over the next frame.
    pub(super) fn next<'a, D: Disk>(
        &mut self,
        files: &'a mut Files<D>,
    ) -> Result<Option<Frame<'a>>, OpenError> {
        let Some((landed, checksum)) = self.find_next(files)? else {
            return Ok(None);
        };
        let Landed {
            segment,
            offset,
            header,
        } = landed;
        let padded = header.padded_len(files.alignment(segment));
        self.segment = segment;
        // It lies inside the file, whose length fits.
        self.offset = u32::try_from(u64::from(offset) + padded).unwrap_or(u32::MAX);
        self.seq = header.seq + 1;
        self.prev = Some(checksum);
        self.epoch = header.epoch;
        self.last = Some(landed);
        let body_at = u64::from(offset) + HEADER as u64;
        let body = files
            .bytes(segment, body_at, header.body_len as usize)?
            .unwrap_or_default();
        Ok(Some(Frame {
            at: landed,
            prev: header.prev,
            body,
        }))
    }

    /// The next frame, here or at the begin of the next segment, and its checksum.
    pub(super) fn find_next<D: Disk>(
        &self,
        files: &mut Files<D>,
    ) -> Result<Option<(Landed, u32)>, OpenError> {
        let mut at = (self.segment, self.offset);
        let mut found = self.check(files, at)?;
        let next = self.segment + 1;
        if found.is_none()
            && files
                .segment(next)
                .is_some_and(|found| found.header.is_some())
        {
            at = (next, files.alignment(next));
            found = self.check(files, at)?;
        }
        let landed = |header| Landed {
            segment: at.0,
            offset: at.1,
            header,
        };
        Ok(found.map(|(header, checksum)| (landed(header), checksum)))
    }

    /// The header at a place, if it begins the frame that comes next and all of that is there.
    fn check<D: Disk>(
        &self,
        files: &mut Files<D>,
        (segment, offset): (u32, u32),
    ) -> Result<Option<(FrameHeader, u32)>, OpenError> {
        let Some((header, checksum)) = files.frame_header(segment, offset)? else {
            return Ok(None);
        };
        let follows = header.seq == self.seq
            && header.epoch >= self.epoch
            && self.prev.is_none_or(|prev| prev == header.prev);
        if !follows {
            return Ok(None);
        }
        let whole = body_checks(files, segment, offset, &header)?;
        Ok(whole.then_some((header, checksum)))
    }

    /// Frames from here on that are not older than the next one, in order of their places.
    pub(super) fn landed<D: Disk>(&self, files: &mut Files<D>) -> Result<Vec<Landed>, OpenError> {
        let mut landed = Vec::new();
        let segments: Vec<_> = files
            .segments()
            .filter(|&(n, _)| n >= self.segment)
            .collect();
        for (segment, found) in segments {
            let alignment = files.alignment(segment);
            let mut at = if segment == self.segment {
                self.offset
            } else {
                alignment
            };
            while u64::from(at) + HEADER as u64 <= found.len {
                if let Some((header, _)) = files.frame_header(segment, at)?
                    && header.seq >= self.seq
                {
                    landed.push(Landed {
                        segment,
                        offset: at,
                        header,
                    });
                }
                at = at.saturating_add(alignment);
            }
        }
        Ok(landed)
    }

    /// Goes on at the first of these frames that is whole; `false` if none is.
    pub(super) fn resync<D: Disk>(
        &mut self,
        files: &mut Files<D>,
        landed: &[Landed],
    ) -> Result<bool, OpenError> {
        for &Landed {
            segment,
            offset,
            header,
        } in landed
        {
            if body_checks(files, segment, offset, &header)? {
                *self = Self {
                    segment,
                    offset,
                    seq: header.seq,
                    prev: None,
                    epoch: header.epoch,
                    last: self.last,
                };
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn body_checks<D: Disk>(
    files: &mut Files<D>,
    segment: u32,
    offset: u32,
    header: &FrameHeader,
) -> Result<bool, OpenError> {
    let at = u64::from(offset) + HEADER as u64;
    let body = files.bytes(segment, at, header.body_len as usize)?;
    Ok(body.is_some_and(|body| crc32c::crc32c(body) == header.body_crc))
}

impl<'a> Frame<'a> {
    fn records(&self) -> Records<'a> {
        Records::new(self.body, self.at.segment, self.at.offset + HEADER as u32)
    }

    fn start(&self) -> Start {
        let Landed {
            segment,
            offset,
            header,
        } = self.at;
        Start {
            segment,
            offset,
            seq: header.seq,
            epoch: header.epoch,
            prev: self.prev,
        }
    }

    fn bad(&self, bad: BadRecord) -> OpenError {
        let (file, offset) = (
            FileName::Segment(self.at.segment),
            u64::from(self.at.offset),
        );
        match bad {
            BadRecord::Unknown(kind) => OpenError::UnknownRecord { file, offset, kind },
            BadRecord::Malformed => OpenError::Damaged(self.damage("a record is malformed")),
        }
    }

    fn damage(&self, what: &'static str) -> Damage {
        let Landed {
            segment,
            offset,
            header,
        } = self.at;
        let file = FileName::Segment(segment);
        Damage {
            file,
            offset: u64::from(offset),
            seq: header.seq,
            what,
        }
    }

    /// Applies its records. The inner error is what does not fit with what came before.
    pub(super) fn apply(&self, replay: &mut Replay) -> Result<Result<(), Damage>, OpenError> {
        for record in self.records() {
            let record = record.map_err(|bad| self.bad(bad))?;
            if let Err(what) = replay.apply(&record, self.at.header.seq) {
                return Ok(Err(self.damage(what)));
            }
        }
        Ok(Ok(()))
    }
}

/// Where to begin when `ROOT` is lost: the newest checkpoint that is whole, or the log's begin.
pub(super) fn find_start<D: Disk>(files: &mut Files<D>) -> Result<Start, OpenError> {
    let oldest = files.segments().find(|(_, found)| found.header.is_some());
    let oldest = oldest.map_or(1, |(number, _)| number);
    let first = Start::new_log(files.alignment(oldest));
    let mut begun = None;
    let mut start = (oldest == 1).then_some(first);
    let mut walk = Walk {
        prev: None,
        ..Walk::new(Start {
            segment: oldest,
            ..first
        })
    };
    if let Some((header, _)) = files.frame_header(walk.segment, walk.offset)? {
        walk.seq = header.seq;
        if header.seq != 1 {
            start = None;
        }
    }
    while let Some(frame) = walk.next(files)? {
        for record in frame.records() {
            let record = record.map_err(|bad| frame.bad(bad))?;
            if let Record::Begin { checkpoint, .. } = record {
                begun = Some((checkpoint, frame.start()));
            } else if let Record::End { checkpoint } = record
                && let Some((_, begin)) = begun.filter(|&(id, _)| id == checkpoint)
            {
                start = Some(begin);
            }
        }
    }
    start.ok_or_else(|| {
        let (file, offset) = (FileName::Segment(oldest), u64::from(first.offset));
        let what = "ROOT is lost, and no checkpoint is whole";
        OpenError::Damaged(Damage {
            file,
            offset,
            seq: 0,
            what,
        })
    })
}
