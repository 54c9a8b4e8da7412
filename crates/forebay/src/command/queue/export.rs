//! `forebay queue export`: what is pending, as JSON that can be imported.

use std::{fs::OpenOptions, io};

use forebay_node::inspect::{self, MessageRow};

use super::{Lines, import::Line};
use crate::{
    cli,
    exit::{Exit, Failure},
};

/// Writes what is pending.
///
/// # Errors
/// [`Exit::Partial`] where not everything could be read; others where nothing could.
pub(super) fn run(flags: &cli::QueueExport) -> Result<(), Failure> {
    let dir = super::directory(&flags.store)?;
    let unwritten = |error: &io::Error| {
        let file = flags.to.as_deref().unwrap_or(&dir).display();
        Failure::new(Exit::Io, format_args!("{file}: {error}"))
    };
    let mut file = None;
    let mut lines = match &flags.to {
        Some(path) => {
            let made = OpenOptions::new().write(true).create_new(true).open(path);
            let made = made.map_err(|error| unwritten(&error))?;
            file = Some(made.try_clone().map_err(|error| unwritten(&error))?);
            Lines::to(made)
        }
        None => Lines::under(None),
    };
    let mut failed = None;
    let mut each = |row: &MessageRow| match Line::new(row).and_then(|line| line.json()) {
        Ok(text) => lines.line(&text),
        Err(failure) => {
            failed = Some(failure);
            std::ops::ControlFlow::Break(())
        }
    };
    let faults = match &flags.name {
        Some(name) => super::named(name, |name| inspect::export(&dir, Some(name), &mut each))?,
        None => inspect::export(&dir, None, each).map_err(|error| super::failure(&error))?,
    };
    if let Some(failure) = failed {
        return Err(failure);
    }
    lines.flush()?;
    if let Some(file) = file {
        file.sync_all().map_err(|error| unwritten(&error))?;
    }
    lines.end(&faults, false)
}
