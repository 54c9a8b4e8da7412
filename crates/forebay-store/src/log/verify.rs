//! Reading the whole log again to see whether every byte of it is as it was written.

use std::io;

use super::{
    Log,
    scan::{STEP, Window},
};
use crate::{
    disk::{AlignedBuf, Disk, FileName},
    error::Damage,
    frame::{FrameHeader, HEADER},
    header::{BLOCK, Block, Root, SLOT, SegmentHeader},
    record::Records,
};

/// Where the next segment should go on, and what has been read.
#[derive(Debug, Default)]
pub(crate) struct Chain {
    pub(crate) frames: u64,
    pub(crate) damage: Vec<Damage>,
    /// The end of the last frame: its file, the place behind it, its number and checksum.
    last: Option<(FileName, u64, u64, u32)>,
    /// The segment read last, and whether it is a backup.
    segment: Option<(u32, bool)>,
}

impl Chain {
    fn tell(&mut self, file: FileName, offset: u64, seq: u64, what: &'static str) {
        self.damage.push(Damage {
            file,
            offset,
            seq,
            what,
        });
    }

    /// Something is missing between the last frame and the first good one of a segment, which
    /// begins with something broken or not.
    fn tell_gap(&mut self, file: FileName, broken: Option<u64>) {
        let before = self.last.map(|(before, place, ..)| (before, place));
        let place = broken.map(|place| (file, place)).or(before);
        if let Some((file, place)) = place {
            self.tell(file, place, self.seq(), "a frame does not check");
        }
    }

    /// Whether a frame is the one that comes next.
    fn goes_on_with(&self, header: &FrameHeader) -> bool {
        self.last
            .is_none_or(|(_, _, seq, sum)| header.seq == seq + 1 && header.prev == sum)
    }

    fn seq(&self) -> u64 {
        self.last.map_or(0, |(_, _, seq, _)| seq + 1)
    }
}

impl<D: Disk> Log<D> {
    /// Checks both slots of `ROOT`. One that was never written is zeros.
    pub(crate) fn verify_root(&mut self, chain: &mut Chain) -> io::Result<()> {
        let mut whole = 0;
        for slot in [0, SLOT] {
            let mut buf = AlignedBuf::zeroed(SLOT as usize, self.alignment as usize);
            self.disk.read_at(FileName::Root, slot, &mut buf)?;
            let block = buf.get(..BLOCK).unwrap_or_default();
            match Root::decode(block) {
                Block::Valid(_) => whole += 1,
                Block::Invalid if block.iter().all(|&byte| byte == 0) => {}
                Block::Invalid | Block::Newer(_) => {
                    chain.tell(FileName::Root, slot, 0, "a slot of ROOT does not check");
                }
            }
        }
        if whole == 0 {
            chain.tell(FileName::Root, 0, 0, "ROOT does not say where to begin");
        }
        Ok(())
    }

    /// Checks a segment: its header, every frame, every record, and that it goes on where the one
    /// before ended.
    ///
    /// # Errors
    /// When the segment can't be read to its end.
    pub(crate) fn verify_segment(&mut self, segment: u32, chain: &mut Chain) -> io::Result<()> {
        let (file, file_len) = self.file_of(segment);
        let is_backup = matches!(file, FileName::Backup(_));
        match chain.segment.replace((segment, is_backup)) {
            Some((before, _)) if before + 1 == segment => {}
            // Backups are deleted in any order, other segments oldest first.
            Some((before, false)) => {
                chain.tell(FileName::Segment(before + 1), 0, 0, "a segment is gone");
                chain.last = None;
            }
            _ => chain.last = None,
        }
        let end = if segment == self.room.head.segment {
            u64::from(self.room.head.at)
        } else {
            file_len
        };
        let mut window = Window::new(file, end, self.alignment);
        let alignment = self.verify_header(segment, file_len, &mut window, chain)?;
        let mut at = alignment;
        let mut broken = None;
        let mut any = false;
        while let Some(bytes) = window.get(&mut self.disk, at, HEADER as u64)? {
            let found = FrameHeader::decode(bytes, &self.store);
            let found = found.filter(|(header, _)| {
                header.segment == segment && header.seq >= chain.seq().max(1)
            });
            let Some((header, checksum)) = found else {
                broken.get_or_insert(at);
                at += alignment;
                continue;
            };
            // What follows the last frame of a segment is of no interest, so a bad frame shows by
            // the next good one.
            if !any && chain.last.is_some() && !chain.goes_on_with(&header) {
                chain.tell_gap(file, broken);
            } else if let Some(place) = broken.filter(|_| any || chain.last.is_none()) {
                chain.tell(file, place, chain.seq(), "a frame does not check");
            } else if any && !chain.goes_on_with(&header) {
                chain.tell(
                    file,
                    at,
                    header.seq,
                    "a frame does not follow the one before",
                );
            }
            (any, broken) = (true, None);
            let (body_at, body_len) = (at + HEADER as u64, u64::from(header.body_len));
            let body = window.get(&mut self.disk, body_at, body_len)?;
            match body.filter(|body| crc32c::crc32c(body) == header.body_crc) {
                None => chain.tell(file, at, header.seq, "the records of a frame do not check"),
                Some(body) => {
                    let mut records = Records::new(body, segment, body_at as u32);
                    if records.any(|record| record.is_err()) {
                        chain.tell(file, at, header.seq, "a record is malformed");
                    }
                }
            }
            chain.frames += 1;
            at += header.padded_len(alignment as u32);
            chain.last = Some((file, at, header.seq, checksum));
        }
        Ok(())
    }

    /// Checks the header of a segment and gives its alignment, as good as it can be told.
    fn verify_header(
        &mut self,
        segment: u32,
        len: u64,
        window: &mut Window,
        chain: &mut Chain,
    ) -> io::Result<u64> {
        let file = self.file_of(segment).0;
        let Some(bytes) = window.get(&mut self.disk, 0, BLOCK as u64)? else {
            chain.tell(file, 0, 0, "a segment ends in its header");
            return Ok(STEP);
        };
        match SegmentHeader::decode(bytes) {
            Block::Valid(it) if it.number == segment && it.store == self.store => {
                if it.len != len {
                    chain.tell(file, 0, 0, "a segment is not as long as its header says");
                }
                Ok(u64::from(it.alignment))
            }
            Block::Valid(_) | Block::Invalid | Block::Newer(_) => {
                chain.tell(file, 0, 0, "the header of a segment does not check");
                Ok(STEP)
            }
        }
    }
}
