//! What each command does.

mod bench;
mod broker;
mod check;
mod passwd;
mod peer;
mod publish;
mod queue;
mod subscribe;

use std::{future::Future, path::Path};

use crate::{
    cli::Command,
    exit::{Exit, Failure},
    logging,
};

/// Does what was asked.
///
/// # Errors
/// Whatever keeps it from success, with the exit code and what to tell the user.
pub(crate) fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Broker(flags) => broker::run(flags, false),
        Command::Up(flags) => broker::run(flags, true),
        Command::Pub(flags) => publish::run(&flags),
        Command::Sub(flags) => subscribe::run(&flags),
        Command::Check(flags) => check::run(&flags),
        Command::Bench(flags) => bench::run(&flags),
        Command::Passwd(flags) => passwd::run(&flags),
        Command::Queue(command) => queue::run(&command),
    }
}

/// Runs `task` on a thread of its own making.
fn block_on<T>(task: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime
        .map_err(|error| Failure::new(Exit::Internal, format_args!("no runtime: {error}")))?;
    runtime.block_on(task)
}

/// Starts the log of a command that has no configuration file.
fn log_as(level: Option<&str>) -> Result<(), Failure> {
    let level = level.unwrap_or("warn");
    logging::check(level).map_err(|error| {
        let text = format!("--log: {level:?} is no filter of the log: {error}");
        Failure::new(Exit::Usage, text)
    })?;
    logging::start(level, logging::Format::Text);
    Ok(())
}

/// The first line of a file: a password.
fn first_line(path: &Path) -> Result<String, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::new(Exit::Io, format_args!("{}: {error}", path.display())))?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}
