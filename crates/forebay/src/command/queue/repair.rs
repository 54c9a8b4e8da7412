//! `forebay queue repair`: a damaged store made good.

use std::time::{SystemTime, UNIX_EPOCH};

use forebay_node::inspect::{self, Fault, RepairError, Step};
use serde_json::json;

use super::Lines;
use crate::{
    cli,
    exit::{Exit, Failure, chain},
    time,
};

/// Says what is lost, and goes on without it if that is accepted.
///
/// # Errors
/// [`Exit::Data`] where something would be lost and that was not accepted; others where the store
/// could not be repaired.
pub(super) fn run(flags: &cli::QueueRepair) -> Result<(), Failure> {
    let dir = super::directory(&flags.store)?;
    let mut progress = super::progress();
    let progress = |step| match step {
        Step::Check(done, all) => progress("checked", done, all),
        Step::Copy(done, all) => progress("copied", done, all),
        Step::ReadBack(done, all) => progress("read back", done, all),
        _ => {}
    };
    let mut lines = Lines::under(None);
    match inspect::repair(&dir, &stamp(), flags.accept_loss, progress) {
        Ok(None) => {
            let line = if flags.json {
                json!({"repaired": false, "faults": 0}).to_string()
            } else {
                "good: there is nothing to repair".to_owned()
            };
            let _ = lines.line(&line);
            lines.flush()
        }
        Ok(Some(done)) => {
            tell(&mut lines, &done.lost, flags.json);
            let line = if flags.json {
                let sums = json!({
                    "repaired": true,
                    "faults": done.lost.len(),
                    "queues": done.queues,
                    "pending": done.messages,
                    "damaged": done.damaged,
                });
                sums.to_string()
            } else {
                format!(
                    "repaired: {} pending messages of {} queues are kept; the damaged store is {}",
                    done.messages,
                    done.queues,
                    done.damaged.display()
                )
            };
            let _ = lines.line(&line);
            lines.flush()
        }
        Err(RepairError::Loss(faults)) => {
            tell(&mut lines, &faults, flags.json);
            lines.flush()?;
            let cure = "nothing was changed; with --accept-loss the store goes on without what is \
                        named here, and the damaged one is kept beside it";
            Err(Failure::new(Exit::Data, cure))
        }
        Err(error) => Err(failure(&error)),
    }
}

fn tell(lines: &mut Lines, faults: &[Fault], as_json: bool) {
    for fault in faults {
        let line = if as_json {
            super::fault_json(fault).to_string()
        } else {
            format!("lost: {}", super::fault_text(fault))
        };
        if lines.line(&line).is_break() {
            break;
        }
    }
}

/// The time as a part of a name.
fn stamp() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |it| u64::try_from(it.as_nanos()).unwrap_or(u64::MAX));
    let shown = time::show(now);
    shown.chars().filter(char::is_ascii_alphanumeric).collect()
}

fn failure(error: &RepairError) -> Failure {
    let cure = match error {
        RepairError::Inspect(error) => return super::failure(error),
        RepairError::Copy { .. } => {
            "make room beside the data directory for all that is pending; the store is as it was"
        }
        RepairError::Place { .. } => {
            "move the damaged store away and that one into its place; nothing was deleted"
        }
        RepairError::Loss(_) | RepairError::Unlike { .. } | RepairError::Io { .. } | _ => {
            "the store is as it was"
        }
    };
    Failure::new(Exit::Io, format_args!("{}\n{cure}", chain(error)))
}
