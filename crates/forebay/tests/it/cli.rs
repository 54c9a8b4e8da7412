//! The command line with bad input: a clear error, an exit code of its own, nothing deleted.
//!
//! Exit codes: 2 usage, 65 damaged or newer data, 69 a port that is taken, 74 a data directory
//! that can't be used, 75 one that is locked, 78 configuration.

use std::{
    collections::BTreeMap,
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

use crate::harness::{
    Broker, Lines, Version, end_by_term,
    wire::{connect, durable, publish},
};

fn directory() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory")
}

/// Runs a command that must fail, and returns what it wrote to stderr.
#[track_caller]
pub(crate) fn refused(command: &mut Command, code: i32) -> String {
    let mut process = Lines::start(command);
    if let Some(line) = process.line() {
        assert!(!line.starts_with("ready"), "it started: {line}");
    }
    let (status, stderr) = process.outcome();
    assert_eq!(status.code(), Some(code), "{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    assert!(!stderr.trim().is_empty(), "an error says what is wrong");
    stderr
}

/// Every file below `directory` with all its bytes.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![directory.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else {
                let bytes = fs::read(&path).expect("a file");
                found.insert(path, bytes);
            }
        }
    }
    found
}

/// Requires that no file is gone, shorter or changed; a new one may be there. The lock file,
/// which names its last holder, may change.
#[track_caller]
fn require_untouched(before: &BTreeMap<PathBuf, Vec<u8>>, directory: &Path) {
    let after = files(directory);
    for (path, bytes) in before {
        if path.file_name().is_some_and(|name| name == "LOCK") {
            continue;
        }
        let now = after
            .get(path)
            .unwrap_or_else(|| panic!("{} is gone", path.display()));
        assert!(now == bytes, "{} was changed", path.display());
    }
}

/// A broker that was killed with `count` acknowledged messages for a session that is away.
fn loaded(count: u16) -> Broker {
    let mut broker = Broker::start();
    let mut client = broker.connect(&durable(Version::V5, "c"));
    client.subscribe("t", 1);
    client.leave();
    let mut publisher = broker.connect(&connect(Version::V5, "p"));
    for number in 1..=count {
        publisher.publish1(number, "t", &format!("marker-{number:05}-"));
    }
    broker.kill();
    broker
}

/// The file and place of some bytes.
#[track_caller]
fn find(files: &BTreeMap<PathBuf, Vec<u8>>, needle: &str) -> (PathBuf, usize) {
    for (path, bytes) in files {
        if let Some(at) = bytes
            .windows(needle.len())
            .position(|part| part == needle.as_bytes())
        {
            return (path.clone(), at);
        }
    }
    panic!("no file holds {needle}");
}

#[test]
fn an_unknown_flag_is_a_usage_error() {
    let home = directory();
    let mut command = Broker::command(&home.path().join("data"));
    let stderr = refused(command.arg("--no-such-flag"), 2);
    assert!(stderr.contains("--no-such-flag"), "{stderr}");
    assert!(!home.path().join("data").exists());
}

#[test]
fn an_address_that_is_none_is_a_usage_error() {
    let home = directory();
    let mut command = Command::new(env!("CARGO_BIN_EXE_forebay"));
    command
        .arg("broker")
        .arg("--data-dir")
        .arg(home.path().join("data"));
    let stderr = refused(command.args(["--listen", "not-an-address"]), 2);
    assert!(stderr.contains("not-an-address"), "{stderr}");
}

#[test]
fn an_unknown_config_key_is_named_with_its_line() {
    let home = directory();
    let file = home.path().join("forebay.toml");
    fs::write(&file, "# a comment\n[broker]\nlissten = \"127.0.0.1:0\"\n").expect("a file");
    let mut command = Broker::command(&home.path().join("data"));
    let stderr = refused(command.arg("--config").arg(&file), 78);
    assert!(stderr.contains("lissten"), "{stderr}");
    assert!(stderr.contains("forebay.toml"), "{stderr}");
    assert!(
        stderr.contains("line 3") || stderr.contains("toml:3"),
        "{stderr}"
    );
    assert!(
        !home.path().join("data").exists(),
        "nothing is made for a wrong configuration"
    );
}

