//! Broker claim 21 and broker case 8: SIGHUP.

use std::{fs, os::unix::fs::PermissionsExt};

use super::{Gated, REFUSED, TAKEN};
use crate::harness::{
    BOTH, Broker, Client, Version,
    wire::{Connect, PUBACK, PUBREC, ack_with, connect, publish},
};

const READ: &str = "user ann\ntopic read #\n";
const ALL: &str = "user ann\ntopic #\n";

fn ann(version: Version) -> Connect {
    connect(version, "c").username("ann").password(b"secret")
}

/// Publishes at QoS 1 and 2 and requires these reasons.
#[track_caller]
fn publishes(client: &mut Client, id: u16, reason: u8) {
    client.send(publish("t", "x").qos(1, id).bytes(Version::V5));
    client.expect(ack_with(Version::V5, PUBACK, id, reason));
    client.send(publish("t", "x").qos(2, id + 1).bytes(Version::V5));
    client.expect(ack_with(Version::V5, PUBREC, id + 1, reason));
}

#[test]
fn an_open_publisher_is_judged_by_the_new_rules_both_ways_without_reconnecting() {
    let gated = Gated::with(READ, &[]);
    let mut client = gated.broker.connect(&ann(Version::V5));
    for (round, (rules, reason)) in [(READ, 0x87), (ALL, 0x10), (READ, 0x87), (ALL, 0x10)]
        .into_iter()
        .enumerate()
    {
        fs::write(gated.acl(), rules).expect("a file");
        gated.hangup(TAKEN);
        publishes(&mut client, 2 * round as u16 + 1, reason);
    }
    client.expect_nothing();
}

#[test]
fn a_broken_file_leaves_the_old_rules_the_old_users_and_every_connection() {
    let gated = Gated::with(READ, &[]);
    let mut client = gated.broker.connect(&ann(Version::V5));
    let good = fs::read_to_string(gated.users()).expect("a file");
    let half = &good[..good.len() - 20];
    let mut id = 1;
    for (name, text, told) in [
        (
            "acl",
            "user ann\ntopic #\nalow x\n",
            "acl:3: \"alow\" begins no rule",
        ),
        (
            "acl",
            "user ann\ntopic readwrit #\n",
            "acl:2: \"readwrit\" is no right",
        ),
        ("passwords", "ann:secret\n", "passwords:1: user \"ann\""),
        (
            "passwords",
            half,
            "passwords:2: user \"bob\": cut or malformed",
        ),
    ] {
        let path = gated.dir.path().join(name);
        let before = fs::read(&path).expect("a file");
        // The other file is good and would let her publish: it must not be taken alone.
        if name == "passwords" {
            fs::write(gated.acl(), ALL).expect("a file");
        }
        fs::write(&path, text).expect("a file");
        gated.hangup(REFUSED);
        assert!(gated.broker.stderr().contains(told), "{told}");
        publishes(&mut client, id, 0x87);
        id += 2;
        fs::write(&path, before).expect("a file");
        fs::write(gated.acl(), READ).expect("a file");
    }
    fs::remove_file(gated.acl()).expect("a file");
    gated.hangup(REFUSED);
    publishes(&mut client, id, 0x87);
    gated.broker.connect(
        &connect(Version::V5, "d")
            .username("bob")
            .password(b"geheim"),
    );
    client.expect_nothing();
}

#[test]
fn users_and_limits_come_and_go_by_sighup_and_open_sessions_stay() {
    let dir = tempfile::tempdir().expect("a directory");
    let (config, users) = (dir.path().join("forebay.toml"), dir.path().join("users"));
    let write = |inflight: u32| {
        let text = format!(
            "[broker]\npassword_file = {users:?}\n[broker.limits]\nreceive_maximum = {inflight}\n"
        );
        fs::write(&config, text).expect("a file");
    };
    write(10);
    fs::write(&users, super::passwords()).expect("a file");
    fs::set_permissions(&users, fs::Permissions::from_mode(0o644)).expect("rights");
    let broker = Broker::with(&["--config", config.to_str().unwrap()]);
    assert!(
        broker
            .stderr()
            .contains("everybody on this host can read the password file")
    );
    let gated = Gated { dir, broker };

    let mut client = gated.broker.connect(&ann(Version::V5));
    let only_bob: String = super::passwords().lines().skip(1).collect();
    fs::write(&users, only_bob).expect("a file");
    write(7);
    gated.hangup(TAKEN);
    let mut late = gated.broker.open(Version::V5);
    late.send(ann(Version::V5).bytes());
    assert_eq!(late.connack().code, 0x86);
    let bob = connect(Version::V5, "d")
        .username("bob")
        .password(b"geheim");
    let (_bob, answer) = Client::connect(gated.broker.address(), &bob);
    assert_eq!(answer.number(0x21, 0), 7, "the new receive maximum");
    client.publish1(1, "t", "x");
    client.expect_nothing();
}

#[test]
fn what_may_not_be_published_ends_an_old_connection_or_is_acknowledged() {
    for (policy, stays) in [("close", false), ("acknowledge", true)] {
        let dir = tempfile::tempdir().expect("a directory");
        let config = dir.path().join("forebay.toml");
        fs::write(&config, format!("[broker]\nrefused_publish = {policy:?}\n")).expect("a file");
        let gated = Gated::with(READ, &["--config", config.to_str().unwrap()]);
        let mut client = gated.broker.connect(&ann(Version::V311));
        client.send(publish("t", "x").bytes(Version::V311));
        client.send(publish("t", "x").qos(1, 1).bytes(Version::V311));
        if stays {
            client.expect(ack_with(Version::V311, PUBACK, 1, 0));
            client.expect_nothing();
        } else {
            client.expect_closed();
        }
    }
}

#[test]
fn a_filter_that_may_not_be_read_is_refused_by_itself() {
    use crate::harness::wire::{suback, subscribe};
    let gated = Gated::with("user ann\ntopic read a/#\ntopic deny a/no\n", &[]);
    for version in BOTH {
        let mut client = gated.broker.connect(&ann(version));
        client.send(subscribe(
            version,
            1,
            &[("a/1", 1), ("b", 1), ("a/no", 0), ("#", 2)],
        ));
        let refused = if version == Version::V5 { 0x87 } else { 0x80 };
        client.expect(suback(version, 1, &[1, refused, refused, 2]));
    }
}
