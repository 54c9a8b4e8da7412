//! Integers and byte strings as they are written to disk: little-endian, lengths as varints.
//!
//! A varint has seven bits a byte, lowest first, the highest bit set on all but the last byte, at
//! most ten bytes. The reader never panics and never reads past its end.

/// A few small fields on the stack, on their way into a larger buffer.
#[derive(Debug)]
pub(crate) struct Small {
    bytes: [u8; Self::ROOM],
    len: usize,
}

impl Small {
    /// More than the largest set of fields that is put together here.
    pub(crate) const ROOM: usize = 80;

    /// Begins with a record kind.
    #[inline]
    pub(crate) fn new(kind: u8) -> Self {
        let mut small = Self {
            bytes: [0; Self::ROOM],
            len: 0,
        };
        small.u8(kind);
        small
    }

    #[inline]
    pub(crate) fn u8(&mut self, value: u8) {
        if let Some(byte) = self.bytes.get_mut(self.len) {
            *byte = value;
        }
        self.len += 1;
        debug_assert!(self.len <= Self::ROOM);
    }

    #[inline]
    pub(crate) fn put(&mut self, value: &[u8]) {
        if let Some(bytes) = self.bytes.get_mut(self.len..self.len + value.len()) {
            bytes.copy_from_slice(value);
        }
        self.len += value.len();
        debug_assert!(self.len <= Self::ROOM);
    }

    #[inline]
    pub(crate) fn u16(&mut self, value: u16) {
        self.put(&value.to_le_bytes());
    }

    #[inline]
    pub(crate) fn u32(&mut self, value: u32) {
        self.put(&value.to_le_bytes());
    }

    #[inline]
    pub(crate) fn u64(&mut self, value: u64) {
        self.put(&value.to_le_bytes());
    }

    #[inline]
    pub(crate) fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.u8(value as u8 | 0x80);
            value >>= 7;
        }
        self.u8(value as u8);
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

/// Reads fields from a slice; `None` where they don't fit.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// How many bytes are left.
    pub(crate) fn len(&self) -> usize {
        self.rest.len()
    }

    #[inline]
    pub(crate) fn take(&mut self, len: u64) -> Option<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(usize::try_from(len).ok()?)?;
        self.rest = rest;
        Some(bytes)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*bytes)
    }

    #[inline]
    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    #[inline]
    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    #[inline]
    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    #[inline]
    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    #[inline]
    pub(crate) fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7F);
            if shift == 63 && bits > 1 {
                return None;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// A varint that fits in 32 bits.
    #[inline]
    pub(crate) fn varint32(&mut self) -> Option<u32> {
        self.varint()?.try_into().ok()
    }

    /// A varint length and that many bytes.
    #[inline]
    pub(crate) fn string(&mut self) -> Option<&'a [u8]> {
        let len = self.varint()?;
        self.take(len)
    }
}

#[cfg(test)]
mod tests;
