//! The queues of a store.

use std::{ops::ControlFlow, path::Path};

use forebay_store::{QueueId, State};

use super::{
    error::{Fault, InspectError},
    look::Look,
    row::QueueRow,
};

/// Shows every queue of the store in `dir`, in order of their names, and gives what could not be
/// read. Ends early where `each` breaks.
///
/// # Errors
/// When nothing of the store can be read; nothing was shown then.
pub fn queues(
    dir: &Path,
    mut each: impl FnMut(&QueueRow) -> ControlFlow<()>,
) -> Result<Vec<Fault>, InspectError> {
    let mut look = Look::open(dir)?;
    let mut names: Vec<Vec<u8>> = look.store.queues().map(|(_, name)| name.to_vec()).collect();
    names.sort_unstable();
    let mut faults = look.faults();
    for name in names {
        let Some(row) = row(&mut look, &name, &mut faults)? else {
            continue;
        };
        if each(&row).is_break() {
            break;
        }
    }
    Ok(faults)
}

/// A queue as it is; `None` where it is gone meanwhile.
fn row(
    look: &mut Look,
    name: &[u8],
    faults: &mut Vec<Fault>,
) -> Result<Option<QueueRow>, InspectError> {
    let mut before = None;
    loop {
        let Some(queue) = look.store.queue(name) else {
            return Ok(None);
        };
        let Some((row, fault)) = read(look, queue, name) else {
            return Ok(None);
        };
        // What could not be read may have been moved, or be done with meanwhile.
        if fault.is_none() || fault == before {
            faults.extend(fault);
            faults.extend(look.lost(queue, name));
            return Ok(Some(row));
        }
        before = fault;
        look.refresh()?;
    }
}

/// A queue, and what is wrong with its first message if that can't be read.
fn read(look: &mut Look, queue: QueueId, name: &[u8]) -> Option<(QueueRow, Option<Fault>)> {
    let info = look.store.queue_info(queue)?;
    let rowids = if info.pending == 0 {
        Vec::new()
    } else {
        look.pending(queue)
    };
    let waits = |rowid: &&u64| {
        let it = look.store.message(queue, **rowid);
        it.is_some_and(|it| it.flag.state() == State::Queued)
    };
    let queued = rowids.iter().filter(waits).count() as u64;
    let first = rowids
        .first()
        .map(|&rowid| (rowid, look.store.content(queue, rowid)));
    let (oldest, fault) = match first {
        Some((_, Ok(content))) => (Some(content.time), None),
        Some((rowid, Err(error))) => (None, Some(Fault::of_content(&error, name, rowid))),
        None => (None, None),
    };
    let row = QueueRow {
        name: name.to_vec(),
        pending: info.pending,
        inflight: info.pending.saturating_sub(queued),
        queued,
        next_rowid: info.next_rowid,
        first_pending: info.first_pending,
        oldest,
        partial: fault.is_some() || look.has_lost(queue),
    };
    Some((row, fault))
}
