//! `follow`: messages as they come, change and go (queue claim 18).

use std::process::Command;

use serde_json::Value;

use super::{away, rows};
use crate::harness::{
    Broker, Lines, Version, wait_until,
    wire::{PUBREC, PUBREL, ack, connect, durable},
};

fn follow(broker: &Broker, name: &str, every: &str) -> Lines {
    let mut command = Command::new(env!("CARGO_BIN_EXE_forebay"));
    command.args(["queue", "follow", name, "--json", "--every", every]);
    Lines::start(command.arg("--data-dir").arg(broker.data_dir()))
}

#[track_caller]
fn next(lines: &mut Lines) -> (u64, String) {
    let line = lines.line().expect("a line");
    let row: Value = serde_json::from_str(&line).expect("JSON");
    let what = match row["outcome"].as_str() {
        Some(outcome) => outcome,
        None if row["pending"] == true => row["state"].as_str().expect("a state"),
        None => "done",
    };
    (row["rowid"].as_u64().expect("a rowid"), what.to_owned())
}

fn interrupt(lines: &mut Lines) -> Option<i32> {
    let kill = format!("kill -INT {}", lines.id());
    let done = Command::new("sh").args(["-c", &kill]).status();
    assert!(done.expect("sh runs").success());
    lines.wait().code()
}

#[test]
fn every_step_of_a_message_is_a_line_until_the_end_and_across_a_crash() {
    let (mut broker, mut publisher) = away("c", "t", 2);
    publisher.publish2(1, "t", "one");
    let mut lines = follow(&broker, "c-OUT", "0.02");
    let queued = |rowid| (rowid, "queued".to_owned());
    assert_eq!(next(&mut lines), queued(1));
    publisher.publish2(2, "t", "two");
    assert_eq!(next(&mut lines), queued(2));
    let mut client = broker.resume(&durable(Version::V5, "c").property([0x21, 0, 1]), true);
    let id = client.delivery().id;
    assert_eq!(next(&mut lines), (1, "wait_for_pubrec".to_owned()));
    client.send(ack(PUBREC, id));
    client.expect(ack(PUBREL, id));
    assert_eq!(next(&mut lines), (1, "wait_for_pubcomp".to_owned()));
    client.send(ack(0x70, id));
    client.delivery();
    broker.settle();
    assert_eq!(next(&mut lines), (1, "acked".to_owned()));
    assert_eq!(next(&mut lines), (2, "wait_for_pubrec".to_owned()));
    broker.crash();
    let mut publisher = broker.connect(&connect(Version::V5, "p"));
    publisher.publish2(3, "t", "three");
    assert_eq!(next(&mut lines), queued(3));
    assert_eq!(interrupt(&mut lines), Some(0), "{}", lines.stderr());
}

#[test]
fn what_came_and_went_between_two_looks_is_told_once() {
    let (broker, mut publisher) = away("c", "t", 1);
    let mut client = broker.resume(&durable(Version::V5, "c"), true);
    publisher.publish1(1, "t", "held");
    client.delivery();
    broker.settle();
    let mut lines = follow(&broker, "c-OUT", "0.5");
    assert_eq!(next(&mut lines), (1, "wait_for_puback".to_owned()));
    for number in 2..=300 {
        publisher.publish1(number, "t", "m");
        let id = client.delivery().id;
        client.send(ack(0x40, id));
    }
    broker.settle();
    let mut ended = Vec::new();
    while ended.len() < 299 {
        let (rowid, what) = next(&mut lines);
        if what == "acked" {
            ended.push(rowid);
        }
    }
    assert_eq!(ended, (2..=300).collect::<Vec<u64>>());
    assert_eq!(interrupt(&mut lines), Some(0));
}

#[test]
fn a_queue_that_ends_and_begins_again_is_followed_on() {
    let (broker, mut publisher) = away("c", "t", 1);
    publisher.publish1(1, "t", "one");
    let mut lines = follow(&broker, "c-OUT", "0.02");
    assert_eq!(next(&mut lines), (1, "queued".to_owned()));
    broker.connect(&connect(Version::V5, "c")).leave();
    broker.settle();
    assert_eq!(next(&mut lines), (1, "done".to_owned()));
    wait_until("the queue to be gone", || {
        let list = rows(&broker.data_dir(), &["list"]);
        list.iter().all(|row| row["queue"] != "c-OUT").then_some(())
    });
    let mut client = broker.connect(&durable(Version::V5, "c"));
    client.subscribe("t", 1);
    client.leave();
    publisher.publish1(2, "t", "two");
    assert_eq!(next(&mut lines), (1, "queued".to_owned()));
    assert_eq!(interrupt(&mut lines), Some(0));
}
