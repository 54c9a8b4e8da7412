//! A store that can't write any more.

use forebay_node::broker::RunError;
use tempfile::tempdir;

use crate::{
    client::{Client, publish},
    disk::{Ordered, Orders},
    server::{Server, config, real},
};

#[test]
fn a_failed_write_ends_the_broker_and_nothing_is_acknowledged_after_it() {
    let dir = tempdir().unwrap();
    let orders = Orders::default();
    let disk = Ordered {
        disk: real(dir.path()),
        orders: orders.clone(),
    };
    let server = Server::start_on(disk, config(dir.path()));
    let (mut subscriber, _) = Client::connect(server.address(), "s", false);
    subscriber.subscribe("t", 1);
    let (mut publisher, _) = Client::connect(server.address(), "p", true);
    publisher.publish_acked("t", 1, b"kept");
    let kept = subscriber.receive();
    assert_eq!(kept.payload(), b"kept");

    orders.fail();
    publisher.send(&publish("t", 1, 2, b"lost"));
    publisher.expect_end();
    subscriber.expect_end();
    match server.join() {
        Err(RunError::Poisoned { source }) => {
            assert!(source.to_string().contains("ordered to fail"), "{source}");
        }
        other => panic!("{other:?}"),
    }

    let server = Server::start(dir.path());
    let (mut subscriber, present) = Client::connect(server.address(), "s", false);
    assert!(present);
    let again = subscriber.receive();
    assert_eq!(
        (again.first, again.payload()),
        (0x3A, &b"kept"[..]),
        "with DUP"
    );
    server.stop();
}
