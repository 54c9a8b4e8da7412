//! The files of a store that is being opened: what their headers say, and their bytes.

use std::{collections::BTreeMap, io, sync::Arc};

use super::walk::Landed;
use crate::{
    disk::{AlignedBuf, Disk, FileName, Write},
    error::{Damage, OpenError},
    frame::{FrameHeader, HEADER},
    header::{BLOCK, Block, Root, SLOT, SegmentHeader, Start, StoreId},
};

/// Bytes read at once.
const WINDOW: u64 = 1 << 20;
const ROOT_LEN: u64 = 2 * SLOT;

/// A segment's file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) len: u64,
    /// `None` if it is not valid.
    pub(super) header: Option<SegmentHeader>,
    /// Whether the header is this file's, but the file has another length: a writer never leaves
    /// that behind, as the header is written last.
    pub(super) is_cut: bool,
}

pub(super) struct Files<D> {
    pub(super) disk: D,
    pub(super) store: StoreId,
    /// The better of the valid slots.
    pub(super) root: Option<Root>,
    root_len: Option<u64>,
    segments: BTreeMap<u32, Found>,
    /// Lengths of the backups.
    pub(super) backups: BTreeMap<u32, u64>,
    window: AlignedBuf,
    /// Of which segment, from where on.
    window_at: Option<(u32, u64)>,
}

impl<D: Disk> Files<D> {
    /// Reads what files there are and what their headers say.
    pub(super) fn read(mut disk: D) -> Result<Self, OpenError> {
        let list = disk
            .list()
            .map_err(|source| super::directory_error("listing", source))?;
        let window = AlignedBuf::with_capacity(0, disk.alignment());
        let mut files = Self {
            disk,
            store: StoreId::default(),
            root: None,
            root_len: None,
            segments: BTreeMap::new(),
            backups: BTreeMap::new(),
            window,
            window_at: None,
        };
        for (name, len) in list {
            match name {
                FileName::Root => files.root_len = Some(len),
                FileName::Backup(number) => {
                    files.backups.insert(number, len);
                }
                FileName::Segment(number) => {
                    files.segments.insert(
                        number,
                        Found {
                            len,
                            header: None,
                            is_cut: false,
                        },
                    );
                }
            }
        }
        files.read_root()?;
        files.read_headers()?;
        Ok(files)
    }

    fn read_root(&mut self) -> Result<(), OpenError> {
        let name = FileName::Root;
        for slot in [0, SLOT] {
            if self.root_len.is_none_or(|len| len < slot + SLOT) {
                continue;
            }
            let mut buf = AlignedBuf::zeroed(SLOT as usize, self.disk.alignment());
            let read = self.disk.read_at(name, slot, &mut buf);
            read.map_err(|source| io_error("reading", name, source))?;
            match Root::decode(&buf) {
                Block::Valid(root) => {
                    if self
                        .root
                        .is_none_or(|best| best.generation < root.generation)
                    {
                        self.root = Some(root);
                        self.store = root.store;
                    }
                }
                Block::Newer(version) => {
                    return Err(OpenError::Newer {
                        file: name,
                        version,
                    });
                }
                Block::Invalid => {}
            }
        }
        Ok(())
    }

    fn read_headers(&mut self) -> Result<(), OpenError> {
        let block = BLOCK.next_multiple_of(self.disk.alignment());
        let mut buf = AlignedBuf::zeroed(block, self.disk.alignment());
        let mut store = self.root.map(|root| root.store);
        for (&number, found) in self
            .segments
            .iter_mut()
            .filter(|(_, f)| f.len >= block as u64)
        {
            let file = FileName::Segment(number);
            let read = self.disk.read_at(file, 0, &mut buf);
            read.map_err(|source| io_error("reading", file, source))?;
            let header = match SegmentHeader::decode(&buf) {
                Block::Valid(header) => header,
                Block::Newer(version) => return Err(OpenError::Newer { file, version }),
                Block::Invalid => continue,
            };
            if *store.get_or_insert(header.store) != header.store {
                let what = "a segment of another store is in the directory";
                return Err(OpenError::Damaged(Damage {
                    file,
                    offset: 0,
                    seq: 0,
                    what,
                }));
            }
            // A file used again has its old number until its header is written.
            if header.number == number {
                found.is_cut = header.len != found.len;
                found.header = (!found.is_cut).then_some(header);
            }
        }
        self.store = store.unwrap_or_default();
        Ok(())
    }

