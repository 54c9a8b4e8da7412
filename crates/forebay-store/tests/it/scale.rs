//! How much many queues cost (queue claim 26), measured in a process of its own.

use std::{fs, process::Command};

use forebay_store::{Batch, Options, OsDisk, OsOptions, Place, Store, UserFlag};

/// A share of the million that the claim speaks of.
const QUEUES: u64 = 100_000;
const BYTES_MAX: u64 = 256 << 20;
const MILLION: u64 = 1_000_000;

fn count(dir: &str) -> usize {
    let entries = fs::read_dir(dir).expect("it can be listed");
    entries.count()
}

/// Bytes of memory that are the process's own.
fn memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("readable");
    let line = status.lines().find(|line| line.starts_with("RssAnon:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kib.expect("a number") << 10
}

/// Run as a process of its own by the test below.
#[test]
#[ignore = "a part of the test that follows"]
fn a_store_with_many_queues() {
    let dir = tempfile::tempdir().expect("a directory");
    let options = Options {
        segment_size: 4 << 20,
        transaction_max: 1 << 20,
        checkpoint_after: 8 << 20,
        recent_max: 1 << 20,
        low_water: 0,
        ..Options::default()
    };
    let open = || {
        let disk = OsDisk::open(dir.path(), OsOptions::default()).expect("it opens");
        let opened = Store::open(disk, options.clone());
        opened.expect("the store opens").0
    };
    let mut store = open();
    let costs = || {
        let files = count("/proc/self/fd");
        (files, count("/proc/self/task"), memory())
    };
    let (files, threads, base) = costs();
    for first in (0..QUEUES).step_by(100) {
        let mut batch = Batch::new();
        batch.content(1, "hello");
        for number in first..first + 100 {
            let queue = store.next_queue_id();
            batch.create_queue(queue, format!("client {number}-OUT"));
            if number % 10 == 0 {
                batch.append(queue, UserFlag::default(), 0, "", Place::Queued);
            }
        }
        store.commit(&batch).expect("committed");
        store.poll(false).expect("sound");
    }
    store.checkpoint().expect("the disk is sound");
    let written = costs();
    drop(store);
    let store = open();
    let opened = costs();
    assert_eq!(store.stats().queues, QUEUES);
    for (now_files, now_threads, now) in [written, opened] {
        let each = now.saturating_sub(base) / QUEUES;
        println!("{now_files} files, {now_threads} threads, {each} bytes a queue");
        assert!(now_files <= files + 4, "{files} files and then {now_files}");
        // The kernel's own for the writes in flight count among them.
        assert!(
            now_threads <= threads + 4,
            "{threads} threads and then {now_threads}"
        );
        assert!(each * MILLION < BYTES_MAX, "{each} bytes a queue");
    }
}

#[test]
fn a_million_queues_fit_in_256_mib_and_need_no_files_or_threads_of_their_own() {
    // queue claim 26
    let output = Command::new(std::env::current_exe().expect("this program has a path"))
        .args(["--exact", "scale::a_store_with_many_queues", "--ignored"])
        .args(["--nocapture", "--test-threads", "1"])
        .output()
        .expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("1 passed"));
}
