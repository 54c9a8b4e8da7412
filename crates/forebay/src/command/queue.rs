//! `forebay queue`: what is in the queues of a store.

mod list;
mod show;
mod text;

use std::{
    io::{self, Write},
    ops::ControlFlow,
    path::PathBuf,
};

use forebay_node::inspect::{Fault, InspectError};
use serde_json::{Value, json};

use crate::{
    cli::{self, StoreAt},
    config::{self, Flags},
    exit::{Exit, Failure, chain},
    output,
};

/// Does what was asked of the queues.
///
/// # Errors
/// [`Exit::Partial`] where not everything could be read; others where nothing could.
pub(crate) fn run(command: &cli::Queue) -> Result<(), Failure> {
    match command {
        cli::Queue::List(flags) => list::run(flags),
        cli::Queue::Show(flags) => show::run(flags),
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
        InspectError::DataDir { .. } => {
            (Exit::Io, "correct the path, with --data-dir, or its rights")
        }
        InspectError::Locked { .. } => (Exit::Locked, "stop that process first"),
        InspectError::Damaged { .. } => (
            Exit::Data,
            "nothing was changed; keep a copy of the directory before anything is tried",
        ),
        InspectError::NewerFormat { .. } => (Exit::Data, "use the newer release"),
        InspectError::Store { .. } | _ => (Exit::Data, "nothing was changed"),
    };
    Failure::new(exit, format_args!("{}\n{cure}", chain(error)))
}

/// Writes lines until the reader of the pipe has gone.
struct Lines {
    out: io::BufWriter<io::StdoutLock<'static>>,
    /// What stands above the first line.
    head: Option<&'static str>,
    failed: Option<Failure>,
}

impl Lines {
    fn under(head: Option<&'static str>) -> Self {
        Self {
            out: output::buffered(),
            head,
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
        self.flush()?;
        if faults.is_empty() {
            return Ok(());
        }
        if as_json {
            let faults: Vec<Value> = faults.iter().map(fault_json).collect();
            let _ = self.line(&json!({"partial": true, "faults": faults}).to_string());
            self.flush()?;
        }
        for fault in faults {
            eprintln!("PARTIAL: {}", fault_text(fault));
        }
        Err(Failure::told(Exit::Partial))
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
