//! `backups`, `restore`, `delete-backup` and `show --backup` (queue claims 13, 14).

use std::{collections::BTreeSet, fs};

use serde_json::{Value, json};

use super::{column, kept, queue, rows};
use crate::harness::{
    Broker, Version, wait_until,
    wire::{PUBACK, ack, connect, durable, publish},
};

const ROTATES: &str = "rotate_after = 50\nbackups = 100\n";
const COUNT: u16 = 200;

/// A broker in whose backups are messages `marker-00001-` and so on, all that a session `c` was
/// sent.
fn rotated() -> Broker {
    let broker = kept(ROTATES);
    let mut client = broker.connect(&durable(Version::V5, "c"));
    client.subscribe("t", 1);
    let mut publisher = broker.connect(&connect(Version::V5, "publisher"));
    for number in 1..=COUNT {
        publisher.publish1(number, "t", &format!("marker-{number:05}-"));
        let id = client.delivery().id;
        client.send(ack(PUBACK, id));
    }
    client.leave();
    broker.settle();
    broker
}

/// The names of the backups, and the rowids of `c-OUT` that are in each.
fn contents(broker: &Broker) -> Vec<(String, Vec<u64>)> {
    let dir = broker.data_dir();
    let names = column(&rows(&dir, &["backups"]), "name");
    let names = names.iter().map(|name| name.as_str().expect("a name"));
    names
        .map(|name| {
            let shown = rows(&dir, &["show", "c-OUT", "--backup", name]);
            let rowids = column(&shown, "rowid").into_iter();
            let rowids = rowids.map(|it| it.as_u64().expect("a rowid"));
            (name.to_owned(), rowids.collect())
        })
        .collect()
}

/// A backup with more than ten messages of `c-OUT`.
fn full(broker: &Broker) -> (String, Vec<u64>) {
    wait_until("a backup", || {
        contents(broker)
            .into_iter()
            .find(|(_, rowids)| rowids.len() > 10)
    })
}

#[test]
fn what_was_done_with_is_in_backups_that_a_broker_at_work_lets_be_seen() {
    let broker = rotated();
    let (name, rowids) = full(&broker);
    let dir = broker.data_dir();
    let listed = rows(&dir, &["backups"]);
    let row = listed.iter().find(|row| row["name"] == name.as_str());
    let bytes = fs::metadata(dir.join(&name)).expect("a file").len();
    assert_eq!(row.expect("listed")["bytes"], bytes);
    let text = queue(&dir, &["backups"]).ended(0).out;
    assert!(text.contains(&format!("{bytes}  {name}\n")), "{text}");
    let shown = rows(&dir, &["show", "c-OUT", "--backup", &name, "--contents"]);
    for (row, rowid) in shown.iter().zip(&rowids) {
        assert_eq!(row["payload"], format!("marker-{rowid:05}-"));
        assert_eq!(
            (&row["pending"], &row["outcome"]),
            (&json!(false), &json!("acked"))
        );
    }
    let some = format!("{}..{}", rowids[2], rowids[5]);
    let args = ["show", "c-OUT", "--backup", &name, "--rowids", &some];
    assert_eq!(column(&rows(&dir, &args), "rowid"), rowids[2..=5]);
    let all: Vec<u64> = contents(&broker).into_iter().flat_map(|it| it.1).collect();
    assert_eq!(all.len(), all.iter().collect::<BTreeSet<_>>().len());
}

#[test]
fn what_is_restored_is_delivered_once_more_and_in_order() {
    let mut broker = rotated();
    let (name, rowids) = full(&broker);
    let dir = broker.data_dir();
    for command in [&["restore", &name, "c-OUT"][..], &["delete-backup", &name]] {
        let ran = queue(&dir, command).ended(75);
        assert!(ran.err.contains(&broker.id().to_string()), "{}", ran.err);
    }
    broker.stop();
    let some = format!("{}..{}", rowids[2], rowids[5]);
    let args = [
        "restore",
        name.trim_end_matches(".log"),
        "c-OUT",
        "--rowids",
        &some,
    ];
    let ran = queue(&dir, &args).ended(0);
    assert_eq!(ran.out, "restored 4 messages\n");
    let pending = rows(&dir, &["show", "c-OUT"]);
    let first = pending[0]["rowid"].as_u64().expect("a rowid");
    assert!(first > u64::from(COUNT), "rowid {first} is used again");
    broker.run();
    let mut client = broker.resume(&durable(Version::V5, "c"), true);
    for rowid in &rowids[2..=5] {
        let message = publish("t", format!("marker-{rowid:05}-")).qos(1, 0);
        let id = client.expect_publish(&message);
        client.send(ack(PUBACK, id));
    }
    client.expect_nothing();
}

#[test]
fn a_backup_is_deleted_by_its_name_and_the_others_stay() {
    let mut broker = rotated();
    let (name, _) = full(&broker);
    broker.stop();
    let dir = broker.data_dir();
    let before = column(&rows(&dir, &["backups"]), "name");
    assert!(before.len() > 1, "{before:?}");
    queue(&dir, &["delete-backup", &name]).ended(0);
    assert!(!dir.join(&name).exists());
    let left: Vec<Value> = before
        .into_iter()
        .filter(|it| *it != name.as_str())
        .collect();
    assert_eq!(column(&rows(&dir, &["backups"]), "name"), left);
    queue(&dir, &["delete-backup", &name]).ended(1);
    queue(&dir, &["check"]).ended(0);
    broker.run();
}

#[test]
fn a_backup_a_queue_and_a_direction_that_can_t_be_restored_are_refused_by_name() {
    let mut broker = rotated();
    let (name, _) = full(&broker);
    broker.stop();
    let dir = broker.data_dir();
    for (args, told) in [
        (
            &["restore", "bak-0000009999", "c-OUT"][..],
            "bak-0000009999",
        ),
        (&["restore", "ROOT", "c-OUT"], "ROOT"),
        (&["restore", &name, "nobody-OUT"], "nobody-OUT"),
        (&["restore", &name, "c-IN"], "from a client"),
        (&["show", "c-OUT", "--backup", "bak-1"], "bak-1"),
        (&["delete-backup", "seg-0000000001.log"], "seg-0000000001"),
    ] {
        let ran = queue(&dir, args).ended(1);
        assert!(ran.err.contains(told), "{args:?}: {}", ran.err);
        assert_eq!(ran.out, "");
    }
    assert_eq!(rows(&dir, &["show", "c-OUT"]), [Value::Null; 0]);
}
