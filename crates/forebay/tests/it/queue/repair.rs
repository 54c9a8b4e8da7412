//! `repair`: a damaged store goes on without what was lost, once that is accepted (queue claims
//! 22, 29).

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};

use super::{column, everything, find, flip, kept, queue, rows};
use crate::harness::{
    Broker, Random, Version, random_seed,
    wire::{PUBACK, ack, connect, durable, publish},
};

const COUNT: u16 = 30;

/// A broker that was killed with messages `marker-00001-` and so on for a session `c`, and a
/// retained message.
fn loaded() -> Broker {
    let mut broker = kept("");
    let mut client = broker.connect(&durable(Version::V5, "c"));
    client.subscribe("t", 1);
    client.leave();
    let mut publisher = broker.connect(&connect(Version::V5, "publisher"));
    let retained = publish("r", "retained").retain(true);
    publisher.send(retained.qos(1, 1).bytes(Version::V5));
    publisher.expect_ack(PUBACK, 1);
    for number in 1..=COUNT {
        publisher.publish1(number, "t", &marker(number));
    }
    broker.kill();
    broker
}

fn marker(number: u16) -> String {
    format!("marker-{number:05}-")
}

/// One message of [`loaded`] damaged.
fn damaged(number: u16) -> Broker {
    let broker = loaded();
    let (path, at) = find(&broker.data_dir(), &marker(number));
    flip(&path, at + 3);
    broker
}

/// The bytes of every file but for the lock.
fn bytes(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = everything(dir).into_iter();
    files
        .map(|(path, (_, bytes))| {
            let name = path.file_name().expect("a name");
            (name.to_string_lossy().into_owned(), bytes)
        })
        .filter(|(name, _)| name != "LOCK")
        .collect()
}

/// What stands beside the data directory under a name that begins with its own.
fn beside(broker: &Broker) -> Vec<PathBuf> {
    let entries = fs::read_dir(broker.home()).expect("a directory");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .filter(|path| {
            let name = path.file_name().expect("a name").to_string_lossy();
            name.starts_with("data.")
        })
        .collect()
}

fn payloads(dir: &Path) -> BTreeSet<String> {
    let shown = rows(dir, &["show", "c-OUT", "--contents"]);
    let payloads = column(&shown, "payload").into_iter();
    payloads
        .map(|it| it.as_str().expect("a text").to_owned())
        .collect()
}

fn all_but(lost: u16) -> BTreeSet<String> {
    (1..=COUNT).filter(|&it| it != lost).map(marker).collect()
}

#[test]
fn a_good_store_is_left_alone() {
    let broker = loaded();
    let dir = broker.data_dir();
    let before = bytes(&dir);
    for args in [&["repair"][..], &["repair", "--accept-loss"]] {
        let ran = queue(&dir, args).ended(0);
        assert_eq!(ran.out, "good: there is nothing to repair\n");
        let sums = rows(&dir, args).pop().expect("the sums");
        assert_eq!(sums, json!({"repaired": false, "faults": 0}));
    }
    assert!(bytes(&dir) == before, "something was changed");
    assert_eq!(beside(&broker), Vec::<PathBuf>::new());
}

#[test]
fn what_would_be_lost_is_named_and_nothing_is_changed_until_that_is_accepted() {
    let broker = damaged(10);
    let dir = broker.data_dir();
    let before = bytes(&dir);
    let ran = queue(&dir, &["repair"]).ended(65);
    assert!(ran.out.contains("message 10 of c-OUT"), "{}", ran.out);
    assert!(ran.err.contains("--accept-loss"), "{}", ran.err);
    let faults = queue(&dir, &["repair", "--json"]).ended(65).json();
    assert_eq!(faults, {
        let mut checked = queue(&dir, &["check", "--json"]).ended(65).json();
        checked.pop();
        checked
    });
    assert!(bytes(&dir) == before, "something was changed");
    assert_eq!(beside(&broker), Vec::<PathBuf>::new());
}

#[test]
fn a_broker_goes_on_from_a_repaired_store_with_all_but_what_was_lost() {
    let mut broker = damaged(10);
    let dir = broker.data_dir();
    let before = bytes(&dir);
    let mode = fs::metadata(&dir).expect("a directory").permissions();
    let lines = rows(&dir, &["repair", "--accept-loss"]);
    let (sums, faults) = lines.split_last().expect("the sums");
    assert_eq!(
        (&sums["repaired"], &sums["pending"], &sums["faults"]),
        (&json!(true), &json!(COUNT - 1), &json!(faults.len()))
    );
    let kept = beside(&broker);
    assert_eq!(kept.len(), 1, "{kept:?}");
    let told = sums["damaged"].as_str().expect("a path");
    assert_eq!(Path::new(told).file_name(), kept[0].file_name());
    assert!(
        bytes(&kept[0]) == before,
        "the damaged store is not as it was"
    );
    assert_eq!(fs::metadata(&dir).expect("a directory").permissions(), mode);
    queue(&dir, &["check"]).ended(0);
    assert_eq!(payloads(&dir), all_but(10));
    broker.run();
    let mut client = broker.resume(&durable(Version::V5, "c"), true);
    for number in (1..=COUNT).filter(|&number| number != 10) {
        let id = client.expect_publish(&publish("t", marker(number)).qos(1, 0));
        client.send(ack(PUBACK, id));
    }
    client.expect_nothing();
    let mut reader = broker.connect(&connect(Version::V5, "reader"));
    reader.subscribe("r", 0);
    reader.expect_publish(&publish("r", "retained").retain(true));
}

