//! Whether everything in a store can be read.

use std::path::Path;

use super::{
    error::{Fault, InspectError},
    look::Look,
};

/// Checks of a store that is written to meanwhile, before what is found counts.
const CHECKS_MAX: usize = 5;

/// What a check found.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Checked {
    /// Frames of the log.
    pub frames: u64,
    /// Bytes of the files that were read.
    pub bytes: u64,
    /// Queues.
    pub queues: u64,
    /// Pending messages whose content was read.
    pub messages: u64,
    /// Everything that is not as it was written.
    pub faults: Vec<Fault>,
}

/// Reads every file of the store in `dir` to its end and compares every checksum, and reads the
/// content of every pending message. `progress` is told how much is done of how much. What a
/// writer moves away meanwhile counts for nothing.
///
/// # Errors
/// When the store can't be opened at all.
pub fn check(dir: &Path, mut progress: impl FnMut(u64, u64)) -> Result<Checked, InspectError> {
    let mut look = Look::open(dir)?;
    let mut before: Option<Vec<Fault>> = None;
    for _ in 0..CHECKS_MAX {
        let mut found = once(&mut look, &mut progress);
        let is_known = |fault: &Fault| before.as_ref().is_some_and(|it| it.contains(fault));
        if found.faults.iter().all(is_known) {
            return Ok(found);
        }
        if before.is_some() {
            found.faults.retain(is_known);
        }
        before = Some(found.faults);
        look.refresh()?;
    }
    let mut found = once(&mut look, &mut progress);
    found
        .faults
        .retain(|fault| before.as_ref().is_none_or(|it| it.contains(fault)));
    Ok(found)
}

fn once(look: &mut Look, progress: &mut dyn FnMut(u64, u64)) -> Checked {
    let mut faults = look.faults();
    let names: Vec<_> = look
        .store
        .queues()
        .map(|(queue, name)| (queue, name.to_vec()))
        .collect();
    for (queue, name) in &names {
        faults.extend(look.lost(*queue, name));
    }
    // It fails for a writer alone.
    let found = look.store.verify(progress).unwrap_or_default();
    let mut add = |fault: Fault| {
        if !faults.iter().any(|known| known.is_at(&fault)) {
            faults.push(fault);
        }
    };
    found.damage.iter().map(Fault::of_damage).for_each(&mut add);
    found
        .unread
        .into_iter()
        .map(Fault::unread)
        .for_each(&mut add);
    for (queue, rowid, error) in &found.unreadable {
        let name = names.iter().find(|(id, _)| id == queue);
        let name = name.map_or(&[][..], |(_, name)| name);
        add(Fault::of_content(error, name, *rowid));
    }
    Checked {
        frames: found.frames,
        bytes: found.bytes,
        queues: names.len() as u64,
        messages: found.messages,
        faults,
    }
}
