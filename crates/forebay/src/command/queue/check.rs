//! `forebay queue check`: whether everything in a store can be read.

use forebay_node::inspect;
use serde_json::json;

use super::Lines;
use crate::{
    cli,
    exit::{Exit, Failure},
};

/// Prints every fault, and what was read.
///
/// # Errors
/// [`Exit::Data`] where there is a fault; others where the store can't be opened.
pub(super) fn run(flags: &cli::QueueCheck) -> Result<(), Failure> {
    let dir = super::directory(&flags.store)?;
    let mut progress = super::progress();
    let progress = |done, all| progress("checked", done, all);
    let checked = inspect::check(&dir, progress).map_err(|error| super::failure(&error))?;
    let mut lines = Lines::under(None);
    for fault in &checked.faults {
        let _ = if flags.json {
            lines.line(&super::fault_json(fault).to_string())
        } else {
            lines.line(&super::fault_text(fault))
        };
    }
    let faults = checked.faults.len();
    let _ = if flags.json {
        let sums = json!({
            "ok": faults == 0,
            "faults": faults,
            "frames": checked.frames,
            "bytes": checked.bytes,
            "queues": checked.queues,
            "pending": checked.messages,
        });
        lines.line(&sums.to_string())
    } else {
        lines.line(&format!(
            "{}: {faults} faults; read {} frames in {} bytes, and {} pending messages of {} queues",
            if faults == 0 { "good" } else { "DAMAGED" },
            checked.frames,
            checked.bytes,
            checked.messages,
            checked.queues,
        ))
    };
    lines.flush()?;
    if faults == 0 {
        return Ok(());
    }
    Err(Failure::new(Exit::Data, super::TO_REPAIR))
}
