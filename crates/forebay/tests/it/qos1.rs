//! QoS 1: PUBACK in both directions, the window, packet identifiers. Chapters 3.4, 4.3.2, 4.9.

use std::{collections::HashSet, time::Duration};

use crate::harness::{
    BOTH, Broker, Client, Version,
    wire::{
        PUBACK, PUBCOMP, PUBREC, PUBREL, ack, connect, durable, hex, prop_text, prop2, publish,
    },
};

/// [MQTT-4.3.2-4] [MQTT311-4.3.2-2]
#[test]
fn a_message_that_someone_wants_is_acknowledged_with_its_id() {
    let broker = Broker::start();
    for version in BOTH {
        let mut subscriber = broker.connect(&durable(version, "s"));
        subscriber.subscribe("t", 1);
        let mut publisher = broker.connect(&connect(version, "p"));
        publisher.send(publish("t", "m").qos(1, 0xBEEF).bytes(version));
        publisher.expect(hex("40 02 beef"));
        publisher.expect_nothing();
        let id = subscriber.expect_publish(&publish("t", "m").qos(1, 0));
        subscriber.send(ack(PUBACK, id));
        subscriber.leave();
    }
}

#[test]
fn a_message_that_nobody_wants_is_acknowledged_so() {
    let broker = Broker::start();
    let mut old = broker.connect(&connect(Version::V311, "old"));
    old.send(publish("t", "m").qos(1, 7).bytes(Version::V311));
    old.expect(hex("40 02 0007"));
    let mut new = broker.connect(&connect(Version::V5, "new"));
    new.send(publish("t", "m").qos(1, 7).bytes(Version::V5));
    new.expect(hex("40 03 0007 10"));
    new.expect_nothing();
}

#[test]
fn a_packet_id_is_free_again_after_its_puback() {
    let broker = Broker::start();
    for version in BOTH {
        let mut client = broker.connect(&connect(version, "c"));
        client.subscribe("t", 0);
        for number in 0..5 {
            client.send(publish("t", number.to_string()).qos(1, 1).bytes(version));
            let mut frames = [client.frame(), client.frame()];
            frames.sort();
            let delivery = publish("t", number.to_string()).bytes(version);
            assert_eq!(frames, [delivery, ack(PUBACK, 1)]);
        }
    }
}

/// [MQTT-4.3.2-1] [MQTT-4.3.2-2]: DUP is 0 the first time; and claim 6: never resent on the
/// same connection.
#[test]
fn a_delivery_is_sent_once_on_a_connection() {
    let broker = Broker::start();
    for version in BOTH {
        let mut subscriber = broker.connect(&durable(version, "s"));
        subscriber.subscribe("t", 1);
        broker.connect(&connect(version, "p")).publish1(1, "t", "m");
        let id = subscriber.expect_publish(&publish("t", "m").qos(1, 0));
        assert_eq!(subscriber.frame_within(Duration::from_millis(1200)), None);
        subscriber.send(ack(PUBACK, id));
        subscriber.expect_nothing();
        subscriber.leave();
        broker.resume(&durable(version, "s"), true).expect_nothing();
    }
}

/// Any reason byte in any of the lengths that the specification allows: success without a code,
/// a code without properties, a code with properties.
#[test]
fn a_puback_of_any_shape_ends_the_delivery() {
    let broker = Broker::start();
    let mut subscriber = broker.connect(&durable(Version::V5, "s"));
    subscriber.subscribe("t", 1);
    let mut publisher = broker.connect(&connect(Version::V5, "p"));
    let reason_string = prop_text(0x1F, "no");
    let long = [&[0x80, reason_string.len() as u8], reason_string.as_slice()].concat();
    for tail in [
        &[][..],
        &[0x00],
        &[0x10],
        &[0x42],
        &[0x80],
        &[0x97, 0],
        &[0xFF],
        &long,
    ] {
        publisher.publish1(1, "t", "m");
        let id = subscriber.expect_publish(&publish("t", "m").qos(1, 0));
        let size = 2 + tail.len() as u8;
        subscriber.send([&[PUBACK, size], id.to_be_bytes().as_slice(), tail].concat());
        subscriber.expect_nothing();
    }
    subscriber.leave();
    broker
        .resume(&durable(Version::V5, "s"), true)
        .expect_nothing();
}

#[test]
fn a_puback_for_an_unknown_id_changes_nothing() {
    let broker = Broker::start();
    for version in BOTH {
        let mut subscriber = broker.connect(&durable(version, "s"));
        subscriber.subscribe("t", 1);
        subscriber.send(ack(PUBACK, 77));
        subscriber.expect_nothing();
        broker.connect(&connect(version, "p")).publish1(1, "t", "m");
        let id = subscriber.expect_publish(&publish("t", "m").qos(1, 0));
        subscriber.send(ack(PUBACK, id.wrapping_add(1)));
        subscriber.expect_nothing();
        subscriber.vanish();
        let mut again = broker.resume(&durable(version, "s"), true);
        assert_eq!(
            again.expect_publish(&publish("t", "m").qos(1, 0).dup(true)),
            id
        );
        again.send(ack(PUBACK, id));
        again.leave();
    }
}

