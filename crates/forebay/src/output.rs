//! Standard output: results for people and for programs, and nothing else.
//!
//! Owns every write to stdout. Logs and progress go to stderr.

use std::io::{self, Write};

use serde::Serialize;

use crate::exit::{Exit, Failure};

/// Writes `text` and a line end, and hands it to the reader at once.
///
/// # Errors
/// The reader of a pipe has gone, or the file behind stdout takes no more.
pub(crate) fn line(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")
        .and_then(|()| out.flush())
        .map_err(|error| failed(&error))
}

/// Writes `value` as one line of JSON.
///
/// # Errors
/// As [`line`].
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value)
        .map_err(|error| Failure::new(Exit::Internal, format_args!("no JSON of it: {error}")))?;
    line(&text)
}

/// Stdout for many writes, flushed by the caller.
pub(crate) fn buffered() -> io::BufWriter<io::StdoutLock<'static>> {
    io::BufWriter::with_capacity(64 * 1024, io::stdout().lock())
}

/// The failure that an error of stdout means.
pub(crate) fn failed(error: &io::Error) -> Failure {
    if error.kind() == io::ErrorKind::BrokenPipe {
        // The reader has what it wanted, as with `head`.
        return Failure::told(Exit::Io);
    }
    Failure::new(Exit::Io, format_args!("standard output: {error}"))
}