#[test]
fn a_config_value_of_the_wrong_type_is_named_with_its_line() {
    let home = directory();
    let file = home.path().join("forebay.toml");
    fs::write(&file, "[broker]\n\nlisten = 1883\n").expect("a file");
    let mut command = Broker::command(&home.path().join("data"));
    let stderr = refused(command.arg("--config").arg(&file), 78);
    assert!(
        stderr.contains("line 3") || stderr.contains("toml:3"),
        "{stderr}"
    );
}

#[test]
fn a_config_file_that_is_no_toml_is_named_with_its_line() {
    let home = directory();
    let file = home.path().join("forebay.toml");
    fs::write(&file, "[broker]\nlisten = \"127.0.0.1:0\n").expect("a file");
    let mut command = Broker::command(&home.path().join("data"));
    let stderr = refused(command.arg("--config").arg(&file), 78);
    assert!(
        stderr.contains("line 2") || stderr.contains("toml:2"),
        "{stderr}"
    );
}

#[test]
fn a_config_file_that_is_missing_is_named() {
    let home = directory();
    let file = home.path().join("nowhere.toml");
    let mut command = Broker::command(&home.path().join("data"));
    let stderr = refused(command.arg("--config").arg(&file), 78);
    assert!(stderr.contains("nowhere.toml"), "{stderr}");
}

#[test]
fn flags_override_the_config_file() {
    let mut broker = Broker::start();
    broker.kill();
    let file = broker.home().join("forebay.toml");
    fs::write(&file, "[broker]\nlisten = \"127.0.0.1:1\"\n").expect("a file");
    let mut command = Broker::command(&broker.data_dir());
    broker.adopt(Lines::start(command.arg("--config").arg(&file)));
    broker.connect(&connect(Version::V5, "c")).expect_nothing();
}