    /// Whether nothing was ever written here: no files, or those of a creation that a crash cut
    /// short.
    pub(super) fn hold_nothing(&mut self) -> Result<bool, OpenError> {
        let is_known = |found: &Found| found.header.is_some() || found.is_cut;
        if self.root.is_some() || self.segments.values().any(is_known) {
            return Ok(false);
        }
        // The first segment's header is written before anything else is. Zeros are all there is.
        for number in self.segments.keys().copied().collect::<Vec<_>>() {
            let len = self.segment(number).map_or(0, |found| found.len);
            let alignment = self.disk.alignment() as u64;
            let mut at = 0;
            while at + alignment <= len {
                let bytes = self
                    .bytes(number, at, alignment as usize)?
                    .unwrap_or_default();
                if bytes.iter().any(|&byte| byte != 0) {
                    let (file, what) = (FileName::Segment(number), "a segment has no header");
                    return Err(OpenError::Damaged(Damage {
                        file,
                        offset: 0,
                        seq: 0,
                        what,
                    }));
                }
                at += alignment;
            }
        }
        Ok(true)
    }

    /// Makes an empty store.
    pub(super) fn make_new(&mut self, store: StoreId, segment_size: u32) -> Result<(), OpenError> {
        let left = self
            .segments
            .keys()
            .map(|&number| FileName::Segment(number));
        let left: Vec<_> = left.chain(self.root_len.map(|_| FileName::Root)).collect();
        self.remove(&left)?;
        self.store = store;
        let name = FileName::Segment(1);
        let len = u64::from(segment_size);
        self.create(name, len)?;
        self.zero(name, len)?;
        let alignment = self.disk.alignment() as u32;
        let header = SegmentHeader {
            store,
            alignment,
            number: 1,
            len,
        };
        self.write(name, 0, &header.encode())?;
        self.segments.insert(
            1,
            Found {
                len,
                header: Some(header),
                is_cut: false,
            },
        );
        let start = Start::new_log(alignment);
        self.root = Some(self.write_root(Root {
            store,
            generation: 1,
            start,
        })?);
        Ok(())
    }

    /// Writes `ROOT` anew.
    pub(super) fn write_root(&mut self, root: Root) -> Result<Root, OpenError> {
        if self.root_len != Some(ROOT_LEN) {
            if self.root_len.is_some() {
                self.remove(&[FileName::Root])?;
            }
            self.create(FileName::Root, ROOT_LEN)?;
            self.root_len = Some(ROOT_LEN);
        }
        self.write(FileName::Root, root.generation % 2 * SLOT, &root.encode())?;
        Ok(root)
    }

    /// Zeroes the blocks that begin with these headers.
    pub(super) fn wipe(&mut self, landed: &[Landed]) -> Result<(), OpenError> {
        let alignment = self.disk.alignment() as u64;
        for &Landed {
            segment, offset, ..
        } in landed
        {
            // The disk's blocks may be larger than those of the segment: the rest stays as it is.
            let block = u64::from(offset) / alignment * alignment;
            let at = (u64::from(offset) - block) as usize;
            let bytes = self
                .bytes(segment, block, alignment as usize)?
                .unwrap_or_default();
            let mut bytes = bytes.to_vec();
            let end = if self.alignment(segment) < alignment as u32 {
                at + HEADER
            } else {
                bytes.len()
            };
            bytes.get_mut(at..end).unwrap_or_default().fill(0);
            self.write(FileName::Segment(segment), block, &bytes)?;
        }
        self.window_at = None;
        Ok(())
    }

    /// Removes the segments after the head but the next one, if that is ready.
    pub(super) fn remove_after(&mut self, head: u32) -> Result<(), OpenError> {
        let after = self.segments.range(head + 1..).map(|(&number, _)| number);
        let useless: Vec<u32> = after
            .filter(|&number| number != head + 1 || self.ready_len(number).is_none())
            .collect();
        self.segments.retain(|number, _| !useless.contains(number));
        // The last one first: a crash between them leaves no gap.
        let names: Vec<_> = useless.into_iter().rev().map(FileName::Segment).collect();
        self.remove(&names)
    }

