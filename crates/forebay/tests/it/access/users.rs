//! Broker claims 19 and 23: who comes in.

use std::{fs, process::Command, time::Instant};

use super::Gated;
use crate::harness::{
    BOTH, Broker, Client, PATIENCE, Version,
    wire::{Connect, connect},
};

const ALL: &str = "topic #\nuser ann\ntopic #\nuser bob\ntopic #\n";

#[track_caller]
fn code(broker: &Broker, connect: &Connect) -> u8 {
    let mut client = broker.open(connect.version);
    client.send(connect.bytes());
    let code = client.connack().code;
    if code != 0 {
        client.expect_closed();
    }
    code
}

#[test]
fn a_right_password_comes_in_a_wrong_one_an_unknown_name_and_nobody_do_not() {
    let gated = Gated::with(ALL, &[]);
    for version in BOTH {
        let old = version != Version::V5;
        let plain = || connect(version, "c");
        let cases = [
            (plain().username("ann").password(b"secret"), 0, 0),
            (plain().username("bob").password(b"geheim"), 0, 0),
            (plain().username("ann").password(b"geheim"), 0x86, 4),
            (plain().username("ann").password(b""), 0x86, 4),
            (plain().username("ann"), 0x86, 4),
            (plain().username("eve").password(b"secret"), 0x86, 4),
            (plain().username("").password(b"secret"), 0x86, 4),
            (plain(), 0x87, 5),
        ];
        for (connect, new_code, old_code) in cases {
            let expected = if old { old_code } else { new_code };
            assert_eq!(code(&gated.broker, &connect), expected, "{version:?}");
        }
    }
    let alone = connect(Version::V5, "c").password(b"secret");
    assert_eq!(code(&gated.broker, &alone), 0x86);
}

#[test]
fn nobody_is_let_in_beside_the_users_only_where_that_is_said() {
    let gated = Gated::with(ALL, &["--allow-anonymous"]);
    assert_eq!(code(&gated.broker, &connect(Version::V5, "c")), 0);
    let wrong = connect(Version::V5, "c").username("ann").password(b"x");
    assert_eq!(
        code(&gated.broker, &wrong),
        0x86,
        "a wrong password is no nobody"
    );
}

#[test]
fn a_password_file_of_mosquitto_is_taken_and_ours_is_taken_by_mosquitto() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("theirs");
    let made = Command::new("mosquitto_passwd")
        .args(["-b", "-c"])
        .arg(&file)
        .args(["ann", "secret"])
        .output();
    assert!(made.expect("mosquitto_passwd").status.success());
    let text = fs::read_to_string(&file).expect("a file");
    assert!(text.starts_with("ann:$7$"), "{text}");
    let broker = Broker::with(&["--password-file", file.to_str().unwrap()]);
    let ann = |password: &[u8]| connect(Version::V5, "c").username("ann").password(password);
    assert_eq!(code(&broker, &ann(b"secret")), 0);
    assert_eq!(code(&broker, &ann(b"secret2")), 0x86);

    // Theirs changes a user of ours, whose other line stays good.
    super::passwd::batch(&file, "bob:geheim\n", &["--format", "mosquitto"]);
    let changed = Command::new("mosquitto_passwd")
        .arg("-b")
        .arg(&file)
        .args(["ann", "other"])
        .output();
    assert!(changed.expect("mosquitto_passwd").status.success());
    let broker = Broker::with(&["--password-file", file.to_str().unwrap()]);
    assert_eq!(code(&broker, &ann(b"other")), 0);
    let bob = connect(Version::V5, "c")
        .username("bob")
        .password(b"geheim");
    assert_eq!(code(&broker, &bob), 0);
}

#[test]
fn a_flood_of_logins_keeps_nobody_waiting_who_is_in() {
    let gated = Gated::with(ALL, &[]);
    let ann = connect(Version::V5, "in")
        .username("ann")
        .password(b"secret");
    let mut inside = gated.broker.connect(&ann);
    let mut flood: Vec<Client> = (0..200)
        .map(|number| {
            let mut client = gated.broker.open(Version::V5);
            let name = format!("f{number}");
            client.send(
                connect(Version::V5, name)
                    .username("ann")
                    .password(b"no")
                    .bytes(),
            );
            client
        })
        .collect();
    let began = Instant::now();
    let mut slowest = began.elapsed();
    for id in 1..=20 {
        let sent = Instant::now();
        inside.publish1(id, "t", "x");
        slowest = slowest.max(sent.elapsed());
    }
    let left = flood.iter_mut().filter_map(Client::frame_at_hand).count();
    assert!(
        left < 200,
        "the flood was over before anything was measured"
    );
    assert!(slowest < PATIENCE / 10, "a publish took {slowest:?}");
}

#[test]
fn no_secret_is_told_by_the_log_the_errors_or_the_metrics_at_any_level() {
    let gated = Gated::with(ALL, &["--log", "trace", "--metrics", "127.0.0.1:0"]);
    for version in BOTH {
        let good = connect(version, "c").username("ann").password(b"secret");
        gated.broker.connect(&good).publish1(1, "t", "x");
        let bad = connect(version, "c").username("bob").password(b"hunter2");
        let _ = code(&gated.broker, &bad);
    }
    let mut garbage = gated.broker.open(Version::V5);
    let mut bytes = connect(Version::V5, "c")
        .username("ann")
        .password(b"hunter2")
        .bytes();
    bytes[1] -= 1;
    garbage.send_anyway(bytes);
    assert_eq!(garbage.connack().code, 0x81);
    fs::write(gated.users(), "ann:hunter2\n").expect("a file");
    gated.hangup(super::REFUSED);
    let log = gated.broker.stderr();
    let page = crate::cli::scrape(gated.broker.metrics());
    assert!(log.contains("TRACE") || log.contains("DEBUG"), "{log}");
    let hashes = super::passwords();
    let hashes = hashes.lines().filter_map(|line| line.rsplit('$').next());
    for secret in ["secret", "geheim", "hunter2"].into_iter().chain(hashes) {
        assert!(!log.contains(secret), "the log tells {secret}");
        assert!(!page.contains(secret), "the metrics tell {secret}");
    }
}
