//! A client that doesn't read.

use std::time::Duration;

use tempfile::tempdir;

use crate::{
    client::{Client, publish},
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
