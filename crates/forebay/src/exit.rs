//! How a run ends: the exit codes and the failures that carry them.
//!
//! Owns [`Exit`] and [`Failure`]. The numbers are those of `sysexits.h`, so that scripts and
//! service managers can tell a mistake in the configuration from a damaged disk.

use std::{fmt, process::ExitCode};

/// Why a run ended without success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The peer refused something, there is no such queue, or a check found a fault.
    Refused = 1,
    /// The arguments don't make sense together; clap answers the same for those it can't parse.
    Usage = 2,
    /// Part of what was asked for can't be read; the rest was given.
    Partial = 3,
    /// Damaged data, or data of a newer format.
    Data = 65,
    /// An address in use, or a peer that can't be reached or went away.
    Unavailable = 69,
    /// A fault in the program, or the system refused it a thread, a timer or a file descriptor.
    Internal = 70,
    /// The data directory, another file or a pipe can't be read or written.
    Io = 74,
    /// Another process holds the data directory.
    Locked = 75,
    /// The configuration is wrong.
    Config = 78,
}

/// The codes as the help shows them.
pub(crate) const HELP: &str = "\
Exit codes:
   0  done
   1  the peer refused something, messages were lost, doubled or out of order, or there is no
      such queue
   2  wrong usage
   3  part of what was asked for can't be read; the rest was given
  65  damaged data, or data of a newer format
  69  address in use, or the peer can't be reached or went away
  70  a fault in the program, or a limit of the system such as open files
  74  the data directory or another file can't be read or written
  75  another process holds the data directory
  78  the configuration is wrong";

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// An end without success: the code, and what to tell the user.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The code.
    pub(crate) exit: Exit,
    /// One or more lines that say what is wrong and what to do; empty if that was said.
    pub(crate) message: String,
}

impl Failure {
    /// A failure that is told as `message`.
    pub(crate) fn new(exit: Exit, message: impl fmt::Display) -> Self {
        Self {
            exit,
            message: message.to_string(),
        }
    }

    /// A failure whose reason the user has already read.
    pub(crate) const fn told(exit: Exit) -> Self {
        Self {
            exit,
            message: String::new(),
        }
    }
}

/// An error and its sources on one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text.push_str(": ");
            text.push_str(&inner_text);
        }
        source = inner.source();
    }
    text
}
