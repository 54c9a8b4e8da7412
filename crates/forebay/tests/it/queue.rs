//! `forebay queue` on the store of a broker that runs, and of one that was killed.

mod backups;
mod carry;
mod check;
mod follow;
mod look;
mod repair;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    time::SystemTime,
};

use serde_json::Value;

use crate::harness::{
    Broker, Client, Version,
    wire::{connect, durable},
};

/// Where some bytes are in the files of a store.
#[track_caller]
fn find(dir: &Path, needle: &str) -> (PathBuf, usize) {
    for (path, (_, bytes)) in everything(dir) {
        let mut parts = bytes.windows(needle.len());
        if let Some(at) = parts.position(|part| part == needle.as_bytes()) {
            return (path, at);
        }
    }
    panic!("no file holds {needle}");
}

/// Changes one bit.
fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).expect("a file");
    bytes[at] ^= 0x20;
    fs::write(path, bytes).expect("a file");
}

/// What a command of `forebay queue` gave.
struct Ran {
    code: i32,
    out: String,
    err: String,
}

/// Runs `forebay queue` with these arguments on a directory.
fn queue(dir: &Path, args: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_forebay"));
    command.arg("queue").arg(args[0]).arg("--data-dir").arg(dir);
    let Output {
        status,
        stdout,
        stderr,
    } = command.args(&args[1..]).output().expect("it runs");
    let err = String::from_utf8(stderr).expect("UTF-8");
    assert!(!err.contains("panicked"), "{err}");
    Ran {
        code: status.code().expect("no signal"),
        out: String::from_utf8(stdout).expect("UTF-8"),
        err,
    }
}

impl Ran {
    /// Requires the code.
    #[track_caller]
    fn ended(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{}\n{}", self.out, self.err);
        self
    }

    /// The lines as JSON.
    #[track_caller]
    fn json(&self) -> Vec<Value> {
        let lines = self.out.lines();
        lines
            .map(|line| {
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
            })
            .collect()
    }
}

/// Runs it with `--json`, requires success, and gives the lines.
#[track_caller]
fn rows(dir: &Path, args: &[&str]) -> Vec<Value> {
    let args = [args, &["--json"]].concat();
    queue(dir, &args).ended(0).json()
}

/// One field of every row.
fn column(rows: &[Value], key: &str) -> Vec<Value> {
    rows.iter().map(|row| row[key].clone()).collect()
}

/// Every file with its bytes and the time it was changed.
fn everything(dir: &Path) -> BTreeMap<PathBuf, (SystemTime, Vec<u8>)> {
    let entries = fs::read_dir(dir).expect("a directory");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .map(|path| {
            let changed = fs::metadata(&path).and_then(|it| it.modified());
            let bytes = fs::read(&path).expect("a file");
            (path, (changed.expect("a time"), bytes))
        })
        .collect()
}

/// A broker with small segments, and more of this in its `[broker.store]`.
#[track_caller]
fn kept(more: &str) -> Broker {
    let mut broker = Broker::at_rest();
    let config = broker.home().join("forebay.toml");
    let limits = "[broker.limits]\nmax_packet_size = 1048576\n";
    let store = format!("[broker.store]\nsegment_size = 4194304\n{more}");
    fs::write(&config, format!("{store}{limits}")).expect("a file");
    broker.add_flags(&["--config", config.to_str().expect("UTF-8")]);
    broker.run();
    broker
}

/// A broker with a session that is away, and one to publish with.
fn away(client_id: &str, filter: &str, qos: u8) -> (Broker, Client) {
    let broker = Broker::start();
    let mut client = broker.connect(&durable(Version::V5, client_id));
    client.subscribe(filter, qos);
    client.leave();
    let publisher = broker.connect(&connect(Version::V5, "publisher"));
    (broker, publisher)
}
