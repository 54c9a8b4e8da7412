//! Durable message queues on one segmented log.

mod disk;

pub use disk::{
    AlignedBuf, Disk, Done, Driver, FileName, LockError, OsDisk, OsOptions, SimDisk, Write,
};
