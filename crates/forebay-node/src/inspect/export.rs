//! What waits in queues, to be taken elsewhere.

use std::{ops::ControlFlow, path::Path};

use super::{
    error::{Fault, InspectError},
    filter::Filter,
    look::Look,
    messages::messages_of,
    row::MessageRow,
};

/// Shows the pending messages of one queue, or of every queue in the order of their names, and
/// gives what could not be read: that is not shown. Ends early where `each` breaks.
///
/// # Errors
/// When nothing of the store can be read, or it has no such queue; nothing was shown then.
pub fn export(
    dir: &Path,
    name: Option<&[u8]>,
    mut each: impl FnMut(&MessageRow) -> ControlFlow<()>,
) -> Result<Vec<Fault>, InspectError> {
    let mut look = Look::open(dir)?;
    let names = if let Some(name) = name {
        look.queue(name)?;
        vec![name.to_vec()]
    } else {
        let names = look.store.queues().map(|(_, name)| name.to_vec());
        let mut names: Vec<_> = names.collect();
        names.sort_unstable();
        names
    };
    let mut faults: Vec<Fault> = Vec::new();
    for name in names {
        let mut unlike = Vec::new();
        let filter = Filter::default();
        let (unread, flow) = messages_of(&mut look, &name, &filter, &mut |row| {
            if row.body.is_some() {
                return each(row);
            }
            if row.time.is_some() {
                let fault = Fault::new("the content is no message");
                unlike.push(fault.in_queue(&name, (row.rowid, row.rowid)));
            }
            ControlFlow::Continue(())
        })?;
        for fault in unread.into_iter().chain(unlike) {
            if !faults.contains(&fault) {
                faults.push(fault);
            }
        }
        if flow.is_break() {
            break;
        }
    }
    Ok(faults)
}
