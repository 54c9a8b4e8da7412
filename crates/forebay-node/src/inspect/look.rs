//! A store as it is at one moment, though a writer may be at work on it.
//!
//! Owns what is told apart here: damage, and what a writer has moved away while it was read. The
//! second is gone at the next look, the first is still there, in the same place.

use std::{path::Path, path::PathBuf, time::Duration};

use forebay_store::{
    Access, Driver, OpenError, Options, OsDisk, OsOptions, Place, QueueId, Recovery, Store,
};

use super::error::{Fault, InspectError};

/// Looks until the same is seen twice.
const LOOKS_MAX: usize = 10;
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

    /// The messages of a queue whose records are in damaged parts.
    pub(super) fn lost(&self, queue: QueueId, name: &[u8]) -> Vec<Fault> {
        let lost = self.recovery.lost.iter().filter(|(of, _)| *of == queue);
        lost.map(|(_, range)| {
            let rowids = (range.start, range.end.saturating_sub(1));
            Fault::new("records are in a damaged part").in_queue(name, rowids)
        })
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
    let how = OsOptions {
        driver: Driver::Fdatasync,
        max_in_flight: 1,
        create: false,
    };
    let disk = OsDisk::open(dir, how).map_err(disk_error)?;
    let options = Options {
        access: Access::Read,
        recent_max: 0,
        ..Options::default()
    };
    Store::open(disk, options)
}

/// The directory itself can't be opened.
pub(super) fn disk_error(source: std::io::Error) -> OpenError {
    OpenError::Io {
        file: "the directory".to_owned(),
        doing: "opening",
        source,
    }
}
