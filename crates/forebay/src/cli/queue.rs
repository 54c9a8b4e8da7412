//! The flags of `queue` and its commands.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use clap::{Args, Subcommand};

use crate::time;

pub(crate) const HELP: &str = "\
Looking takes no lock and changes nothing; a broker may be at work on the store. What can't be
read is told as PARTIAL on standard error, and with --json in a last line; the end is then 3.

Examples:
  forebay queue list --data-dir /var/lib/forebay
  forebay queue show recorder-OUT
  forebay queue check --data-dir /var/lib/forebay
  forebay queue repair --data-dir /var/lib/forebay

A session has two queues: <client id>-OUT for what it is sent, <client id>-IN for what came from
it with QoS 2 and is not released yet. Exit codes: forebay --help.";

const LIST_HELP: &str = "\
Inflight are the messages whose handshake has begun, queued those that wait for their turn; both
are pending. Times are those of the oldest pending message. Control characters in a name are
printed as \\xNN, and can be given so to the other commands.

Examples:
  forebay queue list
  forebay queue list --data-dir /var/lib/forebay --json";

const SHOW_HELP: &str = "\
Prints a line a message: rowid, time, flag, what the flag says (QoS, R for retain, D for dup,
direction, origin, state), packet identifier, why it was done with or the list that it is in,
bytes of its content, topic. What is done with is there until its space is used again.

Examples:
  forebay queue show recorder-OUT
  forebay queue show recorder-OUT --all --state wait_for_puback --since 2026-01-31T08:00:00Z
  forebay queue show recorder-OUT --rowids 100..199 --contents --json";

const FOLLOW_HELP: &str = "\
Prints what is pending, and then a line whenever a message comes, its state changes, or it is done
with, as `queue show` does. Several changes between two looks are one line. Ends with Ctrl-C.

Examples:
  forebay queue follow recorder-OUT
  forebay queue follow recorder-OUT --every 0.2 --json";

const CHECK_HELP: &str = "\
Reads every file to its end, compares every checksum, and reads the content of every pending
message. Each fault is a line with file and offset. Ends with 0 if all is as it was written, 65 if
not. Progress goes to standard error.

Examples:
  forebay queue check
  forebay queue check --data-dir /var/lib/forebay --json";