/// Claim 7: an acknowledgement of the wrong kind leaves the message pending.
#[test]
fn an_acknowledgement_of_the_wrong_kind_leaves_the_message_pending() {
    let broker = Broker::start();
    for version in BOTH {
        for wrong in [PUBREC, PUBREL, PUBCOMP] {
            let name = format!("s{wrong}");
            let mut subscriber = broker.connect(&durable(version, &name));
            subscriber.subscribe("t", 1);
            broker.connect(&connect(version, "p")).publish1(1, "t", "m");
            let id = subscriber.expect_publish(&publish("t", "m").qos(1, 0));
            subscriber.send(ack(wrong, id));
            // Whether the broker answers or closes is its own choice.
            subscriber.vanish();
            let mut again = broker.resume(&durable(version, &name), true);
            let resent = publish("t", "m").qos(1, 0).dup(true);
            assert_eq!(
                again.expect_publish(&resent),
                id,
                "{version:?} {wrong:#04x}"
            );
            again.send(ack(PUBACK, id));
            again.expect_nothing();
            again.leave();
            broker.connect(&connect(version, &name)).leave();
        }
    }
}

/// broker case 9: the client's Receive Maximum holds at the first sending and at the resending.
///
/// [MQTT-3.3.4-9]
#[test]
fn the_receive_maximum_of_a_client_is_never_exceeded() {
    let broker = Broker::start();
    for qos in [1, 2] {
        let slow = durable(Version::V5, "s").property(prop2(0x21, 3));
        let mut subscriber = broker.connect(&slow);
        subscriber.subscribe("t", qos);
        subscriber.leave();
        let mut publisher = broker.connect(&connect(Version::V5, "p"));
        for number in 1..=50 {
            publisher.publish1(number, "t", &number.to_string());
        }
        if qos == 2 {
            for number in 51..=100 {
                publisher.publish2(number, "t", &number.to_string());
            }
        }
        // Three come, and no fourth; and again the same three after a reconnect.
        let mut subscriber = broker.resume(&slow, true);
        for dup in [false, true] {
            for number in 1..=3 {
                subscriber.expect_publish(&publish("t", number.to_string()).qos(1, 0).dup(dup));
            }
            subscriber.expect_nothing();
            if !dup {
                subscriber.vanish();
                subscriber = broker.resume(&slow, true);
            }
        }
        subscriber.vanish();
        // From here every acknowledgement frees one slot, which is refilled at once.
        let mut subscriber = broker.resume(&slow, true);
        let mut open = Vec::new();
        for number in 1..=3 {
            let resent = publish("t", number.to_string()).qos(1, 0).dup(true);
            open.push(subscriber.expect_publish(&resent));
        }
        for number in 4..=50 {
            subscriber.expect_nothing();
            subscriber.send(ack(PUBACK, open.remove(0)));
            open.push(subscriber.expect_publish(&publish("t", number.to_string()).qos(1, 0)));
        }
        for id in open {
            subscriber.send(ack(PUBACK, id));
        }
        if qos == 2 {
            let second = |number: u16| publish("t", number.to_string()).qos(2, 0);
            let mut open: Vec<u16> = (51..=53)
                .map(|number| subscriber.expect_publish(&second(number)))
                .collect();
            for &id in &open {
                subscriber.send(ack(PUBREC, id));
                subscriber.expect(ack(PUBREL, id));
            }
            for number in 54..=100 {
                subscriber.expect_nothing();
                subscriber.send(ack(PUBCOMP, open.remove(0)));
                let id = subscriber.expect_publish(&second(number));
                subscriber.send(ack(PUBREC, id));
                subscriber.expect(ack(PUBREL, id));
                open.push(id);
            }
        }
        subscriber.vanish();
        broker.connect(&connect(Version::V5, "s")).leave();
    }
}

/// [MQTT-2.2.1-4]: no identifier is used for two messages at once, also past 65,535 of them.
#[test]
fn packet_ids_go_round_and_never_meet_one_in_use() {
    let broker = Broker::start();
    let mut subscriber = broker.connect(&durable(Version::V5, "s").property(prop2(0x21, 500)));
    subscriber.subscribe("t", 1);
    let (mut publisher, answer) = Client::connect(broker.address(), &connect(Version::V5, "p"));
    publisher.send(publish("t", "held").qos(1, 1).bytes(Version::V5));
    publisher.expect(ack(PUBACK, 1));
    let held = subscriber.expect_publish(&publish("t", "held").qos(1, 0));
    let batch = answer.number(0x21, 65_535).min(200) as u16;
    let mut seen = HashSet::new();
    for round in 0..66_000 / u32::from(batch) {
        let mut bytes = Vec::new();
        for id in 1..=batch {
            bytes.extend(
                publish("t", round.to_string())
                    .qos(1, id)
                    .bytes(Version::V5),
            );
        }
        publisher.send(bytes);
        let mut acks = Vec::new();
        for _ in 0..batch {
            let id = subscriber.expect_publish(&publish("t", round.to_string()).qos(1, 0));
            assert_ne!(
                id, held,
                "the identifier of a message in flight was given out again"
            );
            seen.insert(id);
            acks.extend(ack(PUBACK, id));
        }
        subscriber.send(acks);
        for id in 1..=batch {
            publisher.expect(ack(PUBACK, id));
        }
    }
    assert!(!seen.is_empty());
    subscriber.vanish();
    let mut again = broker.resume(&durable(Version::V5, "s"), true);
    assert_eq!(
        again.expect_publish(&publish("t", "held").qos(1, 0).dup(true)),
        held
    );
}
