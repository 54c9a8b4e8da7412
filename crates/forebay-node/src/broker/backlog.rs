//! What has been handed to the disk and is not durable yet.
//!
//! Owns [`Backlog`]: the bound at which reading from clients pauses, and the point at which it
//! goes on. Units: bytes of memory, commits.

use std::collections::VecDeque;

use forebay_proto::Seq;

/// Commits on their way to the disk.
#[derive(Debug)]
pub(crate) struct Backlog {
    limit: u64,
    /// Last commit and bytes of each hand-over that is not durable, oldest first.
    handed: VecDeque<(Seq, u64)>,
    bytes: u64,
    last: Seq,
    durable: Seq,
    full: bool,
}

impl Backlog {
    /// A backlog that is full beyond `limit` bytes.
    pub(crate) fn new(limit: u64) -> Self {
        Self {
            limit,
            handed: VecDeque::new(),
            bytes: 0,
            last: Seq(0),
            durable: Seq(0),
            full: false,
        }
    }

    /// Commits up to `seq`, `bytes` long together, were handed over.
    pub(crate) fn add(&mut self, seq: Seq, bytes: u64) {
        self.handed.push_back((seq, bytes));
        self.last = seq;
        self.bytes += bytes;
        self.full |= self.bytes > self.limit;
    }

    /// Everything up to `seq` is durable. Answers whether this ended a full backlog.
    pub(crate) fn durable(&mut self, seq: Seq) -> bool {
        self.durable = seq;
        while let Some((_, bytes)) = self.handed.pop_front_if(|(last, _)| *last <= seq) {
            self.bytes -= bytes;
        }
        let relieved = self.full && self.bytes <= self.limit / 2;
        self.full &= !relieved;
        relieved
    }

    /// The first commit that is not handed over yet.
    pub(crate) fn next(&self) -> Seq {
        Seq(self.last.0 + 1)
    }

    /// Whether `seq` is durable.
    pub(crate) fn is_durable(&self, seq: Seq) -> bool {
        seq <= self.durable
    }

    /// Whether reading has to wait: from the limit on until half of it is reached.
    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    /// Whether everything that was handed over is durable.
    pub(crate) fn is_empty(&self) -> bool {
        self.handed.is_empty()
    }

    /// Bytes that are not durable.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Commits that are not durable.
    pub(crate) fn commits(&self) -> u64 {
        self.last.0.saturating_sub(self.durable.0)
    }
}

#[cfg(test)]
mod tests;
