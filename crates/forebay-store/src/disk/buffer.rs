//! A growable byte buffer whose first byte has a given alignment, without `unsafe`.
//!
//! Owns the trick: allocate a little more than needed and begin at the first aligned byte. Never
//! lets the vector below grow by itself, because that could move the bytes off their alignment.

use std::ops::{Deref, DerefMut};

/// Bytes that begin at an address that is a multiple of an alignment, as direct I/O wants them.
///
/// The length is free while it is filled; what is handed to a [`Disk`](super::Disk) is padded to
/// the alignment first.
#[derive(Debug)]
pub struct AlignedBuf {
    /// `start` bytes of filler, then the contents.
    bytes: Vec<u8>,
    start: usize,
    alignment: usize,
}

impl AlignedBuf {
    /// Makes an empty buffer with room for `capacity` bytes at an alignment.
    ///
    /// # Panics
    /// When the alignment is not a power of two.
    pub fn with_capacity(capacity: usize, alignment: usize) -> Self {
        assert!(
            alignment.is_power_of_two(),
            "an alignment is a power of two"
        );
        let mut bytes: Vec<u8> =
            Vec::with_capacity(capacity.next_multiple_of(alignment) + alignment - 1);
        let start = bytes.as_ptr().align_offset(alignment);
        assert!(start < alignment, "byte pointers can always be aligned");
        bytes.resize(start, 0);
        Self {
            bytes,
            start,
            alignment,
        }
    }

    /// Makes a buffer of `len` zeros.
    pub fn zeroed(len: usize, alignment: usize) -> Self {
        let mut buf = Self::with_capacity(len, alignment);
        buf.resize(len);
        buf
    }

    /// The alignment of its first byte.
    pub fn alignment(&self) -> usize {
        self.alignment
    }

    /// How many bytes fit without moving.
    pub fn capacity(&self) -> usize {
        self.bytes.capacity() - self.start
    }

    /// Makes room for `more` bytes past the end; moves the contents if it must.
    pub fn reserve(&mut self, more: usize) {
        if self.bytes.capacity() - self.bytes.len() < more {
            let mut grown =
                Self::with_capacity((self.len() + more).max(2 * self.len()), self.alignment);
            grown.bytes.extend_from_slice(self);
            *self = grown;
        }
    }

    /// Adds bytes at the end.
    #[inline]
    pub fn extend_from_slice(&mut self, bytes: &[u8]) {
        self.reserve(bytes.len());
        self.bytes.extend_from_slice(bytes);
    }

    /// Adds one byte at the end.
    #[inline]
    pub fn push(&mut self, byte: u8) {
        self.reserve(1);
        self.bytes.push(byte);
    }

    /// Sets the length, with zeros for what is new.
    pub fn resize(&mut self, len: usize) {
        if len > self.len() {
            self.reserve(len - self.len());
        }
        self.bytes.resize(self.start + len, 0);
    }

    /// Adds zeros up to the next multiple of the alignment.
    pub fn pad(&mut self) {
        self.resize(self.len().next_multiple_of(self.alignment));
    }

    /// Shortens to `len` bytes; does nothing if it is shorter.
    pub fn truncate(&mut self, len: usize) {
        self.bytes.truncate(self.start + len);
    }

    /// Forgets the contents and keeps the room.
    pub fn clear(&mut self) {
        self.truncate(0);
    }
}

impl Deref for AlignedBuf {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }
}

impl DerefMut for AlignedBuf {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        self.bytes.get_mut(self.start..).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
