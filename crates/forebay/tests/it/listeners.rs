//! The ways in: TLS, WebSocket, Unix sockets and the PROXY protocol.

mod proxy;
mod tls;
mod websocket;

use std::{
    fs,
    io::{Read, Write},
    os::unix::net::UnixStream,
    path::Path,
};

use tempfile::TempDir;

use crate::harness::{
    Broker, PATIENCE, Version,
    wire::{PUBACK, ack_with, connect, hex, publish},
};

/// A broker with this in its configuration, `DIR` being a directory of its own.
#[track_caller]
fn broker(dir: &TempDir, text: &str) -> Broker {
    let config = dir.path().join("forebay.toml");
    fs::write(&config, text.replace("DIR", dir.path().to_str().unwrap())).expect("a file");
    Broker::with(&["--config", config.to_str().unwrap()])
}

/// Sends a CONNECT of MQTT 3.1.1 and a publish in one go, and requires both answers.
#[track_caller]
fn speaks_mqtt(stream: &mut (impl Read + Write), id: &str) {
    let connect = connect(Version::V311, id).bytes();
    let publish = publish("t", "x").qos(1, 7).bytes(Version::V311);
    stream
        .write_all(&[connect, publish].concat())
        .expect("sent");
    stream.flush().expect("sent");
    let answer = [hex("20 02 00 00"), ack_with(Version::V311, PUBACK, 7, 0)].concat();
    let mut got = vec![0; answer.len()];
    stream.read_exact(&mut got).expect("an answer");
    assert_eq!(got, answer);
}

#[test]
fn a_unix_socket_is_a_way_in_and_one_that_was_left_over_is_replaced() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut broker = broker(&dir, "[[broker.listener]]\nunix = \"DIR/mqtt\"\n");
    for _ in 0..2 {
        let path = broker.door("unix");
        assert_eq!(Path::new(&path), dir.path().join("mqtt"));
        let mut stream = UnixStream::connect(&path).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("an option");
        speaks_mqtt(&mut stream, "c");
        broker.crash();
    }
    assert!(broker.stop().success());
    assert!(!dir.path().join("mqtt").exists(), "it goes with the broker");
}

#[test]
fn what_is_no_socket_is_not_replaced() {
    let dir = tempfile::tempdir().expect("a directory");
    let (file, config) = (dir.path().join("mqtt"), dir.path().join("forebay.toml"));
    fs::write(&file, "mine").expect("a file");
    fs::write(&config, format!("[[broker.listener]]\nunix = {file:?}\n")).expect("a file");
    let mut command = Broker::command(&dir.path().join("data"));
    let error = crate::cli::refused(command.arg("--config").arg(&config), 69);
    assert!(
        error.contains("mqtt") && error.contains("in use"),
        "{error}"
    );
    assert_eq!(fs::read_to_string(&file).expect("a file"), "mine");
}

#[test]
fn mistakes_of_a_listener_are_told_with_their_line() {
    let dir = tempfile::tempdir().expect("a directory");
    let config = dir.path().join("forebay.toml");
    for (text, told) in [
        ("websocket = true\n", "an address or a unix path"),
        ("address = \"here\"\n", ":2: broker.listener.address"),
        (
            "address = \"127.0.0.1:0\"\ntls_key = \"k\"\n",
            ":3: broker.listener.tls_key",
        ),
        (
            "address = \"127.0.0.1:0\"\nidentity = \"cn\"\n",
            ":3: broker.listener.identity",
        ),
        (
            "address = \"0.0.0.0:0\"\n",
            ":2: broker.listener.address: 0.0.0.0:0 lets other",
        ),
        ("adress = \"0.0.0.0:0\"\n", "did you mean address?"),
        (
            "address = \"127.0.0.1:0\"\ntls_certificate = \"/nowhere\"\ntls_key = \"/nowhere\"\n",
            "/nowhere",
        ),
    ] {
        fs::write(&config, format!("[[broker.listener]]\n{text}")).expect("a file");
        let mut command = Broker::command(&dir.path().join("data"));
        let error = crate::cli::refused(command.arg("--config").arg(&config), 78);
        assert!(error.contains(told), "{told}: {error}");
    }
}
