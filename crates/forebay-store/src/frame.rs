//! One frame: the unit that is written at once and is wholly there after a crash, or not at all.
//!
//! Owns the 48 bytes before the records. The header has a checksum of its own, so no length is
//! trusted before it; it covers the checksum of the body, so it names the whole frame, and the
//! next frame repeats it. The store's id goes into it too, so that nobody who only chooses contents
//! can make bytes that pass for a frame. Layout in `docs/format.md`.

use crate::header::StoreId;

/// Bytes of a header.
pub(crate) const HEADER: usize = 48;
const MAGIC: [u8; 4] = *b"FBfr";

/// What stands before the records of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    /// Its number; they rise by one over the life of the store.
    pub(crate) seq: u64,
    /// The writer that wrote it; they rise from one to the next.
    pub(crate) epoch: u64,
    /// Every frame up to this number was durable when it was written.
    pub(crate) acked: u64,
    /// The checksum of the frame before, 0 for the first.
    pub(crate) prev: u32,
    /// The segment it was written to, which a recycled file no longer is.
    pub(crate) segment: u32,
    /// Bytes of records.
    pub(crate) body_len: u32,
    /// CRC32C of the records.
    pub(crate) body_crc: u32,
}

impl FrameHeader {
    /// Writes the header, and gives the checksum that names the frame.
    pub(crate) fn encode(&self, store: &StoreId) -> ([u8; HEADER], u32) {
        let mut bytes = [0; HEADER];
        let fields: [&[u8]; 8] = [
            &[0; 8],
            &self.seq.to_le_bytes(),
            &self.epoch.to_le_bytes(),
            &self.acked.to_le_bytes(),
            &self.prev.to_le_bytes(),
            &self.segment.to_le_bytes(),
            &self.body_len.to_le_bytes(),
            &self.body_crc.to_le_bytes(),
        ];
        copy_fields(&mut bytes, &fields);
        let checksum = checksum(store, bytes.get(8..).unwrap_or_default());
        copy_fields(&mut bytes, &[&MAGIC, &checksum.to_le_bytes()]);
        (bytes, checksum)
    }

    /// Reads a header, if the bytes begin with one whose checksum holds, and gives the checksum.
    pub(crate) fn decode(bytes: &[u8], store: &StoreId) -> Option<(Self, u32)> {
        let mut reader = crate::codec::Reader::new(bytes.get(..HEADER)?);
        if reader.take(4)? != MAGIC {
            return None;
        }
        let found = reader.u32()?;
        if checksum(store, bytes.get(8..HEADER)?) != found {
            return None;
        }
        let header = Self {
            seq: reader.u64()?,
            epoch: reader.u64()?,
            acked: reader.u64()?,
            prev: reader.u32()?,
            segment: reader.u32()?,
            body_len: reader.u32()?,
            body_crc: reader.u32()?,
        };
        Some((header, found))
    }

    /// Bytes from the frame's begin to the next one's, at an alignment.
    pub(crate) fn padded_len(&self, alignment: u32) -> u64 {
        (HEADER as u64 + u64::from(self.body_len)).next_multiple_of(u64::from(alignment))
    }
}

fn checksum(store: &StoreId, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(store), bytes)
}

/// Puts fields one after the other at the begin of `to`.
pub(crate) fn copy_fields(to: &mut [u8], fields: &[&[u8]]) {
    let bytes = fields.iter().flat_map(|field| field.iter());
    to.iter_mut().zip(bytes).for_each(|(to, byte)| *to = *byte);
}

#[cfg(test)]
mod tests;
