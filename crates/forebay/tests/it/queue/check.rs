//! `check`, and what the others say of a damaged store (queue claims 18, 22, 29).

use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use serde_json::{Value, json};

use super::{away, column, everything, find, flip, queue, rows};
use crate::harness::{
    Broker, Version,
    wire::{connect, durable},
};

/// A broker that was killed with messages `marker-00001-` and so on for a session `c`.
fn loaded(count: u16) -> Broker {
    let (mut broker, mut publisher) = away("c", "t", 1);
    for number in 1..=count {
        publisher.publish1(number, "t", &format!("marker-{number:05}-"));
    }
    broker.kill();
    broker
}

/// What is wrong according to `check`, which must find something.
#[track_caller]
fn faults(dir: &Path) -> Vec<Value> {
    let ran = queue(dir, &["check", "--json"]).ended(65);
    let mut lines = ran.json();
    let sums = lines.pop().expect("the sums");
    assert_eq!(
        (&sums["ok"], &sums["faults"]),
        (&json!(false), &json!(lines.len()))
    );
    assert!(!lines.is_empty());
    lines
}

fn name(path: &Path) -> String {
    path.file_name().expect("a name").to_string_lossy().into()
}

#[test]
fn a_good_store_is_good_dead_and_alive() {
    let mut broker = loaded(50);
    let dir = broker.data_dir();
    for _ in 0..2 {
        let sums = rows(&dir, &["check"]).pop().expect("the sums");
        assert_eq!((&sums["ok"], &sums["faults"]), (&json!(true), &json!(0)));
        assert_eq!(sums["pending"], 50);
        assert!(sums["queues"].as_u64() >= Some(2), "{sums}");
        assert!(sums["frames"].as_u64() >= Some(50), "{sums}");
        let text = queue(&dir, &["check"]).ended(0).out;
        assert!(text.starts_with("good: 0 faults"), "{text}");
        broker.run();
        let sums = rows(&dir, &["check"]).pop().expect("the sums");
        assert_eq!((&sums["ok"], &sums["pending"]), (&json!(true), &json!(50)));
        broker.stop();
    }
}

#[test]
fn a_check_changes_nothing_of_what_it_finds_damaged() {
    let broker = loaded(20);
    let dir = broker.data_dir();
    let (path, at) = find(&dir, "marker-00010-");
    flip(&path, at);
    let before = everything(&dir);
    faults(&dir);
    queue(&dir, &["list"]).ended(3);
    queue(&dir, &["show", "c-OUT", "--all"]).ended(3);
    queue(&dir, &["export", "--all"]).ended(3);
    assert!(everything(&dir) == before, "something was changed");
}

#[test]
fn a_damaged_content_is_named_with_file_and_place_and_the_rest_is_given() {
    let broker = loaded(20);
    let dir = broker.data_dir();
    let (path, at) = find(&dir, "marker-00010-");
    flip(&path, at + 3);
    let found = faults(&dir);
    let (places, others): (Vec<_>, Vec<_>) =
        found.iter().partition(|fault| !fault["file"].is_null());
    assert!(!places.is_empty());
    for fault in others {
        assert_eq!(
            (&fault["queue"], &fault["rowids"]),
            (&json!("c-OUT"), &json!([10, 10]))
        );
    }
    for fault in places {
        assert_eq!(fault["file"], name(&path), "{fault}");
        let place = fault["offset"].as_u64().expect("a place") as usize;
        assert!((at - 4096..at).contains(&place), "{fault}: {at}");
    }
    let ran = queue(&dir, &["show", "c-OUT", "--contents", "--json"]).ended(3);
    assert!(ran.err.contains("PARTIAL"), "{}", ran.err);
    assert!(ran.err.contains(&name(&path)), "{}", ran.err);
    let mut lines = ran.json();
    let last = lines.pop().expect("a last line");
    assert_eq!(last["partial"], true);
    assert_eq!(last["faults"][0]["file"], name(&path));
    let given: Vec<Value> = column(&lines, "payload");
    for number in (1..=20).filter(|&number| number != 10) {
        let payload = json!(format!("marker-{number:05}-"));
        assert!(given.contains(&payload), "{payload} is missing: {given:?}");
    }
}

