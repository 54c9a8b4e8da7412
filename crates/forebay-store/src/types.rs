//! The small types that callers and files share: numbers with a meaning.

use std::time::{SystemTime, UNIX_EPOCH};

/// A queue of this store. Never reused, and the same after a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueId(pub(crate) u64);

impl QueueId {
    /// The number as it is stored.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// A message's number in its queue: 1, 2, 3 and so on, never reused.
pub type Rowid = u64;

/// A frame's number: durable once the watermark has reached it. Rises by one from frame to frame;
/// several commits may share a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seq(pub(crate) u64);

impl Seq {
    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// A table of small keyed state. Those from 240 on are the store's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId(pub u8);

impl TableId {
    pub(crate) const RESERVED: u8 = 240;
}

/// Which of a queue's two lists a message goes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Place {
    /// Inflight while there is room and no older message is queued, else queued.
    #[default]
    ByRule,
    /// Inflight, whatever the rule says.
    Inflight,
    /// Queued, whatever the rule says.
    Queued,
}

/// One of a queue's two lists of pending messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum List {
    /// Being delivered; content in memory.
    Inflight,
    /// Waiting; content on disk.
    Queued,
}

/// Why a message left its queue: a kind, and a reason that the caller chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Outcome(u16);

/// The kinds of [`Outcome`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OutcomeKind {
    /// Delivered and acknowledged.
    Acked,
    /// Its time was up.
    Expired,
    /// Given up, for the reason in [`Outcome::reason`].
    Dropped,
    /// Moved to where dead letters go.
    DeadLettered,
    /// A number that this version has no name for.
    Other(u8),
}

impl Outcome {
    /// Delivered and acknowledged.
    pub const ACKED: Self = Self::new(OutcomeKind::Acked, 0);
    /// Its time was up.
    pub const EXPIRED: Self = Self::new(OutcomeKind::Expired, 0);

    /// A kind with a reason; the meaning of reasons is the caller's.
    pub const fn new(kind: OutcomeKind, reason: u8) -> Self {
        let kind = match kind {
            OutcomeKind::Acked => 1,
            OutcomeKind::Expired => 2,
            OutcomeKind::Dropped => 3,
            OutcomeKind::DeadLettered => 4,
            OutcomeKind::Other(number) => number,
        };
        Self(kind as u16 | (reason as u16) << 8)
    }

    /// Given up for a reason.
    pub const fn dropped(reason: u8) -> Self {
        Self::new(OutcomeKind::Dropped, reason)
    }

    /// Moved to where dead letters go, for a reason.
    pub const fn dead_lettered(reason: u8) -> Self {
        Self::new(OutcomeKind::DeadLettered, reason)
    }

    /// What happened.
    pub const fn kind(self) -> OutcomeKind {
        match self.0 as u8 {
            1 => OutcomeKind::Acked,
            2 => OutcomeKind::Expired,
            3 => OutcomeKind::Dropped,
            4 => OutcomeKind::DeadLettered,
            other => OutcomeKind::Other(other),
        }
    }

    /// The caller's reason, 0 if none was given.
    pub const fn reason(self) -> u8 {
        (self.0 >> 8) as u8
    }

    pub(crate) const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    pub(crate) const fn bits(self) -> u16 {
        self.0
    }
}

/// The time now, in nanoseconds since 1970.
pub fn now_ns() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
