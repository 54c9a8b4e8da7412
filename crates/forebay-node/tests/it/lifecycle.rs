//! From start to stop, and again.

use std::{net::TcpListener, process::Command};

use forebay_node::broker::{At, Listener, RunError};
use tempfile::tempdir;

use crate::{
    client::{Client, PUBLISH, packet, publish, string},
    server::{Server, config, real},
};

#[test]
fn a_message_goes_from_socket_to_disk_to_socket() {
    let dir = tempdir().unwrap();
    let server = Server::start(dir.path());
    let (mut subscriber, _) = Client::connect(server.address(), "s", true);
    subscriber.subscribe("a/#", 1);
    let (mut publisher, _) = Client::connect(server.address(), "p", true);
    publisher.publish_acked("a/b", 7, b"hello");
    let got = subscriber.receive();
    assert_eq!((got.first, got.payload()), (0x32, &b"hello"[..]));
    subscriber.ack(&got);
    server.stop();
}

#[test]
fn a_thousand_messages_in_one_write_arrive_in_order() {
    let dir = tempdir().unwrap();
    let server = Server::start(dir.path());
    let (mut subscriber, _) = Client::connect(server.address(), "s", true);
    subscriber.subscribe("t", 1);
    let (mut publisher, _) = Client::connect(server.address(), "p", true);
    let burst: Vec<u8> = (1..=1000u16)
        .flat_map(|id| publish("t", 1, id, &id.to_be_bytes()))
        .collect();
    publisher.send(&burst);
    for id in 1..=1000u16 {
        assert_eq!(publisher.receive().id(), id);
    }
    for id in 1..=1000u16 {
        let got = subscriber.receive();
        assert_eq!(got.payload(), id.to_be_bytes());
        subscriber.ack(&got);
    }
    server.stop();
}

#[test]
fn a_packet_in_many_pieces_is_one_packet() {
    let dir = tempdir().unwrap();
    let server = Server::start(dir.path());
    let (mut client, _) = Client::connect(server.address(), "c", true);
    client.subscribe("big", 1);
    let payload = vec![0x5A; 300_000];
    for piece in publish("big", 1, 1, &payload).chunks(7_001) {
        client.send(piece);
    }
    let mut kinds = vec![];
    for _ in 0..2 {
        let got = client.receive();
        if got.kind() == PUBLISH {
            assert!(got.payload() == payload);
        }
        kinds.push(got.kind());
    }
    kinds.sort_unstable();
    assert_eq!(kinds, [3, 4]);
    server.stop();
}

#[test]
fn a_start_on_the_same_directory_has_the_sessions_and_what_waits_for_them() {
    let dir = tempdir().unwrap();
    let server = Server::start(dir.path());
    let (mut subscriber, present) = Client::connect(server.address(), "s", false);
    assert!(!present);
    subscriber.subscribe("t", 1);
    drop(subscriber);
    let (mut publisher, _) = Client::connect(server.address(), "p", true);
    for id in 1..=10 {
        publisher.publish_acked("t", id, &id.to_be_bytes());
    }
    server.stop();

    let server = Server::start(dir.path());
    let (mut subscriber, present) = Client::connect(server.address(), "s", false);
    assert!(present);
    for id in 1..=10u16 {
        let got = subscriber.receive();
        assert_eq!(got.payload(), id.to_be_bytes());
        subscriber.ack(&got);
    }
    server.stop();
}

#[test]
fn a_stop_tells_every_client_and_ends_well() {
    let dir = tempdir().unwrap();
    let server = Server::start(dir.path());
    let mut five = Client::open(server.address());
    let mut body = string("MQTT");
    body.extend_from_slice(&[5, 2, 0, 0, 0]);
    body.extend_from_slice(&string("five"));
    five.send(&packet(0x10, &body));
    assert_eq!(five.receive().first, 0x20);
    let (mut four, _) = Client::connect(server.address(), "four", true);
    server.ready.stop.stop();
    let goodbye = five.receive();
    assert_eq!((goodbye.first, goodbye.body[0]), (0xE0, 0x8B));
    five.expect_end();
    four.expect_end();
    drop((five, four));
    server.join().unwrap();
}

#[test]
fn an_address_in_use_is_named_and_nothing_is_opened() {
    let dir = tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut config = config(dir.path());
    let at = taken.local_addr().unwrap();
    config.listeners = vec![Listener::tcp(at)];
    match Server::try_start(real(dir.path()), config) {
        Err(RunError::AddressInUse { address }) => assert_eq!(address, At::Tcp(at)),
        other => panic!("{:?}", other.err()),
    }
}

#[test]
fn a_second_broker_on_a_directory_is_refused_with_the_pid_of_the_first() {
    let dir = tempdir().unwrap();
    let server = Server::start(dir.path());
    match Server::try_start(real(dir.path()), config(dir.path())) {
        Err(RunError::Locked { pid, .. }) => assert_eq!(pid, std::process::id()),
        other => panic!("{:?}", other.err()),
    }
    server.stop();
}

#[test]
fn a_connection_beyond_the_limit_is_closed_and_the_others_go_on() {
    let dir = tempdir().unwrap();
    let mut config = config(dir.path());
    config.limits.connections = 2;
    let server = Server::start_on(real(dir.path()), config);
    let (mut first, _) = Client::connect(server.address(), "1", true);
    let (second, _) = Client::connect(server.address(), "2", true);
    Client::open(server.address()).expect_end();
    first.subscribe("t", 1);
    drop(second);
    first.send(&packet(0xC0, &[]));
    assert_eq!(first.receive().first, 0xD0);
    server.stop();
}

#[test]
fn a_signal_that_comes_as_soon_as_it_is_ready_is_a_stop_in_good_order() {
    for signal in ["-TERM", "-INT"] {
        let dir = tempdir().unwrap();
        // Nothing else of the broker runs before this has returned and the signal has come.
        forebay_node::broker::run(&config(dir.path()), |_| {
            let mut kill = Command::new("kill");
            let sent = kill
                .arg(signal)
                .arg(std::process::id().to_string())
                .status();
            assert!(sent.unwrap().success());
        })
        .unwrap();
    }
}