const EXPORT_HELP: &str = "\
Writes what is pending, a JSON object a line, properties and payload in base 64, for `queue
import`. Messages that are done with, sessions and subscriptions are no part of it. Messages that
can't be read are told on standard error and left out; the end is then 3.

Examples:
  forebay queue export recorder-OUT > recorder.jsonl
  forebay queue export --all --to pending.jsonl";

const IMPORT_HELP: &str = "\
Puts every message of a file that `queue export` wrote behind those that its queue has, pending.
No broker may run on the store. The whole file is looked at first; where a line is wrong nothing is
written. A queue without a session gets one, which keeps its messages until its client comes; what
it was subscribed to, the client says anew. Importing a file twice delivers its messages twice.

Examples:
  forebay queue import pending.jsonl --data-dir /var/lib/forebay
  forebay queue import recorder.jsonl --queue other-OUT";

const BACKUPS_HELP: &str = "\
A backup is a segment of the log in which nothing is pending any more. `backups` in [broker.store]
says how many are kept; `queue show --backup` prints what is in one.

Examples:
  forebay queue backups
  forebay queue backups --data-dir /var/lib/forebay --json";

const RESTORE_HELP: &str = "\
Puts the messages of a queue that are in a backup behind those that the queue has, pending, to be
delivered once more. No broker may run on the store. Restoring twice delivers twice.

Examples:
  forebay queue restore bak-0000000003 recorder-OUT
  forebay queue restore bak-0000000003 recorder-OUT --rowids 100..199";

const DELETE_BACKUP_HELP: &str = "\
Deletes a backup for ever. No broker may run on the store.

Example:
  forebay queue delete-backup bak-0000000003 --data-dir /var/lib/forebay";

const REPAIR_HELP: &str = "\
For a store that a broker refuses since something in it was acknowledged and can't be read. Prints
what is lost, as `queue check` does, and changes nothing: the end is 65. With --accept-loss all that
can be read goes into a new store that takes the place of the damaged one, which stays beside it as
DIR.damaged-TIME. Nothing is deleted. There must be room for all that is pending, and no broker may
run.

Examples:
  forebay queue repair --data-dir /var/lib/forebay
  forebay queue repair --data-dir /var/lib/forebay --accept-loss";

/// The commands of `queue`.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Queue {
    /// Print every queue, a line each
    #[command(after_help = LIST_HELP)]
    List(QueueList),
    /// Print the messages of a queue, a line each
    #[command(after_help = SHOW_HELP)]
    Show(QueueShow),
    /// Print the messages of a queue as they come, change and go
    #[command(after_help = FOLLOW_HELP)]
    Follow(QueueFollow),
    /// Verify every checksum of a store, and that every pending message can be read
    #[command(after_help = CHECK_HELP)]
    Check(QueueCheck),
    /// Write what is pending as JSON
    #[command(after_help = EXPORT_HELP)]
    Export(QueueExport),
    /// Put exported messages into the queues of a store that no broker runs on
    #[command(after_help = IMPORT_HELP)]
    Import(QueueImport),
    /// Print every backup of done messages, a line each
    #[command(after_help = BACKUPS_HELP)]
    Backups(QueueBackups),
    /// Put messages of a backup into their queue again
    #[command(after_help = RESTORE_HELP)]
    Restore(QueueRestore),
    /// Delete a backup
    #[command(after_help = DELETE_BACKUP_HELP)]
    DeleteBackup(QueueDeleteBackup),
    /// Make a damaged store good, as far as it can be read
    #[command(after_help = REPAIR_HELP)]
    Repair(QueueRepair),
}

/// Which store.
#[derive(Clone, Debug, Args)]
pub(crate) struct StoreAt {
    /// Where the broker keeps its data [default: broker.data_dir of the configuration]
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// The configuration file [default: ./forebay.toml if there is one]
    #[arg(long, value_name = "FILE", conflicts_with = "data_dir")]
    pub(crate) config: Option<PathBuf>,
}

/// The flags of `queue list`.
#[derive(Clone, Debug, Args)]
pub(crate) struct QueueList {
    #[command(flatten)]
    pub(crate) store: StoreAt,
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// The flags of `queue show`.
#[derive(Clone, Debug, Args)]
pub(crate) struct QueueShow {
    #[command(flatten)]
    pub(crate) store: StoreAt,
    /// The queue, any characters; -- goes before one that looks like a flag
    #[arg(value_name = "NAME")]
    pub(crate) name: OsString,
    /// Messages that are done with too, as far as they are still there
    #[arg(long)]
    pub(crate) all: bool,
    /// Only messages that are done with and in this backup
    #[arg(long, value_name = "BACKUP", conflicts_with = "all")]
    pub(crate) backup: Option<String>,
    /// Only messages of this QoS
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=2))]
    pub(crate) qos: Option<u8>,
    /// Only messages in this state, as wait_for_puback or queued
    #[arg(long, value_name = "STATE", value_parser = state)]
    pub(crate) state: Option<String>,
    /// Only rowids from A to B, both included; either may be left out
    #[arg(long, value_name = "A..B", value_parser = rowids)]
    pub(crate) rowids: Option<(Option<u64>, Option<u64>)>,
    /// Only messages that came then or later: RFC 3339, or seconds since 1970
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    pub(crate) since: Option<u64>,
    /// Only messages that came then or earlier
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    pub(crate) until: Option<u64>,
    /// Properties and payload too
    #[arg(long)]
    pub(crate) contents: bool,
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// The flags of `queue follow`.
#[derive(Clone, Debug, Args)]
pub(crate) struct QueueFollow {
    #[command(flatten)]
    pub(crate) store: StoreAt,
    /// The queue, any characters; -- goes before one that looks like a flag
    #[arg(value_name = "NAME")]
    pub(crate) name: OsString,
    /// Seconds between two looks
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    pub(crate) every: Duration,
    /// Only messages of this QoS
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=2))]
    pub(crate) qos: Option<u8>,
    /// Only messages that are in this state, or were when they were done with
    #[arg(long, value_name = "STATE", value_parser = state)]
    pub(crate) state: Option<String>,
    /// Properties and payload too
    #[arg(long)]
    pub(crate) contents: bool,
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// The flags of `queue check`.
#[derive(Clone, Debug, Args)]
pub(crate) struct QueueCheck {
    #[command(flatten)]
    pub(crate) store: StoreAt,
    /// One JSON object a line: the faults, then the sums
    #[arg(long)]
    pub(crate) json: bool,
}

/// The flags of `queue export`.
#[derive(Clone, Debug, Args)]
pub(crate) struct QueueExport {
    #[command(flatten)]
    pub(crate) store: StoreAt,
    /// The queue, any characters; -- goes before one that looks like a flag
    #[arg(value_name = "NAME", required_unless_present = "all")]
    pub(crate) name: Option<OsString>,
    /// Every queue
    #[arg(long, conflicts_with = "name")]
    pub(crate) all: bool,
    /// Where to write, on disk before the end; a file that is there is left alone [default:
    /// standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) to: Option<PathBuf>,
}

/// The flags of `queue import`.
#[derive(Clone, Debug, Args)]
pub(crate) struct QueueImport {
    #[command(flatten)]
    pub(crate) store: StoreAt,
    /// What to import
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The queue to put all of it into [default: the queue that each message came from]
    #[arg(long, value_name = "NAME")]
    pub(crate) queue: Option<OsString>,
}

/// The flags of `queue backups`.
#[derive(Clone, Debug, Args)]
pub(crate) struct QueueBackups {
    #[command(flatten)]
    pub(crate) store: StoreAt,
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// The flags of `queue restore`.
#[derive(Clone, Debug, Args)]
pub(crate) struct QueueRestore {
    #[command(flatten)]
    pub(crate) store: StoreAt,
    /// The backup, as `queue backups` prints it
    #[arg(value_name = "BACKUP")]
    pub(crate) backup: String,
    /// The queue, any characters; -- goes before one that looks like a flag
    #[arg(value_name = "NAME")]
    pub(crate) name: OsString,
    /// Only rowids from A to B, both included; either may be left out
    #[arg(long, value_name = "A..B", value_parser = rowids)]
    pub(crate) rowids: Option<(Option<u64>, Option<u64>)>,
}

/// The flags of `queue delete-backup`.
#[derive(Clone, Debug, Args)]
pub(crate) struct QueueDeleteBackup {
    #[command(flatten)]
    pub(crate) store: StoreAt,
    /// The backup, as `queue backups` prints it
    #[arg(value_name = "BACKUP")]
    pub(crate) backup: String,
}

/// The flags of `queue repair`.
#[derive(Clone, Debug, Args)]
pub(crate) struct QueueRepair {
    #[command(flatten)]
    pub(crate) store: StoreAt,
    /// Go on without what is lost
    #[arg(long)]
    pub(crate) accept_loss: bool,
    /// One JSON object a line: the faults, then what was done
    #[arg(long)]
    pub(crate) json: bool,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: Option<f64> = text.parse().ok();
    seconds
        .filter(|seconds| (0.01..=86_400.0).contains(seconds))
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "a number from 0.01 to 86400".to_owned())
}

fn state(text: &str) -> Result<String, String> {
    let names = forebay_node::inspect::state_names();
    if names.iter().any(|name| name == text) {
        return Ok(text.to_owned());
    }
    Err(format!("there are {}", names.join(", ")))
}

fn rowids(text: &str) -> Result<(Option<u64>, Option<u64>), String> {
    let number = |text: &str| match text {
        "" => Ok(None),
        text => text
            .parse()
            .map(Some)
            .map_err(|_| format!("{text:?} is no rowid")),
    };
    match text.split_once("..") {
        Some((from, to)) => Ok((number(from)?, number(to)?)),
        None => number(text).map(|one| (one, one)),
    }
}

#[cfg(test)]
mod tests;
