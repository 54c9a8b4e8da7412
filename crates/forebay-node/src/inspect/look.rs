//! A store as it is at one moment, though a writer may be at work on it.
//!
//! Owns what is told apart here: damage, and what a writer has moved away while it was read. The
//! second is gone at the next look, the first is still there, in the same place.

use std::{
    ops::Range,
    path::{Path, PathBuf},
    time::Duration,
};

use forebay_store::{
    Access, FileName, OpenError, Options, OsDisk, OsOptions, Place, QueueId, Recovery, Store,
};

use super::error::{Fault, InspectError};

/// Looks until the same is seen twice.
const LOOKS_MAX: usize = 10;
const MIB: u32 = 1 << 20;
/// Sizes that a segment has where nothing is wrong with it.
const SEGMENT_SIZES: std::ops::RangeInclusive<u32> = 4 * MIB..=1024 * MIB;
/// Between two looks: longer than a writer takes for a step.
const PAUSE: Duration = Duration::from_millis(20);

/// A store that was looked into.
pub(super) struct Look {
    dir: PathBuf,
    pub(super) store: Store<OsDisk>,
    recovery: Recovery,
}

impl Look {
    /// Looks into the store in `dir`.
    pub(super) fn open(dir: &Path) -> Result<Self, InspectError> {
        let (store, recovery) = steady(dir)?;
        Ok(Self {
            dir: dir.to_owned(),
            store,
            recovery,
        })
    }

    /// Looks again.
    pub(super) fn refresh(&mut self) -> Result<(), InspectError> {
        std::thread::sleep(PAUSE);
        (self.store, self.recovery) = steady(&self.dir)?;
        Ok(())
    }

    /// The damage that stands in the way of every queue.
    pub(super) fn faults(&self) -> Vec<Fault> {
        self.recovery.damage.iter().map(Fault::of_damage).collect()
    }

    /// The messages of a queue whose records are in damaged parts: those of the ranges concerned
    /// that are not among the pending ones that are left.
    pub(super) fn lost(&mut self, queue: QueueId, name: &[u8]) -> Vec<Fault> {
        let lost = self.recovery.lost.iter().filter(|(of, _)| *of == queue);
        let lost: Vec<_> = lost.map(|(_, range)| range.clone()).collect();
        if lost.is_empty() {
            return Vec::new();
        }
        let left = self.pending(queue);
        let gaps = lost.into_iter().flat_map(|range| gaps(range, &left));
        gaps.map(|gap| Fault::new("records are in a damaged part").in_queue(name, gap))
            .collect()
    }

    /// Whether something of a queue is lost.
    pub(super) fn has_lost(&self, queue: QueueId) -> bool {
        self.recovery.lost.iter().any(|(of, _)| *of == queue)
    }

    pub(super) fn queue(&self, name: &[u8]) -> Result<QueueId, InspectError> {
        self.store.queue(name).ok_or_else(|| InspectError::NoQueue {
            name: name.to_vec(),
        })
    }

    /// The rowids of the pending messages of a queue, in order.
    pub(super) fn pending(&mut self, queue: QueueId) -> Vec<u64> {
        // What is lost is told by `lost`; what is left is in the list.
        let _ = self.store.load(queue, Place::Queued);
        let list = forebay_store::List::Queued;
        let rowids = self.store.list(queue, list, ..).collect();
        // So that contents that are read are not kept.
        self.store.close_queue(queue);
        rowids
    }
}

/// The parts of a range, first and last, in which there is none of `left`, which is in order.
fn gaps(range: Range<u64>, left: &[u64]) -> Vec<(u64, u64)> {
    let mut gaps = Vec::new();
    let mut from = range.start;
    let within = left.iter().copied().filter(|it| range.contains(it));
    for rowid in within.chain([range.end]) {
        if from < rowid {
            gaps.push((from, rowid - 1));
        }
        from = rowid + 1;
    }
    gaps
}

/// What is wrong with a store, to tell whether it is the same as before.
#[derive(PartialEq)]
enum Seen {
    Damage(Vec<(String, u64)>),
    Error(String),
}

fn steady(dir: &Path) -> Result<(Store<OsDisk>, Recovery), InspectError> {
    let mut before = None;
    let mut looks = 0;
    loop {
        looks += 1;
        let result = once(dir);
        let seen = match &result {
            Ok((_, recovery)) if recovery.damage.is_empty() => return result_of(result, dir),
            Ok((_, recovery)) => Seen::Damage(
                recovery
                    .damage
                    .iter()
                    .map(|it| (it.file.to_string(), it.offset))
                    .collect(),
            ),
            Err(error) => Seen::Error(error.to_string()),
        };
        if before.as_ref() == Some(&seen) || looks == LOOKS_MAX {
            return result_of(result, dir);
        }
        before = Some(seen);
        std::thread::sleep(PAUSE);
    }
}

fn result_of(
    result: Result<(Store<OsDisk>, Recovery), OpenError>,
    dir: &Path,
) -> Result<(Store<OsDisk>, Recovery), InspectError> {
    result.map_err(|error| InspectError::of_open(error, dir))
}

fn once(dir: &Path) -> Result<(Store<OsDisk>, Recovery), OpenError> {
    let disk = OsDisk::open(dir, OsOptions::reader()).map_err(disk_error)?;
    let options = Options {
        access: Access::Read,
        recent_max: 0,
        ..Options::default()
    };
    Store::open(disk, options)
}

/// Takes the store in `dir` for this process alone, to put something into it.
pub(super) fn own(dir: &Path, create: bool) -> Result<Store<OsDisk>, InspectError> {
    let how = OsOptions {
        create,
        ..OsOptions::default()
    };
    let disk = OsDisk::open(dir, how);
    let disk = disk.map_err(|source| InspectError::of_open(disk_error(source), dir))?;
    let (store, _) =
        Store::open(disk, options(dir)).map_err(|error| InspectError::of_open(error, dir))?;
    Ok(store)
}

/// How a tool writes to a store whose configuration it doesn't know: segments as large as those
/// there are, into all the room there is, and every backup stays.
pub(super) fn options(dir: &Path) -> Options {
    let (mut segment_size, mut backups) = (0, 0);
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        match name.to_str().and_then(FileName::parse) {
            Some(FileName::Segment(_)) => {
                let len = entry.metadata().map_or(0, |it| it.len());
                segment_size = segment_size.max(u32::try_from(len).unwrap_or(0));
            }
            Some(FileName::Backup(_)) => backups = u32::MAX,
            Some(FileName::Root | _) | None => {}
        }
    }
    let default = Options::default();
    let is_usual = SEGMENT_SIZES.contains(&segment_size) && segment_size.is_multiple_of(MIB);
    Options {
        segment_size: if is_usual {
            segment_size
        } else {
            default.segment_size
        },
        backups,
        low_water: 0,
        compact_after: u64::MAX,
        ..default
    }
}

/// The directory itself can't be opened.
fn disk_error(source: std::io::Error) -> OpenError {
    OpenError::Io {
        file: "the directory".to_owned(),
        doing: "opening",
        source,
    }
}
