//! The reading half of a connection.
//!
//! Owns [`Incoming`]. All connections of a thread read into one shared buffer; a connection
//! keeps memory of its own only for a packet that has come in part. Never looks into the bytes.

use std::{
    io,
    task::{Context, Poll, ready},
};

use bytes::{BufMut, BytesMut};
use tokio::io::AsyncReadExt;

use super::half::ReadHalf;

/// The most bytes taken with one system call.
pub(crate) const READ_BYTES: usize = 64 * 1024;
/// A part of a packet up to this size is moved to where the rest of it is read to; a larger one
/// stays in its buffer and grows there.
const MOVE_BYTES: usize = 4096;

/// The reading half of a connection and the part of a packet that has come.
#[derive(Debug)]
pub(crate) struct Incoming {
    half: ReadHalf,
    partial: BytesMut,
}

impl Incoming {
    pub(crate) fn new(half: ReadHalf) -> Self {
        Self {
            half,
            partial: BytesMut::new(),
        }
    }

    /// Reads once. Ready with everything that has come and was not consumed, and whether the
    /// read filled its room, so that more is likely waiting; `None` at the end of the stream.
    pub(crate) fn poll_read(
        &mut self,
        scratch: &mut BytesMut,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<Option<(BytesMut, bool)>>> {
        let moved = self.partial.len() <= MOVE_BYTES;
        let target = if moved {
            scratch.clear();
            scratch.reserve(READ_BYTES + MOVE_BYTES);
            scratch.extend_from_slice(&self.partial);
            scratch
        } else {
            self.partial.reserve(READ_BYTES);
            &mut self.partial
        };
        let mut room = target.limit(READ_BYTES);
        let read = std::pin::pin!(self.half.read_buf(&mut room));
        let count = ready!(read.poll(cx))?;
        if count == 0 {
            return Poll::Ready(Ok(None));
        }
        let bytes = room.into_inner().split();
        if moved {
            self.partial = BytesMut::new();
        }
        Poll::Ready(Ok(Some((bytes, count == READ_BYTES))))
    }

    /// What was given back.
    pub(crate) fn take(&mut self) -> BytesMut {
        std::mem::take(&mut self.partial)
    }

    /// Gives back what was not consumed: part of a packet, or what can't be handed in yet.
    pub(crate) fn give_back(&mut self, rest: BytesMut) {
        self.partial = if rest.len() <= MOVE_BYTES {
            // A copy of its own size, so that it doesn't keep the shared buffer alive.
            BytesMut::from(rest.as_ref())
        } else {
            rest
        };
    }

    /// Reads and forgets, so that what was sent to the peer isn't lost to a reset. Ready at the
    /// end of the stream.
    pub(crate) fn poll_discard(
        &mut self,
        scratch: &mut BytesMut,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        self.partial = BytesMut::new();
        loop {
            scratch.clear();
            scratch.reserve(READ_BYTES);
            let mut room = (&mut *scratch).limit(READ_BYTES);
            let read = std::pin::pin!(self.half.read_buf(&mut room));
            let count = ready!(read.poll(cx))?;
            scratch.clear();
            if count == 0 {
                return Poll::Ready(Ok(()));
            }
        }
    }
}
