//! Forebay: durable MQTT from the edge to the control plane, in one binary.
//!
//! `cli` is what can be typed, `config` what it means, `command` what is done. Results go to
//! stdout (`output`), the log and everything else to stderr (`logging`), the end is a code of
//! `exit`.

mod cli;
mod command;
mod config;
mod exit;
mod logging;
mod output;
mod time;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match command::run(cli::Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            for line in failure.message.lines() {
                eprintln!("forebay: {line}");
            }
            failure.exit.into()
        }
    }
}
