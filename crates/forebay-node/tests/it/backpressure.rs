//! A disk that doesn't keep up.

use std::io::{self, Write};

use tempfile::tempdir;

use crate::{
    client::{Client, packet, publish},
    disk::{Ordered, Orders},
    metrics::value,
    server::{Server, config, real},
};

#[test]
fn publishers_wait_while_the_disk_is_behind_and_others_are_served() {
    const LIMIT: u64 = 256 * 1024;
    let dir = tempdir().unwrap();
    let orders = Orders::default();
    let disk = Ordered {
        disk: real(dir.path()),
        orders: orders.clone(),
    };
    let mut config = config(dir.path());
    config.metrics = Some("127.0.0.1:0".parse().unwrap());
    config.limits.backlog_bytes = LIMIT;
    let server = Server::start_on(disk, config);
    let metrics = server.ready.metrics.unwrap();
    let (mut subscriber, _) = Client::connect(server.address(), "s", false);
    subscriber.subscribe("t", 1);
    let (mut publisher, _) = Client::connect(server.address(), "p", true);

    orders.hold(true);
    // The broker stops reading, and then the socket takes no more.
    publisher.stream.set_nonblocking(true).unwrap();
    let message = publish("t", 1, 1, &[b'x'; 1000]);
    let mut sent = Vec::new();
    let mut left: &[u8] = &[];
    while value(metrics, "forebay_broker_read_pauses_total") == 0 {
        for _ in 0..1000 {
            if left.is_empty() {
                sent.push(());
                left = &message;
            }
            match publisher.stream.write(left) {
                Ok(count) => left = &left[count..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => panic!("{error}"),
            }
        }
    }
    let lag = value(metrics, "forebay_store_lag_bytes");
    assert!(lag >= LIMIT, "{lag}");
    // One read and what the machine makes of it may come on top of the limit.
    assert!(lag < LIMIT + 512 * 1024, "{lag}");
    subscriber.send(&packet(0xC0, &[]));
    assert_eq!(
        subscriber.receive().first,
        0xD0,
        "a client that doesn't write goes on"
    );

    orders.hold(false);
    publisher.stream.set_nonblocking(false).unwrap();
    publisher.send(left);
    for _ in sent {
        assert_eq!(publisher.receive().first, 0x40);
    }
    server.stop();
}