#[test]
fn a_port_that_is_taken_is_named() {
    let home = directory();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    for flag in ["--listen", "--metrics"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_forebay"));
        command
            .arg("broker")
            .arg("--data-dir")
            .arg(home.path().join("data"));
        if flag == "--metrics" {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        let stderr = refused(command.args([flag, &address]), 69);
        assert!(stderr.contains(&address), "{flag}: {stderr}");
    }
}

#[test]
fn a_data_directory_that_can_not_be_made_is_named() {
    let home = directory();
    let file = home.path().join("file");
    fs::write(&file, "precious").expect("a file");
    for path in [file.clone(), file.join("data")] {
        let stderr = refused(&mut Broker::command(&path), 74);
        assert!(stderr.contains(&path.display().to_string()), "{stderr}");
    }
    assert_eq!(fs::read(&file).expect("a file"), b"precious");
}

#[test]
fn a_data_directory_in_use_names_the_process_and_leaves_it_alone() {
    let broker = Broker::start();
    let mut client = broker.connect(&durable(Version::V5, "c"));
    client.subscribe("t", 1);
    let stderr = refused(&mut Broker::command(&broker.data_dir()), 75);
    assert!(stderr.contains(&broker.id().to_string()), "{stderr}");
    assert!(
        stderr.contains(&broker.data_dir().display().to_string()),
        "{stderr}"
    );
    client.send(publish("t", "m").qos(1, 1).bytes(Version::V5));
    let mut frames = [client.frame(), client.frame()];
    frames.sort();
    assert_eq!(frames[1], [0x40, 2, 0, 1]);
}

#[test]
fn a_lock_of_a_killed_broker_is_no_hindrance() {
    let mut broker = Broker::start();
    broker.crash();
    broker.connect(&connect(Version::V5, "c")).expect_nothing();
}

#[test]
fn a_damaged_segment_is_named_and_nothing_is_cut_or_deleted() {
    let broker = loaded(200);
    let data = broker.data_dir();
    let (path, at) = find(&files(&data), "marker-00020-");
    let mut bytes = fs::read(&path).expect("a file");
    bytes[at + 3] ^= 0x20;
    fs::write(&path, bytes).expect("a file");
    let before = files(&data);
    for _ in 0..2 {
        let stderr = refused(&mut Broker::command(&data), 65);
        let name = path.file_name().expect("a name").to_string_lossy();
        assert!(
            stderr.contains(&*name),
            "the file {name} is named: {stderr}"
        );
        require_untouched(&before, &data);
    }
}

#[test]
fn a_store_of_another_kind_is_refused_and_left_alone() {
    let broker = loaded(3);
    let data = broker.data_dir();
    let (path, _) = find(&files(&data), "marker-00001-");
    let mut bytes = fs::read(&path).expect("a file");
    bytes[..64].fill(b'?');
    fs::write(&path, bytes).expect("a file");
    let before = files(&data);
    refused(&mut Broker::command(&data), 65);
    require_untouched(&before, &data);
}

/// CRC-32C, bit by bit.
fn crc32c(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for &byte in bytes {
        sum ^= u32::from(byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 {
                sum >> 1 ^ 0x82F6_3B78
            } else {
                sum >> 1
            };
        }
    }
    !sum
}

/// Blocks of 96 bytes: magic, version at 8, CRC-32C at 92. Layout in `docs/format.md`.
#[test]
fn a_store_of_a_newer_format_is_refused_and_left_alone() {
    let broker = loaded(3);
    let data = broker.data_dir();
    let mut changed = 0;
    for (path, mut bytes) in files(&data) {
        for at in [0, 4096] {
            let Some(block) = bytes.get_mut(at..at + 96) else {
                continue;
            };
            if !block.starts_with(b"FBroot") && !block.starts_with(b"FBsegmnt") {
                continue;
            }
            assert_eq!(block[92..], crc32c(&block[..92]).to_le_bytes());
            block[8..10].copy_from_slice(&0x7777_u16.to_le_bytes());
            let sum = crc32c(&block[..92]).to_le_bytes();
            block[92..].copy_from_slice(&sum);
            changed += 1;
        }
        fs::write(path, bytes).expect("a file");
    }
    assert!(changed > 0, "no block to change was found");
    let before = files(&data);
    let stderr = refused(&mut Broker::command(&data), 65);
    assert!(
        stderr.contains("format") && stderr.contains(&0x7777.to_string()),
        "{stderr}"
    );
    require_untouched(&before, &data);
}

#[test]
fn a_broker_that_is_asked_to_stop_ends_well_by_either_signal() {
    for signal in ["TERM", "INT"] {
        let mut broker = Broker::start();
        let id = broker.id();
        let done = Command::new("sh")
            .args(["-c", &format!("kill -{signal} {id}")])
            .status();
        assert!(done.expect("sh runs").success());
        let status = broker.ended();
        assert!(status.success(), "{signal}: {status}");
        broker.run();
    }
}

/// The page of metrics at `address`, with its head.
#[track_caller]
pub(crate) fn scrape(address: std::net::SocketAddr) -> String {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(address).expect("a connection");
    stream
        .set_read_timeout(Some(crate::harness::PATIENCE))
        .expect("a socket option");
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        .expect("a request");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    text
}

#[test]
fn metrics_are_served_where_ready_says() {
    let broker = Broker::with(&["--metrics", "127.0.0.1:0"]);
    let text = scrape(broker.metrics());
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    let series: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("forebay_"))
        .collect();
    assert!(!series.is_empty(), "{text}");
}

#[test]
fn what_up_says_to_try_works_as_it_is_printed() {
    let home = directory();
    let mut command = Command::new(env!("CARGO_BIN_EXE_forebay"));
    command.args(["up", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"]);
    let mut up = Lines::start(command.arg("--data-dir").arg(home.path().join("data")));
    let mut lines = Vec::new();
    while lines
        .last()
        .is_none_or(|line: &String| !line.contains("Ctrl-C"))
    {
        lines.push(up.line().expect("it says how to end it"));
    }
    let is_one = |line: &&String, name: &str| line.contains(name) && line.contains(" -t ");
    let subscribes = lines.iter().filter(|line| is_one(line, "sub "));
    let publishes = lines.iter().filter(|line| is_one(line, "pub "));
    let pairs: Vec<_> = subscribes.zip(publishes).collect();
    assert_eq!(pairs.len(), 2, "{lines:?}");
    for (subscribe, publish) in pairs {
        let shell = |line: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", line]);
            command
        };
        let mut subscriber = Lines::start(&mut shell(&format!("{subscribe} -C 1")));
        let subscriber = std::thread::spawn(move || subscriber.line());
        crate::harness::wait_until("the message to arrive", || {
            let published = shell(publish).status().expect("sh runs");
            assert!(published.success(), "{publish}");
            subscriber.is_finished().then_some(())
        });
        let got = subscriber.join().expect("it ends");
        assert_eq!(got.as_deref(), Some("hello"), "{subscribe}");
    }
    end_by_term(up.id());
    assert!(up.wait().success());
}
