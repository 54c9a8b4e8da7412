//! Sessions that outlive connections and processes. Chapters 3.1.2.4, 4.1 and 4.4.

mod inbound;
mod queued;
mod redelivery;
mod takeover;

use crate::harness::{
    Broker, Client, Version,
    wire::{Connect, PUBACK, ack, connect, publish},
};

/// Connects, subscribes to `t`, and leaves.
#[track_caller]
fn away(broker: &Broker, name: &Connect, qos: u8) {
    let mut client = broker.resume(name, false);
    client.subscribe("t", qos);
    client.leave();
}

/// Ends a session and all it holds.
#[track_caller]
fn forget(broker: &Broker, version: Version, id: &str) {
    broker.connect(&connect(version, id)).leave();
}

/// Publishes the numbers `from..=to` to `t` and requires every acknowledgement.
#[track_caller]
fn fill(broker: &Broker, version: Version, qos: u8, from: u16, to: u16) {
    let mut publisher = broker.connect(&connect(version, "publisher"));
    for number in from..=to {
        match qos {
            1 => publisher.publish1(number, "t", &number.to_string()),
            _ => publisher.publish2(number, "t", &number.to_string()),
        }
    }
    publisher.leave();
}

/// Requires the numbers `from..=to` of QoS 1 as new messages, and acknowledges them.
#[track_caller]
fn drain1(client: &mut Client, from: u16, to: u16) {
    for number in from..=to {
        let id = client.expect_publish(&publish("t", number.to_string()).qos(1, 0));
        client.send(ack(PUBACK, id));
    }
}
