//! Reading contents back: from frames still in memory, else from disk a block at a time.

use bytes::Bytes;

use super::Log;
use crate::{
    disk::{AlignedBuf, Disk},
    error::ContentError,
    queue::Content,
    record::{CONTENT_HEAD, ContentRef, read_content},
};

/// What is read at once where reads go on from one another, so that a queue that drains in order
/// reads its segment in order.
const BLOCK: u64 = 128 << 10;
/// What is read at once elsewhere: the messages of a queue may be far apart.
const SMALL: u64 = 8 << 10;
const BLOCKS: usize = 4;

/// Blocks read last. One may be older than what was since written to it, so a content that does
/// not check in it is read anew.
#[derive(Debug, Default)]
pub(super) struct Cache {
    blocks: Vec<Block>,
    next: usize,
    /// The segment that was read last, and where that ended.
    last: (u32, u64),
}

#[derive(Debug)]
struct Block {
    segment: u32,
    offset: u64,
    buf: AlignedBuf,
}

impl Cache {
    fn find(&self, segment: u32, offset: u64, len: usize) -> Option<&[u8]> {
        self.blocks
            .iter()
            .filter(|block| block.segment == segment)
            .find_map(|block| {
                let at = usize::try_from(offset.checked_sub(block.offset)?).ok()?;
                block.buf.get(at..at.checked_add(len)?)
            })
    }

    /// How much to read at a place.
    fn step(&self, segment: u32, offset: u64) -> u64 {
        let (last, end) = self.last;
        let goes_on = segment == last && (end.saturating_sub(SMALL)..end + BLOCK).contains(&offset);
        if goes_on { BLOCK } else { SMALL }
    }

    fn keep(&mut self, block: Block) {
        self.blocks.retain(|old| !old.overlaps(&block));
        if self.blocks.len() < BLOCKS {
            self.blocks.push(block);
        } else if let Some(old) = self.blocks.get_mut(self.next % BLOCKS) {
            *old = block;
            self.next += 1;
        }
    }
}

impl Block {
    fn end(&self) -> u64 {
        self.offset + self.buf.len() as u64
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.segment == other.segment && self.offset < other.end() && other.offset < self.end()
    }
}

impl<D: Disk> Log<D> {
    pub(crate) fn read_content(&mut self, at: ContentRef) -> Result<Content, ContentError> {
        let len = CONTENT_HEAD + at.len as usize;
        let offset = u64::from(at.offset);
        let in_memory = self
            .find_staged(at, len)
            .or_else(|| self.recent.find(at.segment, at.offset, len))
            .or_else(|| self.cache.find(at.segment, offset, len));
        if let Some(content) = in_memory.and_then(content) {
            return Ok(content);
        }
        let (file, _) = self.file_of(at.segment);
        let buf = self
            .read_block(at.segment, offset, len)
            .map_err(|source| ContentError::Io {
                file,
                offset,
                source,
            })?;
        let start = (offset - buf.offset) as usize;
        let found = buf.buf.get(start..start + len).and_then(content);
        if len as u64 <= BLOCK {
            self.cache.keep(buf);
        }
        found.ok_or(ContentError::Damaged { file, offset })
    }

    fn find_staged(&self, at: ContentRef, len: usize) -> Option<&[u8]> {
        self.open.iter().chain(&self.sealed).find_map(|staged| {
            let start = at.offset.checked_sub(staged.offset)? as usize;
            staged
                .buf
                .get(start..start + len)
                .filter(|_| staged.segment == at.segment)
        })
    }

    /// Reads the block around some bytes, or more where they cross its end.
    fn read_block(&mut self, segment: u32, offset: u64, len: usize) -> std::io::Result<Block> {
        let (file, file_len) = self.file_of(segment);
        let alignment = u64::from(self.alignment);
        let step = self.cache.step(segment, offset);
        let start = offset / step * step;
        let end = (offset + len as u64).next_multiple_of(alignment);
        if end > file_len {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let end = end.max((start + step).min(file_len / alignment * alignment));
        let mut buf = AlignedBuf::zeroed((end - start) as usize, self.alignment as usize);
        self.disk.read_at(file, start, &mut buf)?;
        self.cache.last = (segment, end);
        Ok(Block {
            segment,
            offset: start,
            buf,
        })
    }
}

fn content(stored: &[u8]) -> Option<Content> {
    let (time, bytes) = read_content(stored)?;
    Some(Content {
        time,
        bytes: Bytes::copy_from_slice(bytes),
    })
}
