//! `export` and `import`: what waits is carried into another store, and delivered from there.

use std::{fs, path::Path};

use serde_json::{Value, json};

use super::{away, column, queue, rows};
use crate::harness::{
    Broker, Version,
    wire::{PUBACK, PUBCOMP, PUBREC, PUBREL, ack, connect, durable, prop_pair, publish},
};

fn wipe(broker: &Broker) {
    fs::remove_dir_all(broker.data_dir()).expect("removed");
}

fn file(broker: &Broker, text: &str) -> String {
    let path = broker.home().join("lines.jsonl");
    fs::write(&path, text).expect("a file");
    path.to_str().expect("UTF-8").to_owned()
}

#[test]
fn what_is_exported_and_imported_into_an_empty_store_is_delivered() {
    let (mut broker, mut publisher) = away("c", "t/#", 2);
    let bytes: Vec<u8> = (0..=255).collect();
    let message = publish("t/a", &bytes).property(prop_pair("k", "v"));
    publisher.send(message.clone().qos(1, 1).bytes(Version::V5));
    publisher.expect_ack(PUBACK, 1);
    publisher.publish2(2, "t/b", "two");
    let mut client = broker.resume(&durable(Version::V5, "c").property([0x21, 0, 1]), true);
    let first = client.expect_publish(&message.clone().qos(1, 0));
    broker.settle();
    let to = broker.home().join("pending.jsonl");
    let to = to.to_str().expect("UTF-8");
    // A broker that is at work is no hindrance to an export.
    let ran = queue(&broker.data_dir(), &["export", "c-OUT", "--to", to]).ended(0);
    assert_eq!(ran.out, "");
    let again = queue(&broker.data_dir(), &["export", "--all", "--to", to]).ended(74);
    assert!(again.err.contains(to), "{}", again.err);
    let exported = fs::read_to_string(to).expect("a file");
    assert_eq!(
        exported,
        queue(&broker.data_dir(), &["export", "c-OUT"]).ended(0).out
    );
    broker.kill();
    let before = rows(&broker.data_dir(), &["show", "c-OUT", "--contents"]);
    wipe(&broker);
    let ran = queue(&broker.data_dir(), &["import", to]).ended(0);
    assert!(
        ran.out.starts_with("imported 2 messages, 0 of them"),
        "{}",
        ran.out
    );
    assert!(
        ran.out.contains("made 2 queues and 1 sessions"),
        "{}",
        ran.out
    );
    assert_eq!(
        rows(&broker.data_dir(), &["show", "c-OUT", "--contents"]),
        before
    );
    queue(&broker.data_dir(), &["check"]).ended(0);
    broker.run();
    let mut client = broker.resume(&durable(Version::V5, "c"), true);
    let id = client.expect_publish(&message.qos(1, 0).dup(true));
    assert_eq!(id, first);
    client.send(ack(PUBACK, id));
    client.receive2(&publish("t/b", "two").qos(2, 0));
    client.expect_nothing();
}

#[test]
fn a_handshake_goes_on_where_it_was_on_both_sides() {
    let (mut broker, mut publisher) = away("c", "t", 2);
    publisher.publish2(1, "t", "m");
    let mut client = broker.resume(&durable(Version::V5, "c"), true);
    let id = client.delivery().id;
    client.send(ack(PUBREC, id));
    client.expect(ack(PUBREL, id));
    let name = durable(Version::V5, "from");
    let mut from = broker.resume(&name, false);
    from.send(publish("t", "unreleased").qos(2, 77).bytes(Version::V5));
    from.expect(ack(PUBREC, 77));
    broker.settle();
    let exported = queue(&broker.data_dir(), &["export", "--all"]).ended(0).out;
    broker.kill();
    wipe(&broker);
    let lines = file(&broker, &exported);
    for known in [0, 1] {
        let ran = queue(&broker.data_dir(), &["import", &lines]).ended(0);
        assert!(
            ran.out.contains(&format!("{known} were there")),
            "{}",
            ran.out
        );
    }
    broker.run();
    let mut client = broker.resume(&durable(Version::V5, "c"), true);
    client.expect(ack(PUBREL, id));
    // The second import could not have its identifier: it is delivered as a new message.
    let twice = client.delivery();
    assert_eq!((twice.text(), twice.dup), ("m".to_owned(), false));
    assert_ne!(twice.id, id);
    client.send(ack(PUBCOMP, id));
    client.send(ack(PUBREC, twice.id));
    client.expect(ack(PUBREL, twice.id));
    client.send(ack(PUBCOMP, twice.id));
    let mut from = broker.resume(&name, true);
    from.send(
        publish("t", "unreleased")
            .qos(2, 77)
            .dup(true)
            .bytes(Version::V5),
    );
    from.expect(ack(PUBREC, 77));
    from.send(ack(PUBREL, 77));
    from.expect(ack(PUBCOMP, 77));
}

