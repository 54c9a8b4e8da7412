//! What a caller may choose when it opens a store.

use std::time::Duration;

/// How a store is opened. Sizes are bytes.
#[derive(Clone, Debug)]
pub struct Options {
    /// Write, or only look.
    pub access: Access,
    /// What an acknowledgement promises.
    pub durability: Durability,
    /// Bytes of a new segment, at most 1 GiB. A store may have segments of several sizes.
    pub segment_size: u32,
    /// Durable writes in flight at once; never more than the disk takes.
    pub writes_in_flight: usize,
    /// A frame is closed when it has reached this size, though a transaction may be larger.
    pub frame_target: u32,
    /// The largest transaction; never more than fits in a segment.
    pub transaction_max: u32,
    /// A checkpoint begins once this much of the log has been written since the last began.
    pub checkpoint_after: u64,
    /// Bytes of a checkpoint, and of contents copied forward, that are put beside one batch.
    pub checkpoint_step: usize,
    /// The store looks whether segments are to be emptied once this much has been written or done
    /// with since the last look; a larger store looks less often.
    pub compact_after: u64,
    /// A rotation begins once a queue has had this many messages that are done with since the last
    /// one, or since the store was opened; 0 for none but those that are asked for.
    pub rotate_after: u32,
    /// Segments kept as backups once nothing in them is pending; 0 keeps none.
    pub backups: u32,
    /// Memory for frames written last, from which their contents are read.
    pub recent_max: usize,
    /// Appends fail with `Full` before the file system's free space falls below this.
    pub low_water: u64,
    /// What queues have until they are told otherwise; 0 is no limit.
    pub max_inflight: u32,
    /// Names a new store; a random one if not given.
    pub store_id: Option<[u8; 16]>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            access: Access::Write,
            durability: Durability::Always,
            segment_size: 64 << 20,
            writes_in_flight: 4,
            frame_target: 1 << 20,
            transaction_max: 32 << 20,
            checkpoint_after: 64 << 20,
            checkpoint_step: 128 << 10,
            compact_after: 32 << 20,
            rotate_after: 0,
            backups: 0,
            recent_max: 16 << 20,
            low_water: 64 << 20,
            max_inflight: 0,
            store_id: None,
        }
    }
}

/// What may be done with a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Everything; one process at a time. A store with damage in what was acknowledged is refused.
    Write,
    /// Only reading. Takes no lock, changes nothing, and opens a damaged store with what can be
    /// read of it.
    Read,
}

/// What the watermark of [`Store::poll`](crate::Store::poll) promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Everything up to it is on stable storage and survives a loss of power.
    Always,
    /// It runs ahead of the disk: what was committed up to this long ago is on its way there, and
    /// is lost in a crash of the process or the machine if it does not arrive.
    Interval(Duration),
    /// Everything up to it was handed to the operating system; a crash of the process or the
    /// machine may lose the writes in flight, of which there are [`Options::writes_in_flight`].
    Os,
}
