//! What the tests stand on: a broker process, a raw client, and the bytes between them.

mod broker;
mod client;
mod lines;
mod random;
pub(crate) mod wire;

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

pub(crate) use broker::{Broker, peer_is_foreign};
pub(crate) use client::{Client, Delivery};
pub(crate) use lines::{Lines, end_by_term};
pub(crate) use random::{Random, seed as random_seed};
pub(crate) use wire::{BOTH, Version};

/// How long anything may take before a test gives up on it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// The command that runs a script of `tests/paho` with the Python that has paho-mqtt.
///
/// # Panics
/// Without it: `./test` makes it.
#[track_caller]
pub(crate) fn venv_python(script: &str) -> Command {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let default = || here.join("../../target/venv/bin/python");
    let python = std::env::var_os("FOREBAY_TEST_PYTHON").map_or_else(default, PathBuf::from);
    assert!(
        python.exists(),
        "{} is missing: run ./test, which makes it",
        python.display()
    );
    let mut command = Command::new(python);
    command.arg(here.join("tests/paho").join(script));
    command
}

/// Calls `probe` until it gives a value.
///
/// # Panics
/// After [`PATIENCE`], naming `what`.
#[track_caller]
pub(crate) fn wait_until<T>(what: &str, mut probe: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(value) = probe() {
            return value;
        }
        assert!(
            Instant::now() < deadline,
            "gave up after {PATIENCE:?} on: {what}"
        );
        std::thread::park_timeout(Duration::from_millis(2));
    }
}