#[test]
fn messages_can_be_put_behind_those_of_another_queue() {
    let (mut broker, mut publisher) = away("c", "t", 1);
    let mut other = broker.connect(&durable(Version::V5, "other"));
    other.subscribe("u", 1);
    other.leave();
    publisher.publish1(1, "t", "from c");
    publisher.publish1(2, "u", "own");
    let exported = queue(&broker.data_dir(), &["export", "c-OUT"]).ended(0).out;
    broker.kill();
    let lines = file(&broker, &exported);
    queue(
        &broker.data_dir(),
        &["import", &lines, "--queue", "other-OUT"],
    )
    .ended(0);
    let found = rows(&broker.data_dir(), &["show", "other-OUT", "--contents"]);
    assert_eq!(column(&found, "payload"), ["own", "from c"]);
    assert_eq!(column(&found, "rowid"), [1, 2]);
    broker.run();
    let mut other = broker.resume(&durable(Version::V5, "other"), true);
    other.expect_publish(&publish("u", "own").qos(1, 0));
    other.expect_publish(&publish("t", "from c").qos(1, 0));
    // The subscription of the session that was there is still there.
    publisher = broker.connect(&connect(Version::V5, "p"));
    publisher.publish1(1, "u", "more");
    other.expect_publish(&publish("u", "more").qos(1, 0));
}

#[test]
fn an_import_beside_a_broker_is_refused_with_its_process() {
    let (broker, mut publisher) = away("c", "t", 1);
    publisher.publish1(1, "t", "m");
    let lines = file(
        &broker,
        &queue(&broker.data_dir(), &["export", "--all"]).ended(0).out,
    );
    let ran = queue(&broker.data_dir(), &["import", &lines]).ended(75);
    assert!(ran.err.contains(&broker.id().to_string()), "{}", ran.err);
    assert_eq!(rows(&broker.data_dir(), &["show", "c-OUT"]).len(), 1);
}

/// A line that can be imported, with one field changed.
fn line(key: &str, value: Value) -> String {
    let mut line = json!({
        "queue": "c-OUT", "flag": "0xb611", "topic": "t", "published_qos": 1, "payload_b64": "eA==",
    });
    line[key] = value;
    line.to_string()
}

#[test]
fn a_wrong_line_is_named_and_nothing_is_written() {
    let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let dir = home.path().join("data");
    let path = home.path().join("lines.jsonl");
    let path = path.to_str().expect("UTF-8");
    let good = line("rowid", json!(1));
    for wrong in [
        "{".to_owned(),
        line("queue", json!("c")),
        line("queue", json!("-OUT")),
        line("queue", Value::Null),
        line("queue", json!("a\u{0}-OUT")),
        line("queue", json!("c-IN")),
        line("flag", json!("0xb631")),
        line("flag", json!("0xb601")),
        line("flag", json!("many")),
        line("flag", json!(1)),
        line("topic", json!("a/+")),
        line("topic", json!("")),
        line("published_qos", json!(3)),
        line("payload_b64", json!("?")),
        line("properties_b64", json!("eA==")),
        line("subscription_identifiers", json!([0])),
        line("time", json!("yesterday")),
        line("unheard_of", json!(1)),
    ] {
        fs::write(path, format!("{good}\n{wrong}\n")).expect("a file");
        let ran = queue(&dir, &["import", path]).ended(65);
        assert!(ran.err.contains("line 2"), "{wrong}: {}", ran.err);
        assert!(!Path::new(&dir).exists(), "{wrong}");
    }
    fs::write(path, &good).expect("a file");
    queue(&dir, &["import", path]).ended(0);
    assert_eq!(rows(&dir, &["show", "c-OUT"]).len(), 1);
}
