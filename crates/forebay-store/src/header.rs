//! The fixed blocks: the header of a segment and the slots of the file `ROOT`.
//!
//! Owns their bytes and the format version. Magic, version and checksum stay where they are in
//! every version, so that a newer one can be told from damage. Layout in `docs/format.md`.

use crate::{codec::Reader, frame::copy_fields};

/// The format that this code writes, and the newest it reads.
pub(crate) const VERSION: u16 = 1;
/// Bytes of either block.
pub(crate) const BLOCK: usize = 96;
/// Bytes between the two slots of `ROOT`, whatever the alignment.
pub(crate) const SLOT: u64 = 4096;

const SEGMENT_MAGIC: [u8; 8] = *b"FBsegmnt";
const ROOT_MAGIC: [u8; 8] = *b"FBroot\0\0";
const CHECKSUM_AT: usize = BLOCK - 4;

/// Names a store, so that files of two never mix.
pub(crate) type StoreId = [u8; 16];

/// What a block turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Block<T> {
    /// Good.
    Valid(T),
    /// Good, but of a format that came later.
    Newer(u16),
    /// Zeros, torn or damaged.
    Invalid,
}

/// The first block of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub(crate) store: StoreId,
    /// Frames begin at multiples of this, the first one at this.
    pub(crate) alignment: u32,
    pub(crate) number: u32,
    /// Bytes of the file.
    pub(crate) len: u64,
}

impl SegmentHeader {
    pub(crate) fn encode(&self) -> [u8; BLOCK] {
        let numbers = [self.alignment.to_le_bytes(), self.number.to_le_bytes()].concat();
        seal(
            SEGMENT_MAGIC,
            &self.store,
            &[&numbers, &self.len.to_le_bytes()],
        )
    }

    pub(crate) fn decode(bytes: &[u8]) -> Block<Self> {
        open(SEGMENT_MAGIC, bytes, |store, fields| {
            let alignment = fields.u32()?;
            let header = Self {
                store,
                alignment,
                number: fields.u32()?,
                len: fields.u64()?,
            };
            (alignment.is_power_of_two() && (512..=1 << 20).contains(&alignment)).then_some(header)
        })
    }
}

/// A place in the log where reading can begin with nothing known before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) segment: u32,
    pub(crate) offset: u32,
    /// The frame that stands there.
    pub(crate) seq: u64,
    /// No frame from there on has a lower epoch.
    pub(crate) epoch: u64,
    /// The checksum of the frame before.
    pub(crate) prev: u32,
}

/// One slot of `ROOT`. The valid one with the higher generation counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Root {
    pub(crate) store: StoreId,
    pub(crate) generation: u64,
    pub(crate) start: Start,
}

impl Root {
    pub(crate) fn encode(&self) -> [u8; BLOCK] {
        let Start {
            segment,
            offset,
            seq,
            epoch,
            prev,
        } = self.start;
        seal(
            ROOT_MAGIC,
            &self.store,
            &[
                &self.generation.to_le_bytes(),
                &seq.to_le_bytes(),
                &epoch.to_le_bytes(),
                &segment.to_le_bytes(),
                &offset.to_le_bytes(),
                &prev.to_le_bytes(),
            ],
        )
    }

    pub(crate) fn decode(bytes: &[u8]) -> Block<Self> {
        open(ROOT_MAGIC, bytes, |store, fields| {
            let generation = fields.u64()?;
            let (seq, epoch) = (fields.u64()?, fields.u64()?);
            let (segment, offset, prev) = (fields.u32()?, fields.u32()?, fields.u32()?);
            Some(Self {
                store,
                generation,
                start: Start {
                    segment,
                    offset,
                    seq,
                    epoch,
                    prev,
                },
            })
        })
    }
}

fn seal(magic: [u8; 8], store: &StoreId, fields: &[&[u8]]) -> [u8; BLOCK] {
    let mut bytes = [0; BLOCK];
    let fields = fields.concat();
    copy_fields(
        &mut bytes,
        &[&magic, &VERSION.to_le_bytes(), &[0; 6], store, &fields],
    );
    let checksum = crc32c::crc32c(bytes.get(..CHECKSUM_AT).unwrap_or_default());
    copy_fields(
        bytes.get_mut(CHECKSUM_AT..).unwrap_or_default(),
        &[&checksum.to_le_bytes()],
    );
    bytes
}

fn open<T>(
    magic: [u8; 8],
    bytes: &[u8],
    fields: impl FnOnce(StoreId, &mut Reader<'_>) -> Option<T>,
) -> Block<T> {
    let parse = || {
        let mut reader = Reader::new(bytes.get(..BLOCK)?);
        if reader.take(8)? != magic {
            return None;
        }
        let checksum = u32::from_le_bytes(*bytes.get(CHECKSUM_AT..)?.first_chunk()?);
        if crc32c::crc32c(bytes.get(..CHECKSUM_AT)?) != checksum {
            return None;
        }
        let version = reader.u16()?;
        if version > VERSION {
            return Some(Block::Newer(version));
        }
        reader.take(6)?;
        let store = *reader.take(16)?.first_chunk()?;
        fields(store, &mut reader).map(Block::Valid)
    };
    parse().unwrap_or(Block::Invalid)
}

#[cfg(test)]
mod tests;