#[test]
fn damage_is_found_in_what_is_done_with_too() {
    let mut broker = loaded(20);
    let dir = broker.data_dir();
    broker.run();
    let mut client = broker.resume(&durable(Version::V5, "c"), true);
    for _ in 0..20 {
        let id = client.delivery().id;
        client.send(crate::harness::wire::ack(0x40, id));
    }
    client.leave();
    broker.settle();
    broker.kill();
    assert_eq!(rows(&dir, &["show", "c-OUT"]), [Value::Null; 0]);
    let (path, at) = find(&dir, "marker-00007-");
    flip(&path, at);
    let found = faults(&dir);
    assert!(
        found.iter().any(|fault| fault["file"] == name(&path)),
        "{found:?}"
    );
    queue(&dir, &["show", "c-OUT", "--all"]).ended(3);
}

#[test]
fn a_lost_or_damaged_root_is_named_and_all_messages_are_given() {
    let broker = loaded(5);
    let dir = broker.data_dir();
    let path = dir.join("ROOT");
    let bytes = fs::read(&path).expect("a file");
    let used = [0, 4096].into_iter().find(|&at| bytes[at] != 0);
    flip(&path, used.expect("a slot") + 20);
    let found = faults(&dir);
    assert_eq!(found[0]["file"], "ROOT");
    fs::remove_file(&path).expect("removed");
    let found = faults(&dir);
    assert_eq!(found[0]["file"], "ROOT");
    assert_eq!(rows(&dir, &["show", "c-OUT"]).len(), 5);
}

#[test]
fn a_store_of_which_nothing_can_be_read_is_an_error() {
    let broker = loaded(5);
    let dir = broker.data_dir();
    for (path, (_, mut bytes)) in everything(&dir) {
        if name(&path) != "LOCK" {
            bytes.fill(b'?');
            fs::write(path, bytes).expect("a file");
        }
    }
    for command in ["list", "check"] {
        let ran = queue(&dir, &[command]).ended(65);
        assert_eq!(ran.out, "");
        assert!(
            ran.err.contains("seg-") || ran.err.contains("ROOT"),
            "{}",
            ran.err
        );
    }
}

#[test]
fn any_flipped_bit_that_matters_is_found_and_none_is_a_fault_of_the_program() {
    let broker = loaded(30);
    let dir = broker.data_dir();
    let seed = crate::harness::random_seed();
    let mut random = crate::harness::Random::new(seed);
    let (path, end) = find(&dir, "marker-00030-");
    let whole = fs::read(&path).expect("a file");
    for round in 0..25 {
        let at = random.range(0, end as u64 - 4096) as usize;
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&path, &bytes).expect("a file");
        let context = format!("FOREBAY_SEED={seed} round {round}: byte {at}");
        let ran = queue(&dir, &["check", "--json"]);
        assert!(
            matches!(ran.code, 0 | 65),
            "{context}: {}\n{}",
            ran.code,
            ran.err
        );
        // A block that is padded with zeros is not covered by any checksum.
        assert!(ran.code == 65 || whole[at] == 0, "{context}: not found");
        let shown = queue(&dir, &["show", "c-OUT", "--all", "--json"]);
        assert!(
            matches!(shown.code, 0 | 3 | 65 | 1),
            "{context}: {}\n{}",
            shown.code,
            shown.err
        );
        assert!(
            shown.code != 0 || ran.code == 0,
            "{context}: damage was kept quiet"
        );
    }
}

#[test]
fn a_broker_under_load_is_found_good() {
    let (broker, mut publisher) = away("stuck", "s", 1);
    for number in 1..=20 {
        publisher.publish1(number, "s", "stuck");
    }
    let mut client = broker.connect(&durable(Version::V5, "c"));
    client.subscribe("t", 1);
    client.leave();
    let done = AtomicBool::new(false);
    let address = broker.address();
    let dir = broker.data_dir();
    std::thread::scope(|scope| {
        scope.spawn(|| super::look::load(address, &done));
        let end = super::look::EndOf(&done);
        for _ in 0..6 {
            let sums = rows(&dir, &["check"]).pop().expect("the sums");
            assert_eq!(sums["ok"], true);
            queue(&dir, &["export", "stuck-OUT"]).ended(0);
        }
        drop(end);
    });
    assert!(done.load(Ordering::Relaxed));
    broker.connect(&connect(Version::V5, "p")).expect_nothing();
}
