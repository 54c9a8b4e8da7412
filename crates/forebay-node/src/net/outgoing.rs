//! The sending half of a connection.
//!
//! Owns [`Outgoing`]: a buffer that packets are encoded into, written with one system call for
//! everything that waits. Buffers are borrowed from a [`BufferPool`] while they hold something,
//! so that an idle connection costs none. Never waits by itself: the owner polls it.

use std::{
    io,
    task::{Context, Poll, ready},
};

use tokio::time::Instant;

use super::half::WriteHalf;

/// A buffer larger than this is freed rather than kept for the next connection.
const KEEP_BYTES: usize = 256 * 1024;
/// The most buffers kept.
const KEEP_BUFFERS: usize = 256;

/// Buffers that wait for a connection with something to send.
#[derive(Debug, Default)]
pub(crate) struct BufferPool(Vec<Vec<u8>>);

impl BufferPool {
    fn take(&mut self) -> Vec<u8> {
        self.0.pop().unwrap_or_else(|| Vec::with_capacity(4096))
    }

    fn give(&mut self, mut buffer: Vec<u8>) {
        if buffer.capacity() <= KEEP_BYTES && buffer.capacity() > 0 && self.0.len() < KEEP_BUFFERS {
            buffer.clear();
            self.0.push(buffer);
        }
    }
}

/// What became of a write.
#[derive(Debug)]
pub(crate) enum Written {
    /// Everything is with the kernel.
    All,
    /// The kernel takes no more from here on: [`Outgoing::poll_drain`] goes on.
    Blocked,
    /// It has not taken what waited before either.
    StillBlocked,
    /// The connection is broken.
    Broken(io::Error),
}

/// The sending half of a connection and what it has yet to send.
#[derive(Debug)]
pub(crate) struct Outgoing {
    half: WriteHalf,
    buffer: Vec<u8>,
    /// How much of `buffer` the kernel has taken.
    sent: usize,
    /// Since when the kernel has taken nothing although something waits.
    blocked_since: Option<Instant>,
}

impl Outgoing {
    pub(crate) fn new(half: WriteHalf) -> Self {
        Self {
            half,
            buffer: Vec::new(),
            sent: 0,
            blocked_since: None,
        }
    }

    /// The buffer to append encoded packets to.
    pub(crate) fn buffer(&mut self, pool: &mut BufferPool) -> &mut Vec<u8> {
        if self.buffer.capacity() == 0 {
            self.buffer = pool.take();
        }
        &mut self.buffer
    }

    /// Bytes that wait to be sent.
    pub(crate) fn waiting(&self) -> usize {
        self.buffer.len() - self.sent
    }

    /// Since when the peer has read nothing although something waits for it.
    pub(crate) fn blocked_since(&self) -> Option<Instant> {
        self.blocked_since
    }

    /// Hands everything that waits to the kernel, as far as it takes it at once.
    pub(crate) fn write(&mut self, pool: &mut BufferPool) -> Written {
        if self.blocked_since.is_some() {
            return Written::StillBlocked;
        }
        loop {
            let Some(rest) = self.buffer.get(self.sent..).filter(|rest| !rest.is_empty()) else {
                match self.half.try_flush() {
                    Ok(()) => {
                        self.emptied(pool);
                        return Written::All;
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        self.blocked_since = Some(Instant::now());
                        return Written::Blocked;
                    }
                    Err(error) => return Written::Broken(error),
                }
            };
            match self.half.try_write(rest) {
                Ok(0) => return Written::Broken(io::ErrorKind::WriteZero.into()),
                Ok(count) => self.advance(count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.blocked_since = Some(Instant::now());
                    return Written::Blocked;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Written::Broken(error),
            }
        }
    }

    /// Goes on with a blocked write: ready once everything is with the kernel or the connection
    /// is broken.
    pub(crate) fn poll_drain(
        &mut self,
        pool: &mut BufferPool,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while let Some(rest) = self.buffer.get(self.sent..).filter(|rest| !rest.is_empty()) {
            match ready!(self.half.poll_write(cx, rest)) {
                Ok(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Ok(count) => {
                    self.advance(count);
                    self.blocked_since = Some(Instant::now());
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        ready!(self.half.poll_flush(cx))?;
        self.emptied(pool);
        Poll::Ready(Ok(()))
    }

    /// Tells the peer that nothing more will come.
    pub(crate) fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.half.poll_shutdown(cx)
    }

    fn advance(&mut self, count: usize) {
        self.sent += count;
        // What was sent long ago must not keep a slow reader's buffer growing.
        if self.sent >= KEEP_BYTES && self.sent >= self.buffer.len() / 2 {
            self.buffer.drain(..self.sent);
            self.sent = 0;
        }
    }

    fn emptied(&mut self, pool: &mut BufferPool) {
        self.sent = 0;
        self.blocked_since = None;
        pool.give(std::mem::take(&mut self.buffer));
    }
}
