//! `forebay queue backups`, `restore` and `delete-backup`.

use forebay_node::inspect::{self, RestoreError};
use serde_json::json;

use super::Lines;
use crate::{
    cli,
    exit::{Exit, Failure, chain},
    output,
};

/// Prints every backup.
///
/// # Errors
/// Where nothing of the store can be read.
pub(super) fn list(flags: &cli::QueueBackups) -> Result<(), Failure> {
    let dir = super::directory(&flags.store)?;
    let rows = inspect::backups(&dir).map_err(|error| super::failure(&error))?;
    let mut lines = Lines::under((!flags.json).then_some("       BYTES  NAME"));
    for row in rows {
        let line = if flags.json {
            json!({"name": row.name, "bytes": row.bytes}).to_string()
        } else {
            format!("{:>12}  {}", row.bytes, row.name)
        };
        if lines.line(&line).is_break() {
            break;
        }
    }
    lines.end(&[], flags.json)
}

/// Puts messages of a backup into their queue again.
///
/// # Errors
/// [`Exit::Partial`] where not all of them could be read; others where none was restored.
pub(super) fn restore(flags: &cli::QueueRestore) -> Result<(), Failure> {
    let dir = super::directory(&flags.store)?;
    let (first, last) = flags.rowids.unwrap_or_default();
    let rowids = first.unwrap_or(0)..=last.unwrap_or(u64::MAX);
    let restored = super::named(&flags.name, |name| {
        match inspect::restore(&dir, &flags.backup, name, &rowids) {
            Err(RestoreError::Inspect(error)) => Err(error),
            other => Ok(other),
        }
    })?;
    let restored = restored.map_err(|error| failure(&error))?;
    output::line(&format!("restored {} messages", restored.messages))?;
    if restored.unreadable == 0 {
        return Ok(());
    }
    let text = format!("{} messages can't be read", restored.unreadable);
    Err(Failure::new(Exit::Partial, text))
}

/// Deletes a backup.
///
/// # Errors
/// Where it is still there.
pub(super) fn delete(flags: &cli::QueueDeleteBackup) -> Result<(), Failure> {
    let dir = super::directory(&flags.store)?;
    let deleted = inspect::delete_backup(&dir, &flags.backup);
    deleted.map_err(|error| failure(&error))
}

fn failure(error: &RestoreError) -> Failure {
    let exit = match error {
        RestoreError::Inspect(error) => return super::failure(error),
        RestoreError::Inbound => Exit::Refused,
        RestoreError::Store(_) | RestoreError::Poisoned(_) | _ => Exit::Io,
    };
    Failure::new(exit, chain(error))
}
