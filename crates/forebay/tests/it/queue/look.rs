//! `list` and `show`: what there is, and that nobody notices the look (queue claims 5, 16, 18).

use std::{
    fs,
    net::SocketAddr,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use serde_json::{Value, json};

use super::{away, column, everything, queue, rows};
use crate::harness::{
    Broker, Client, Version,
    wire::{
        PUBREC, ack, connect, durable, prop_pair, prop1, prop4, publish, suback, subscribe_with,
    },
};

#[test]
fn a_list_tells_what_is_pending_in_every_queue_live_and_dead() {
    let (mut broker, mut publisher) = away("c", "t", 1);
    for number in 1..=5 {
        publisher.publish1(number, "t", &number.to_string());
    }
    // Two are sent and not acknowledged.
    let inflight = durable(Version::V5, "c").property([0x21, 0, 2]);
    let mut client = broker.resume(&inflight, true);
    client.frame();
    client.frame();
    client.expect_nothing();
    broker.settle();
    publisher.leave();
    let of_c = |dir: &Path| {
        let mut list = rows(dir, &["list"]);
        list.retain(|row| row["client_id"] == "c");
        list
    };
    let live = of_c(&broker.data_dir());
    broker.kill();
    assert_eq!(live, of_c(&broker.data_dir()));
    assert_eq!(column(&live, "queue"), ["c-IN", "c-OUT"]);
    assert_eq!(column(&live, "client_id"), ["c", "c"]);
    assert_eq!(column(&live, "pending"), [0, 5]);
    assert_eq!(column(&live, "inflight"), [0, 2]);
    assert_eq!(column(&live, "queued"), [0, 3]);
    assert_eq!(column(&live, "next_rowid"), [1, 6]);
    assert_eq!(column(&live, "first_pending"), [1, 1]);
    assert_eq!(live[0]["oldest"], Value::Null);
    let oldest = &rows(&broker.data_dir(), &["show", "c-OUT"])[0]["time"];
    assert_eq!(&live[1]["oldest"], oldest);
    let text = queue(&broker.data_dir(), &["list"]).ended(0).out;
    let line = text.lines().find(|line| line.ends_with("c-OUT"));
    let words: Vec<&str> = line.expect("a line").split_whitespace().collect();
    assert_eq!(words[..5], ["5", "2", "3", "6", "1"], "{text}");
}

#[test]
fn a_message_is_shown_with_all_that_its_queue_and_its_content_say() {
    let broker = Broker::start();
    let mut client = broker.connect(&durable(Version::V5, "c"));
    let identifier = [0x0B, 7];
    client.send(subscribe_with(Version::V5, 1, &identifier, &[("a/#", 2)]));
    client.expect(suback(Version::V5, 1, &[2]));
    client.leave();
    let mut publisher = broker.connect(&connect(Version::V5, "p"));
    let message = publish("a/b", "pay\tload")
        .property(prop1(0x01, 1))
        .property(prop4(0x02, 1000))
        .property(prop_pair("k", "v"))
        .qos(2, 9);
    publisher.send(message.bytes(Version::V5));
    publisher.expect(ack(PUBREC, 9));
    // Not released: it is in the publisher's queue alone, which no session has that ends.
    let found = rows(&broker.data_dir(), &["show", "p-IN", "--contents"]);
    let row = &found[0];
    assert_eq!(found.len(), 1);
    assert_eq!(
        (&row["flag"], &row["state"]),
        (&json!("0x7521"), &json!("wait_for_pubrel"))
    );
    assert_eq!(
        (&row["direction"], &row["origin"]),
        (&json!("IN"), &json!("Client"))
    );
    assert_eq!((&row["qos"], &row["packet_id"]), (&json!(2), &json!(9)));
    publisher.send(ack(0x62, 9));
    publisher.expect(ack(0x70, 9));
    let found = rows(&broker.data_dir(), &["show", "c-OUT", "--contents"]);
    let row = &found[0];
    assert_eq!(found.len(), 1);
    assert_eq!(row["queue"], "c-OUT");
    assert_eq!(row["client_id"], "c");
    assert_eq!((&row["rowid"], &row["pending"]), (&json!(1), &json!(true)));
    assert_eq!(
        (&row["flag"], &row["state"]),
        (&json!("0xb621"), &json!("queued"))
    );
    assert_eq!(
        (&row["list"], &row["outcome"]),
        (&json!("queued"), &Value::Null)
    );
    assert_eq!(row["packet_id"], Value::Null);
    assert_eq!(
        (&row["topic"], &row["payload"]),
        (&json!("a/b"), &json!("pay\tload"))
    );
    assert_eq!(row["payload_len"], 8);
    assert_eq!(row["subscription_identifiers"], json!([7]));
    assert!(row["expires_at"].is_string(), "{row}");
    assert!(row["properties_b64"].is_string(), "{row}");
    let text = queue(&broker.data_dir(), &["show", "c-OUT", "--contents"])
        .ended(0)
        .out;
    for part in [
        "0xb621",
        "queued",
        "OUT",
        "Client",
        "a/b",
        "subscriptions 7",
        "pay\\x09load",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn filters_let_through_what_they_name() {
    let (mut broker, mut publisher) = away("c", "t", 2);
    for number in 1..=6 {
        match number % 2 {
            0 => publisher.publish2(number, "t", "m"),
            _ => publisher.publish1(number, "t", "m"),
        }
    }
    let mut client = broker.resume(&durable(Version::V5, "c").property([0x21, 0, 3]), true);
    let first = client.delivery();
    client.send(ack(0x40, first.id));
    for _ in 0..3 {
        client.frame();
    }
    client.expect_nothing();
    broker.settle();
    for live in [true, false] {
        let dir = broker.data_dir();
        let show = |args: &[&str]| {
            let args = [&["show", "c-OUT"], args].concat();
            column(&rows(&dir, &args), "rowid")
        };
        assert_eq!(show(&[]), [2, 3, 4, 5, 6]);
        assert_eq!(show(&["--all"]), [1, 2, 3, 4, 5, 6]);
        assert_eq!(show(&["--qos", "2"]), [2, 4, 6]);
        assert_eq!(show(&["--all", "--qos", "1"]), [1, 3, 5]);
        assert_eq!(show(&["--state", "wait_for_pubrec"]), [2, 4]);
        assert_eq!(show(&["--state", "wait_for_puback"]), [3]);
        assert_eq!(show(&["--state", "queued"]), [5, 6]);
        assert_eq!(show(&["--rowids", "3..5"]), [3, 4, 5]);
        assert_eq!(show(&["--rowids", "..3", "--all"]), [1, 2, 3]);
        assert_eq!(show(&["--rowids", "5.."]), [5, 6]);
        let all = rows(&dir, &["show", "c-OUT", "--all"]);
        assert_eq!(all[0]["outcome"], "acked");
        assert_eq!(all[0]["pending"], false);
        let third = all[2]["time"].as_str().expect("a time").to_owned();
        let at = |row: &Value| row["time"].as_str().unwrap().to_owned();
        let later = all
            .iter()
            .filter(|row| at(row) >= third && row["pending"] == true);
        let later: Vec<Value> = later.map(|row| row["rowid"].clone()).collect();
        assert_eq!(show(&["--since", &third]), later);
        assert_eq!(show(&["--until", "1.5"]), [0; 0]);
        assert_eq!(show(&["--since", "2200-01-01T00:00:00Z"]), [0; 0]);
        if live {
            broker.kill();
        }
    }
}

#[test]
fn a_queue_of_any_name_can_be_looked_at() {
    let broker = Broker::start();
    let names = [
        "a/../../b",
        "-x --all",
        "a\\x41",
        "caf\u{E9} \u{1F30A}",
        "\u{202E}r",
    ];
    for name in names {
        let mut client = broker.connect(&durable(Version::V5, name));
        client.subscribe("t", 1);
        client.leave();
    }
    let mut publisher = broker.connect(&connect(Version::V5, "p"));
    publisher.publish1(1, "t", "m");
    let list = rows(&broker.data_dir(), &["list"]);
    let text = queue(&broker.data_dir(), &["list"]).ended(0).out;
    assert!(!text.contains('\u{202E}'), "{text:?}");
    for name in names {
        let whole = format!("{name}-OUT");
        assert!(list.iter().any(|row| row["queue"] == *whole), "{name}");
        let found = rows_of(&broker, &whole);
        assert_eq!(column(&found, "client_id"), [name]);
    }
    assert_eq!(rows_of(&broker, "\\xe2\\x80\\xaer-OUT").len(), 1);
}

#[track_caller]
fn rows_of(broker: &Broker, name: &str) -> Vec<Value> {
    let args = ["show", "--json", "--", name];
    queue(&broker.data_dir(), &args).ended(0).json()
}

#[test]
fn a_queue_or_a_store_that_there_is_not_is_an_error_that_says_so() {
    let (broker, _publisher) = away("c", "t", 1);
    let dir = broker.data_dir();
    let none = queue(&dir, &["show", "nobody-OUT"]).ended(1);
    assert!(none.err.contains("nobody-OUT"), "{}", none.err);
    assert_eq!(none.out, "");
    let nowhere = broker.home().join("nowhere");
    let empty = broker.home().join("empty");
    fs::create_dir(&empty).expect("a directory");
    for dir in [nowhere, empty] {
        let none = queue(&dir, &["list"]).ended(74);
        assert!(none.err.contains(&*dir.to_string_lossy()), "{}", none.err);
        assert_eq!(none.out, "");
    }
    assert!(!broker.home().join("nowhere").exists());
    queue(&dir, &["show", "c-OUT", "--state", "waiting"]).ended(2);
    queue(&dir, &["show", "c-OUT", "--since", "yesterday"]).ended(2);
}

#[test]
fn a_look_changes_no_byte_and_no_time_of_the_store() {
    let (mut broker, mut publisher) = away("c", "t", 1);
    for number in 1..=50 {
        publisher.publish1(number, "t", "m");
    }
    broker.kill();
    let dir = broker.data_dir();
    let before = everything(&dir);
    rows(&dir, &["list"]);
    rows(&dir, &["show", "c-OUT", "--all", "--contents"]);
    assert!(everything(&dir) == before, "something was changed");
    broker.run();
}

/// Publishes and acknowledges until told to stop, so that messages come and go.
pub(super) fn load(address: SocketAddr, done: &AtomicBool) -> u64 {
    let (mut client, _) = Client::connect(address, &durable(Version::V5, "c"));
    let (mut publisher, _) = Client::connect(address, &connect(Version::V5, "load"));
    let text = "x".repeat(2000);
    let mut count = 0;
    while !done.load(Ordering::Relaxed) {
        for id in 1..=50 {
            publisher.send(publish("t", &text).qos(1, id).bytes(Version::V5));
        }
        for _ in 0..50 {
            take(&mut client);
            count += 1;
        }
        for id in 1..=50 {
            publisher.expect_ack(0x40, id);
        }
    }
    count
}

/// Ends a load, also where a test fails beside it.
pub(super) struct EndOf<'a>(pub(super) &'a AtomicBool);

impl Drop for EndOf<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn take(client: &mut Client) {
    let delivery = client.delivery();
    client.send(ack(0x40, delivery.id));
}

#[test]
fn a_broker_under_load_is_looked_at_without_an_error() {
    let (broker, mut publisher) = away("stuck", "s", 1);
    let mut client = broker.connect(&durable(Version::V5, "c"));
    client.subscribe("t", 1);
    client.leave();
    for number in 1..=100 {
        publisher.publish1(number, "s", &format!("stuck {number}"));
    }
    let done = AtomicBool::new(false);
    let dir = broker.data_dir();
    let address = broker.address();
    let count = std::thread::scope(|scope| {
        let load = scope.spawn(|| load(address, &done));
        let end = EndOf(&done);
        for _ in 0..8 {
            let list = rows(&dir, &["list"]);
            let stuck = list.iter().find(|row| row["queue"] == "stuck-OUT");
            assert_eq!(stuck.expect("it is there")["pending"], 100);
            let found = rows(&dir, &["show", "stuck-OUT", "--contents"]);
            let expected: Vec<String> = (1..=100).map(|n| format!("stuck {n}")).collect();
            assert_eq!(column(&found, "payload"), expected);
            let moving = rows(&dir, &["show", "c-OUT", "--all"]);
            let rowids: Vec<u64> = column(&moving, "rowid")
                .iter()
                .map(|it| it.as_u64().expect("a number"))
                .collect();
            assert!(rowids.is_sorted(), "{rowids:?}");
            for row in moving.iter().filter(|row| row["pending"] == true) {
                assert_eq!(
                    (&row["topic"], &row["len"]),
                    (&json!("t"), &json!(2017)),
                    "{row}"
                );
            }
        }
        drop(end);
        load.join().expect("the load ran")
    });
    assert!(count > 100, "there was no load: {count}");
}
