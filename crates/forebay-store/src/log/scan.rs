//! Reading the log again beside its writer, for those who want to see what was.

use std::io;

use super::Log;
use crate::{
    disk::{AlignedBuf, Disk, FileName},
    frame::{FrameHeader, HEADER},
    record::Records,
};

/// Bytes read at once.
const WINDOW: u64 = 1 << 20;
/// Frames begin at multiples of this or more.
pub(super) const STEP: u64 = 512;

/// A part of a segment, read last.
pub(super) struct Window {
    file: FileName,
    len: u64,
    from: u64,
    buf: AlignedBuf,
}

impl Window {
    pub(super) fn new(file: FileName, len: u64, alignment: u32) -> Self {
        Self {
            file,
            len,
            from: 0,
            buf: AlignedBuf::with_capacity(0, alignment as usize),
        }
    }

    /// The bytes at a place, or `None` if the segment ends before.
    pub(super) fn get<D: Disk>(
        &mut self,
        disk: &mut D,
        at: u64,
        len: u64,
    ) -> io::Result<Option<&[u8]>> {
        let alignment = disk.alignment() as u64;
        let end = at.saturating_add(len);
        if end > self.len / alignment * alignment {
            return Ok(None);
        }
        if at < self.from || end > self.from + self.buf.len() as u64 {
            self.from = at / alignment * alignment;
            let to = end.max((self.from + WINDOW).min(self.len)) / alignment * alignment;
            let to = to.max(end.next_multiple_of(alignment));
            self.buf = AlignedBuf::zeroed((to - self.from) as usize, alignment as usize);
            disk.read_at(self.file, self.from, &mut self.buf)?;
        }
        let start = (at - self.from) as usize;
        Ok(self.buf.get(start..start + len as usize))
    }
}

impl<D: Disk> Log<D> {
    /// The segments that frames were written to, backups too, oldest first.
    pub(crate) fn written_segments(&self) -> Vec<u32> {
        let head = self.room.head.segment;
        let segments = self.segments.iter();
        let written = segments
            .filter(|(number, segment)| segment.len > 0 && *number <= head)
            .map(|(number, _)| number);
        self.backups()
            .map(|(number, _)| number)
            .chain(written)
            .collect()
    }

    /// Shows the records of every frame of a segment that is whole on disk, in order.
    ///
    /// # Errors
    /// When the segment can't be read to its end.
    pub(crate) fn scan(
        &mut self,
        segment: u32,
        mut each: impl FnMut(Records<'_>),
    ) -> io::Result<()> {
        let head = self.room.head;
        let (file, file_len) = self.file_of(segment);
        let len = if segment == head.segment {
            u64::from(head.at)
        } else {
            file_len
        };
        let mut window = Window::new(file, len, self.alignment);
        let mut at = STEP;
        while let Some(bytes) = window.get(&mut self.disk, at, HEADER as u64)? {
            let header = FrameHeader::decode(bytes, &self.store);
            let Some((header, _)) = header.filter(|(header, _)| header.segment == segment) else {
                at += STEP;
                continue;
            };
            let (body_at, body_len) = (at + HEADER as u64, u64::from(header.body_len));
            let body = window.get(&mut self.disk, body_at, body_len)?;
            let whole = body.filter(|body| crc32c::crc32c(body) == header.body_crc);
            if let Some(body) = whole {
                each(Records::new(body, segment, body_at as u32));
                at += header.padded_len(STEP as u32);
            } else {
                at += STEP;
            }
        }
        Ok(())
    }
}