    fn remove(&mut self, names: &[FileName]) -> Result<(), OpenError> {
        for &name in names {
            self.disk
                .remove(name)
                .map_err(|source| io_error("removing", name, source))?;
        }
        if !names.is_empty() {
            let synced = self.disk.sync_dir();
            synced.map_err(|source| super::directory_error("syncing", source))?;
        }
        Ok(())
    }

    fn create(&mut self, name: FileName, len: u64) -> Result<(), OpenError> {
        self.disk
            .create(name, len)
            .map_err(|source| io_error("making", name, source))
    }

    fn zero(&mut self, name: FileName, len: u64) -> Result<(), OpenError> {
        let mut at = 0;
        while at < len {
            let step = WINDOW.min(len - at);
            let zeros = vec![0; step as usize];
            self.write(name, at, &zeros)?;
            at += step;
        }
        Ok(())
    }

    /// Writes durably.
    fn write(&mut self, name: FileName, offset: u64, bytes: &[u8]) -> Result<(), OpenError> {
        let mut buf = AlignedBuf::with_capacity(bytes.len(), self.disk.alignment());
        buf.extend_from_slice(bytes);
        buf.pad();
        self.disk.start_write(Write {
            name,
            offset,
            buf: Arc::new(buf),
            tag: 0,
        });
        let lost = || Err(io::Error::other("a write was lost by the disk"));
        let result = self
            .disk
            .next_done(true)
            .map_or_else(lost, |done| done.result);
        result.map_err(|source| io_error("writing", name, source))
    }

    pub(super) fn segment(&self, number: u32) -> Option<Found> {
        self.segments.get(&number).copied()
    }

    pub(super) fn segments(&self) -> impl Iterator<Item = (u32, Found)> {
        self.segments
            .iter()
            .map(|(&number, &found)| (number, found))
    }

    /// At what multiples frames begin in a segment; the smallest there is if it can't be told.
    pub(super) fn alignment(&self, number: u32) -> u32 {
        let header = self.segment(number).and_then(|found| found.header);
        header.map_or(512, |header| header.alignment)
    }

    /// The length of a segment that can be written to, if it is one.
    pub(super) fn ready_len(&self, number: u32) -> Option<u32> {
        let header = self.segment(number)?.header?;
        let fits = header.alignment as usize == self.disk.alignment();
        fits.then_some(u32::try_from(header.len).ok()).flatten()
    }

    /// The bytes at a place, or `None` if the file ends before.
    pub(super) fn bytes(
        &mut self,
        segment: u32,
        offset: u64,
        len: usize,
    ) -> Result<Option<&[u8]>, OpenError> {
        let file_len = self.segment(segment).map_or(0, |found| found.len);
        let end = offset.saturating_add(len as u64);
        let alignment = self.disk.alignment() as u64;
        if end.next_multiple_of(alignment) > file_len {
            return Ok(None);
        }
        let inside = self.window_at.is_some_and(|(of, from)| {
            of == segment && offset >= from && end <= from + self.window.len() as u64
        });
        if !inside {
            let from = offset / alignment * alignment;
            let to = end
                .next_multiple_of(alignment)
                .max((from + WINDOW).min(file_len));
            let name = FileName::Segment(segment);
            self.window
                .resize((to - from) as usize / alignment as usize * alignment as usize);
            self.window_at = None;
            let read = self.disk.read_at(name, from, &mut self.window);
            read.map_err(|source| io_error("reading", name, source))?;
            self.window_at = Some((segment, from));
        }
        let from = self.window_at.map_or(0, |(_, from)| from);
        let at = (offset - from) as usize;
        Ok(self.window.get(at..at + len))
    }

    /// What is read next is read from the disk, which may have changed.
    pub(super) fn forget_window(&mut self) {
        self.window_at = None;
    }

    /// The header at a place, if one is there, with its checksum.
    pub(super) fn frame_header(
        &mut self,
        segment: u32,
        offset: u32,
    ) -> Result<Option<(FrameHeader, u32)>, OpenError> {
        let store = self.store;
        let bytes = self.bytes(segment, u64::from(offset), HEADER)?;
        let found = bytes.and_then(|bytes| FrameHeader::decode(bytes, &store));
        Ok(found.filter(|(header, _)| header.segment == segment))
    }
}

fn io_error(doing: &'static str, name: FileName, source: io::Error) -> OpenError {
    OpenError::Io {
        file: name.to_string(),
        doing,
        source,
    }
}
