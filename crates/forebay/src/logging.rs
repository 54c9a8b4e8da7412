//! The log: one stream on stderr, as text or as JSON.
//!
//! Owns the set-up of `tracing`. Levels: packets are TRACE, changes of state DEBUG, what an
//! operator wants to see INFO, what should wake someone WARN.

use std::io::{self, IsTerminal};

use clap::ValueEnum;
use serde::Deserialize;
use tracing_subscriber::EnvFilter;

/// The variable that filters the log where no flag and no file does.
pub(crate) const VARIABLE: &str = "FOREBAY_LOG";

/// How a line of the log looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

impl Format {
    /// The name in flags and files.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
        }
    }
}

/// Whether `filter` is a level or a list of `target=level`.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn check(filter: &str) -> Result<(), String> {
    EnvFilter::try_new(filter)
        .map(|_| ())
        .map_err(|error| error.to_string())
}

/// Starts the log. A second call in a process has no effect.
pub(crate) fn start(filter: &str, format: Format) {
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new("info"));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal());
    let started = match format {
        Format::Text => builder.try_init(),
        Format::Json => builder.json().flatten_event(true).try_init(),
    };
    if started.is_err() {
        tracing::debug!("the log was started before");
    }
}
