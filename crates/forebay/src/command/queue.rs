//! `forebay queue`: what is in the queues of a store.

mod backups;
mod check;
mod export;
mod follow;
mod import;
mod list;
mod repair;
mod show;
mod text;

use std::{
    ffi::OsStr,
    io::{self, Write},
    ops::ControlFlow,
    path::PathBuf,
    time::{Duration, Instant},
};

use forebay_node::inspect::{Fault, InspectError};
use serde_json::{Value, json};

use crate::{
    cli::{self, StoreAt},
    config::{self, Flags},
    exit::{Exit, Failure, chain},
    output,
};

/// Between two words of progress, and before the first.
const PACE: Duration = Duration::from_secs(1);

/// Does what was asked of the queues.
///
/// # Errors
/// [`Exit::Partial`] where not everything could be read; others where nothing could.
pub(crate) fn run(command: &cli::Queue) -> Result<(), Failure> {
    match command {
        cli::Queue::List(flags) => list::run(flags),
        cli::Queue::Show(flags) => show::run(flags),
        cli::Queue::Follow(flags) => follow::run(flags),
        cli::Queue::Check(flags) => check::run(flags),
        cli::Queue::Export(flags) => export::run(flags),
        cli::Queue::Import(flags) => import::run(flags),
        cli::Queue::Backups(flags) => backups::list(flags),
        cli::Queue::Restore(flags) => backups::restore(flags),
        cli::Queue::DeleteBackup(flags) => backups::delete(flags),
        cli::Queue::Repair(flags) => repair::run(flags),
    }
}

/// Where the store is.
fn directory(store: &StoreAt) -> Result<PathBuf, Failure> {
    if let Some(dir) = &store.data_dir {
        return Ok(dir.clone());
    }
    let config = config::load(store.config.as_deref(), &Flags::default()).good()?;
    Ok(config.broker.data_dir.value)
}

/// What there is to do about damage.
const TO_REPAIR: &str = "nothing was changed; forebay queue repair says what is lost, and goes on \
                         without it if that is accepted";

/// Tells how far something is, now and then.
fn progress() -> impl FnMut(&str, u64, u64) {
    let mut last = Instant::now();
    move |what, done, all| {
        if last.elapsed() >= PACE {
            last = Instant::now();
            let percent = done.min(all) * 100 / all.max(1);
            eprintln!("{what} {percent} %");
        }
    }
}

/// What went wrong, and what to do about it.
fn failure(error: &InspectError) -> Failure {
    let (exit, cure) = match error {
        InspectError::NoQueue { name } => {
            let text = format!(
                "there is no queue {}\nforebay queue list prints those there are",
                text::escape(name)
            );
            return Failure::new(Exit::Refused, text);
        }
        InspectError::NoBackup { .. } => (
            Exit::Refused,
            "forebay queue backups prints those there are",
        ),
        InspectError::DataDir { .. } => {
            (Exit::Io, "correct the path, with --data-dir, or its rights")
        }
        InspectError::Locked { .. } => (Exit::Locked, "stop that process first"),
        InspectError::Damaged { .. } => (Exit::Data, TO_REPAIR),
        InspectError::NewerFormat { .. } => (Exit::Data, "use the newer release"),
        InspectError::Store { .. } | _ => (Exit::Data, "nothing was changed"),
    };
    Failure::new(exit, format_args!("{}\n{cure}", chain(error)))
}

/// Does it with the queue that is meant by what was typed.
fn named<T>(
    typed: &OsStr,
    mut with: impl FnMut(&[u8]) -> Result<T, InspectError>,
) -> Result<T, Failure> {
    let mut first = None;
    // An error speaks of the name as it was typed.
    for name in &text::names(typed) {
        match with(name) {
            Err(error @ InspectError::NoQueue { .. }) => {
                first.get_or_insert_with(|| failure(&error));
            }
            result => return result.map_err(|error| failure(&error)),
        }
    }
    Err(first.unwrap_or_else(|| Failure::new(Exit::Internal, "a name that stands for none")))
}

/// Writes lines until the reader of the pipe has gone.
struct Lines {
    out: Box<dyn Write>,
    /// What stands above the first line.
    head: Option<&'static str>,
    failed: Option<Failure>,
}

impl Lines {
    fn under(head: Option<&'static str>) -> Self {
        Self {
            out: Box::new(output::buffered()),
            head,
            failed: None,
        }
    }

    fn to(file: std::fs::File) -> Self {
        Self {
            out: Box::new(io::BufWriter::new(file)),
            head: None,
            failed: None,
        }
    }

    fn line(&mut self, text: &str) -> ControlFlow<()> {
        let head = self.head.take().into_iter();
        for line in head.chain([text]) {
            if let Err(error) = writeln!(self.out, "{line}") {
                self.failed = Some(output::failed(&error));
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }

    fn flush(&mut self) -> Result<(), Failure> {
        let flushed = self.out.flush();
        match self.failed.take() {
            Some(failure) => Err(failure),
            None => flushed.map_err(|error| output::failed(&error)),
        }
    }

    /// Ends the output, tells what could not be read, and makes the end of it.
    fn end(mut self, faults: &[Fault], as_json: bool) -> Result<(), Failure> {
        if let Some(head) = self.head.take() {
            let _ = self.line(head);
        }
        self.partial(faults, as_json)?;
        if faults.is_empty() {
            return Ok(());
        }
        Err(Failure::told(Exit::Partial))
    }

    /// Tells what could not be read.
    fn partial(&mut self, faults: &[Fault], as_json: bool) -> Result<(), Failure> {
        if as_json && !faults.is_empty() {
            let faults: Vec<Value> = faults.iter().map(fault_json).collect();
            let _ = self.line(&json!({"partial": true, "faults": faults}).to_string());
        }
        self.flush()?;
        for fault in faults {
            eprintln!("PARTIAL: {}", fault_text(fault));
        }
        Ok(())
    }
}

fn fault_text(fault: &Fault) -> String {
    match &fault.queue {
        Some(queue) => format!("{fault} of {}", text::escape(queue)),
        None => fault.to_string(),
    }
}

fn fault_json(fault: &Fault) -> Value {
    let mut object = serde_json::Map::new();
    object.insert("file".to_owned(), fault.file.clone().into());
    object.insert("offset".to_owned(), fault.offset.into());
    if let Some(queue) = &fault.queue {
        text::put(&mut object, "queue", queue);
    }
    if let Some((first, last)) = fault.rowids {
        object.insert("rowids".to_owned(), json!([first, last]));
    }
    object.insert("what".to_owned(), fault.what.clone().into());
    object.into()
}
