//! QoS 2 from a publisher whose connection or broker goes away in between. Chapter 4.3.3.

use super::{away, drain1, forget};
use crate::harness::{
    BOTH, Broker,
    wire::{PUBCOMP, PUBREC, PUBREL, ack, durable, publish},
};

// broker case 11
/// [MQTT-4.3.3-10] across connections and processes.
#[test]
fn a_qos_2_publish_replayed_after_a_crash_is_delivered_once() {
    let mut broker = Broker::start();
    for version in BOTH {
        let subscriber = durable(version, "s");
        away(&broker, &subscriber, 2);
        let name = durable(version, "p");
        let mut publisher = broker.resume(&name, false);
        publisher.send(publish("t", "m").qos(2, 8).bytes(version));
        publisher.expect(ack(PUBREC, 8));
        publisher.vanish();
        broker.crash();
        let mut publisher = broker.resume(&name, true);
        publisher.send(publish("t", "m").qos(2, 8).dup(true).bytes(version));
        publisher.expect_ack(PUBREC, 8);
        publisher.send(ack(PUBREL, 8));
        publisher.expect(ack(PUBCOMP, 8));
        // The same PUBREL again, as if the PUBCOMP had been lost with the connection.
        drop(publisher);
        broker.crash();
        let mut publisher = broker.resume(&name, true);
        publisher.send(ack(PUBREL, 8));
        let frame = publisher.frame();
        assert_eq!(
            (frame[0], &frame[2..4]),
            (PUBCOMP, &[0, 8][..]),
            "{frame:02x?}"
        );
        publisher.leave();
        let mut client = broker.resume(&subscriber, true);
        client.receive2(&publish("t", "m").qos(2, 0));
        client.expect_nothing();
        client.leave();
        forget(&broker, version, "s");
        forget(&broker, version, "p");
    }
}

/// Claim 5: a PUBREL that comes alone after a crash dispatches what PUBREC promised.
#[test]
fn a_pubrel_after_a_crash_delivers_the_message_that_was_received_before_it() {
    let mut broker = Broker::start();
    for version in BOTH {
        let subscriber = durable(version, "s");
        away(&broker, &subscriber, 1);
        let name = durable(version, "p");
        let mut publisher = broker.resume(&name, false);
        for id in 1..=3 {
            publisher.send(publish("t", id.to_string()).qos(2, id).bytes(version));
            publisher.expect(ack(PUBREC, id));
        }
        broker.crash();
        let mut publisher = broker.resume(&name, true);
        for id in 1..=3 {
            publisher.send(ack(PUBREL, id));
        }
        for id in 1..=3 {
            publisher.expect(ack(PUBCOMP, id));
        }
        let mut client = broker.resume(&subscriber, true);
        drain1(&mut client, 1, 3);
        client.expect_nothing();
        client.leave();
        forget(&broker, version, "s");
        forget(&broker, version, "p");
    }
}