#[test]
fn a_store_that_a_broker_runs_on_is_not_repaired() {
    let mut broker = loaded();
    broker.run();
    let dir = broker.data_dir();
    for args in [&["repair"][..], &["repair", "--accept-loss"]] {
        let ran = queue(&dir, args).ended(75);
        assert!(ran.err.contains(&broker.id().to_string()), "{}", ran.err);
    }
    assert_eq!(beside(&broker), Vec::<PathBuf>::new());
}

#[test]
fn a_directory_without_a_store_is_not_repaired() {
    let dir = tempfile::tempdir().expect("a directory");
    let missing = dir.path().join("missing");
    queue(&missing, &["repair", "--accept-loss"]).ended(74);
    assert!(!missing.exists());
}

/// Copies a store.
fn copy(from: &BTreeMap<String, Vec<u8>>, to: &Path) {
    fs::remove_dir_all(to).expect("removed");
    fs::create_dir(to).expect("a directory");
    for (name, bytes) in from {
        fs::write(to.join(name), bytes).expect("a file");
    }
}

#[test]
fn any_flipped_bit_of_any_file_can_be_repaired_or_hits_where_all_reading_begins() {
    let broker = loaded();
    let dir = broker.data_dir();
    let whole = bytes(&dir);
    let (_, end) = find(&dir, &marker(COUNT));
    let seed = random_seed();
    let mut random = Random::new(seed);
    let names: Vec<&String> = whole.keys().collect();
    for round in 0..24 {
        let name = names[round % names.len()];
        let most = whole[name].len().min(end + 4096) as u64;
        let at = random.range(0, most - 1) as usize;
        let context = format!("FOREBAY_SEED={seed} round {round}: byte {at} of {name}");
        copy(&whole, &dir);
        flip(&dir.join(name), at);
        let ran = queue(&dir, &["repair", "--accept-loss"]);
        // The head of the only segment is where all reading begins.
        assert!(
            ran.code == 0 || ran.code == 65 && at < 4096,
            "{context}: {}\n{}",
            ran.code,
            ran.err
        );
        if ran.code == 0 {
            queue(&dir, &["check"]).ended(0);
            let lost = (usize::from(COUNT)).saturating_sub(payloads(&dir).len());
            let told = ran.out.matches("lost:").count();
            assert!(
                lost == 0 || told > 0,
                "{context}: {lost} lost, and not told"
            );
        }
        for path in beside(&broker) {
            fs::remove_dir_all(path).expect("removed");
        }
    }
}

/// Repairs, and dies as it is about to do one call for the nth time; whether it came to that.
fn dies_at(dir: &Path, call: &str, nth: usize) -> bool {
    let mut command = Command::new("strace");
    command
        .args(["-f", "-qq", "-o", "/dev/null", "-e"])
        .arg(format!("trace={call}"))
        .arg("-e")
        .arg(format!("inject={call}:signal=SIGKILL:when={nth}"))
        .arg(env!("CARGO_BIN_EXE_forebay"))
        .args(["queue", "repair", "--accept-loss", "--data-dir"])
        .arg(dir);
    let output = command.output().expect("strace is missing: run ./test");
    let killed = output.status.code() != Some(0);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.is_empty(), "{call} {nth}: {told}");
    killed
}

#[test]
fn a_repair_that_is_killed_at_any_step_leaves_the_damaged_store_and_can_be_done_again() {
    let broker = damaged(10);
    let dir = broker.data_dir();
    let before = bytes(&dir);
    let mut steps = 0;
    for call in [
        "mkdir",
        "openat",
        "fallocate",
        "io_uring_enter",
        "fsync",
        "fdatasync",
        "pwritev2",
        "pwrite64",
        "rename",
        "renameat2",
        "chown",
        "chmod",
    ] {
        // What only reads is done many times; the first calls and the last are of interest.
        for nth in 1.. {
            let killed = dies_at(&dir, call, nth);
            let context = format!("{call} {nth}");
            let original = [vec![dir.clone()], beside(&broker)].concat();
            let is_there = original.iter().any(|path| bytes(path) == before);
            assert!(is_there, "{context}: the damaged store is gone");
            if bytes(&dir) == before {
                assert!(killed, "{context}: it ended, and nothing was repaired");
                let ran = queue(&dir, &["repair", "--accept-loss"]);
                assert_eq!(ran.code, 0, "{context}: {}", ran.err);
            }
            queue(&dir, &["check"]).ended(0);
            assert_eq!(payloads(&dir), all_but(10), "{context}");
            for path in beside(&broker) {
                fs::remove_dir_all(path).expect("removed");
            }
            copy(&before, &dir);
            if !killed {
                break;
            }
            steps += 1;
        }
    }
    // Calls that this machine doesn't make are no steps; those of any disk are more than these.
    assert!(steps > 10, "{steps} steps");
}

#[test]
fn each_lost_message_is_named_and_none_that_is_kept() {
    let broker = damaged(7);
    let (path, at) = find(&broker.data_dir(), &marker(20));
    flip(&path, at + 3);
    let dir = broker.data_dir();
    let lines = rows(&dir, &["repair", "--accept-loss"]);
    let rowids: Vec<Value> = column(&lines, "rowids");
    for rowid in [7, 20] {
        assert!(rowids.contains(&json!([rowid, rowid])), "{rowids:?}");
    }
    assert_eq!(payloads(&dir).len(), usize::from(COUNT) - 2);
}
