//! `forebay queue list`: every queue.

use forebay_node::inspect::{self, QueueRow};
use serde_json::{Map, Value};

use super::{Lines, text};
use crate::{cli, exit::Failure, time};

/// Prints every queue.
///
/// # Errors
/// [`Exit::Partial`](crate::exit::Exit) where not everything could be read; others where nothing
/// could.
pub(super) fn run(flags: &cli::QueueList) -> Result<(), Failure> {
    let dir = super::directory(&flags.store)?;
    let mut lines = Lines::under((!flags.json).then_some(HEAD));
    let faults = inspect::queues(&dir, |row| {
        if flags.json {
            lines.line(&object(row).to_string())
        } else {
            lines.line(&line(row))
        }
    });
    let faults = faults.map_err(|error| super::failure(&error))?;
    lines.end(&faults, flags.json)
}

const HEAD: &str =
    "   PENDING   INFLIGHT     QUEUED       NEXT      FIRST  OLDEST                    NAME";

fn line(row: &QueueRow) -> String {
    let oldest = row.oldest.map_or_else(|| "-".to_owned(), time::show);
    format!(
        "{:>10} {:>10} {:>10} {:>10} {:>10}  {oldest:<24}  {}{}",
        row.pending,
        row.inflight,
        row.queued,
        row.next_rowid,
        row.first_pending,
        text::escape(&row.name),
        if row.partial { "  PARTIAL" } else { "" },
    )
}

fn object(row: &QueueRow) -> Value {
    let mut object = Map::new();
    text::put(&mut object, "queue", &row.name);
    if let Some(client_id) = row.client_id() {
        text::put(&mut object, "client_id", client_id);
    }
    let mut put = |key: &str, value: Value| object.insert(key.to_owned(), value);
    put("pending", row.pending.into());
    put("inflight", row.inflight.into());
    put("queued", row.queued.into());
    put("next_rowid", row.next_rowid.into());
    put("first_pending", row.first_pending.into());
    put("oldest", row.oldest.map(time::show).into());
    if row.partial {
        put("partial", true.into());
    }
    object.into()
}
