//! The messages of a queue.

use std::{ops::ControlFlow, path::Path};

use forebay_store::{Content, ContentError, Inspected, QueueId};

use super::{
    backups,
    check::check,
    error::{Fault, InspectError},
    filter::Filter,
    look::Look,
    row::{Entry, MessageRow},
};

/// Shows the messages of a queue that a filter lets through, in order, and gives what could not
/// be read. Ends early where `each` breaks.
///
/// # Errors
/// When nothing of the store can be read, or it has no such queue; nothing was shown then.
pub fn messages(
    dir: &Path,
    name: &[u8],
    filter: &Filter,
    mut each: impl FnMut(&MessageRow) -> ControlFlow<()>,
) -> Result<Vec<Fault>, InspectError> {
    let mut look = Look::open(dir)?;
    look.queue(name)?;
    if let Some(backup) = &filter.backup {
        backups::find(look.store.backups(), backup)?;
    }
    let (mut faults, flow) = messages_of(&mut look, name, filter, &mut each)?;
    if filter.all && flow.is_continue() {
        // What is done with is in the log alone: it is whole where all of that is.
        let of_log = check(dir, |_, _| ())?.faults.into_iter();
        for fault in of_log.filter(|fault| fault.queue.is_none()) {
            if !faults.iter().any(|known| known.is_at(&fault)) {
                faults.push(fault);
            }
        }
    }
    Ok(faults)
}

/// As [`messages`], on a store that was looked into already, and whether `each` broke.
pub(super) fn messages_of(
    look: &mut Look,
    name: &[u8],
    filter: &Filter,
    each: &mut dyn FnMut(&MessageRow) -> ControlFlow<()>,
) -> Result<(Vec<Fault>, ControlFlow<()>), InspectError> {
    let mut faults = Vec::new();
    let mut from = filter.first();
    let mut before: Option<Vec<Fault>> = None;
    // A queue that is gone meanwhile has nothing more to show.
    'again: while let Some(queue) = look.store.queue(name) {
        let (found, unread) = find(look, queue, filter, from);
        if !unread.is_empty() && before.as_ref() != Some(&unread) {
            before = Some(unread);
            look.refresh()?;
            continue 'again;
        }
        for it in found {
            let Some((entry, content)) = read(look, queue, name, &it) else {
                continue;
            };
            from = entry.rowid;
            if !filter.takes_flag(entry.flag) {
                continue;
            }
            let content = match content {
                Ok(content) if !filter.takes_time(content.time) => continue,
                Ok(content) => Ok(content),
                Err(error) if entry.flag.pending() => {
                    // It may have been moved, or be done with, since the store was looked into.
                    let fault = Fault::of_content(&error, name, from);
                    if before.as_ref() != Some(&vec![fault.clone()]) {
                        before = Some(vec![fault]);
                        look.refresh()?;
                        continue 'again;
                    }
                    faults.push(fault);
                    Err(error.to_string())
                }
                // The space of what is done with is used again.
                Err(_) => Err("its content is gone".to_owned()),
            };
            if each(&MessageRow::new(&entry, content)).is_break() {
                return Ok((faults, ControlFlow::Break(())));
            }
        }
        let of_store = [look.faults(), look.lost(queue, name), unread].concat();
        faults.splice(0..0, of_store);
        break;
    }
    Ok((faults, ControlFlow::Continue(())))
}

/// A message of a queue at one moment.
pub(super) enum Found {
    /// Not done with; its rowid.
    Pending(u64),
    /// As the log has it.
    Any(Box<Inspected>),
}

/// The messages from one rowid on, and the files in which some may have been missed.
fn find(look: &mut Look, queue: QueueId, filter: &Filter, from: u64) -> (Vec<Found>, Vec<Fault>) {
    let wanted = from..=filter.last();
    if let Some(backup) = &filter.backup {
        // A backup that is gone meanwhile has nothing more to show.
        let name = backups::find(look.store.backups(), backup);
        let found = name.map(|name| look.store.load_backup(name, queue));
        let mut found = found.into_iter().flatten().flatten().collect::<Vec<_>>();
        found.retain(|it| wanted.contains(&it.rowid));
        let found = found.into_iter().map(|it| Found::Any(Box::new(it)));
        return (found.collect(), Vec::new());
    }
    if !filter.all {
        let mut rowids = look.pending(queue);
        rowids.retain(|rowid| wanted.contains(rowid));
        return (rowids.into_iter().map(Found::Pending).collect(), Vec::new());
    }
    // It fails for a writer alone, and where there is no such queue.
    let found = look.store.load_all(queue, wanted).unwrap_or_default();
    let messages = found.messages.into_iter();
    let messages = messages.map(|it| Found::Any(Box::new(it))).collect();
    let unread = found.unread.into_iter().map(Fault::unread).collect();
    (messages, unread)
}

/// What the queue says of a message, and its content; `None` where it is gone.
pub(super) fn read<'a>(
    look: &mut Look,
    queue: QueueId,
    name: &'a [u8],
    found: &Found,
) -> Option<(Entry<'a>, Result<Content, ContentError>)> {
    match found {
        Found::Pending(rowid) => {
            let it = look.store.message(queue, *rowid)?;
            let entry = Entry {
                queue: name,
                rowid: it.rowid,
                flag: it.flag,
                packet_id: it.packet_id,
                outcome: None,
                note: it.note,
                len: it.len,
            };
            Some((entry, look.store.content(queue, *rowid)))
        }
        Found::Any(it) => {
            let entry = Entry {
                queue: name,
                rowid: it.rowid,
                flag: it.flag,
                packet_id: it.packet_id,
                outcome: it.outcome,
                note: it.note.clone(),
                len: it.len,
            };
            Some((entry, look.store.inspected_content(it)))
        }
    }
}
