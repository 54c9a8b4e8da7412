//! A client that doesn't read.

use std::{
    io::Write,
    time::{Duration, Instant},
};

use tempfile::tempdir;

use crate::{
    client::{Client, PUBLISH, packet, publish},
    metrics::value,
    server::{Server, config, real},
};

#[test]
fn a_client_that_does_not_read_is_closed_and_the_others_get_everything() {
    let dir = tempdir().unwrap();
    let mut config = config(dir.path());
    config.metrics = Some("127.0.0.1:0".parse().unwrap());
    config.limits.outgoing_bytes = 256 * 1024;
    config.limits.write_stall = Duration::from_secs(1);
    let server = Server::start_on(real(dir.path()), config);
    let metrics = server.ready.metrics.unwrap();
    let (mut asleep, _) = Client::connect(server.address(), "asleep", true);
    asleep.subscribe("t", 0);
    let (mut awake, _) = Client::connect(server.address(), "awake", true);
    awake.subscribe("t", 0);
    let (mut publisher, _) = Client::connect(server.address(), "p", true);

    let payload = vec![b'x'; 64 * 1024];
    let mut count = 0;
    while value(metrics, "forebay_broker_connections_stalled_total") == 0 {
        publisher.send(&publish("t", 0, 0, &payload));
        assert!(awake.receive().payload() == payload);
        count += 1;
    }
    let dropped = value(
        metrics,
        "forebay_broker_drops_total{reason=\"slow_reader\"}",
    );
    assert!(dropped > 0 && dropped < count, "{dropped} of {count}");
    // What had left before is whole; then comes the end.
    let mut got = 0;
    while let Ok(packet) = asleep.try_receive() {
        assert!(packet.payload() == payload);
        got += 1;
    }
    assert!(got + dropped <= count);
    publisher.send(&publish("t", 0, 0, b"on"));
    assert_eq!(awake.receive().payload(), b"on");
    server.stop();
}

#[test]
fn a_window_of_large_messages_is_no_reason_to_close_who_reads_them() {
    let dir = tempdir().unwrap();
    let mut config = config(dir.path());
    config.limits.outgoing_bytes_max = 64 * 1024;
    let server = Server::start_on(real(dir.path()), config);
    let (mut reader, _) = Client::connect(server.address(), "reader", false);
    reader.subscribe("t", 1);
    drop(reader);
    let (mut publisher, _) = Client::connect(server.address(), "p", true);
    // More than the kernel takes at once.
    let payload = vec![b'x'; 256 * 1024];
    for id in 1..=100 {
        publisher.publish_acked("t", id, &payload);
    }
    let (mut reader, _) = Client::connect(server.address(), "reader", false);
    for _ in 0..100 {
        // Anything else that is sent meanwhile counts just as little against it.
        reader.send(&packet(0xC0, &[]));
        let mut message = reader.receive();
        while message.kind() != PUBLISH {
            message = reader.receive();
        }
        assert!(message.payload() == payload);
        reader.send(&packet(0x40, &message.id().to_be_bytes()));
    }
    server.stop();
}

#[test]
fn a_client_that_asks_without_end_and_reads_nothing_is_closed() {
    let dir = tempdir().unwrap();
    let mut config = config(dir.path());
    config.metrics = Some("127.0.0.1:0".parse().unwrap());
    config.limits.outgoing_bytes_max = 64 * 1024;
    config.limits.overrun = Duration::from_millis(100);
    config.limits.write_stall = Duration::from_hours(1);
    let server = Server::start_on(real(dir.path()), config);
    let metrics = server.ready.metrics.unwrap();
    let (mut asks, _) = Client::connect(server.address(), "asks", true);
    let pings = packet(0xC0, &[]).repeat(32 * 1024);
    let began = Instant::now();
    while value(metrics, "forebay_broker_connections_stalled_total") == 0 {
        assert!(began.elapsed() < Duration::from_mins(1), "it goes on");
        // Once it is closed it may not be written to.
        let _ = asks.stream.write_all(&pings);
    }
    server.stop();
}
