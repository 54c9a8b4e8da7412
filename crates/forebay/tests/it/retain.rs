//! Retained messages. Chapter 3.3.1.3.

use crate::harness::{
    BOTH, Broker, Version,
    wire::{
        PUBACK, ack, connect, durable, prop_pair, prop_text, publish, suback, subscribe, unsuback,
        unsubscribe,
    },
};

/// [MQTT-3.3.1-5] [MQTT-3.3.1-8] [MQTT-3.3.1-9] [MQTT-3.3.1-12]
#[test]
fn a_retained_message_comes_with_retain_to_new_subscriptions_and_without_to_old_ones() {
    let broker = Broker::start();
    for version in BOTH {
        let topic = format!("{version:?}");
        let mut early = broker.connect(&connect(version, "early"));
        early.subscribe(&topic, 0);
        let mut publisher = broker.connect(&connect(version, "p"));
        publisher.send(publish(&topic, "m").retain(true).bytes(version));
        publisher.expect_nothing();
        early.expect_publish(&publish(&topic, "m"));
        early.expect_nothing();
        let mut late = broker.connect(&connect(version, "late"));
        late.subscribe(&topic, 0);
        late.expect_publish(&publish(&topic, "m").retain(true));
        late.expect_nothing();
        // Again at every subscribe, also to the same filter.
        late.subscribe(&topic, 0);
        late.expect_publish(&publish(&topic, "m").retain(true));
        late.expect_nothing();
    }
}

/// [MQTT-3.3.1-6] [MQTT-3.3.1-7]: an empty payload clears, is forwarded, and is not kept.
#[test]
fn an_empty_payload_clears_and_is_still_forwarded() {
    let broker = Broker::start();
    for version in BOTH {
        let mut client = broker.connect(&connect(version, "c"));
        client.send(publish("t", "m").retain(true).qos(1, 1).bytes(version));
        client.expect_ack(PUBACK, 1);
        client.subscribe("t", 0);
        client.expect_publish(&publish("t", "m").retain(true));
        client.send(publish("t", "").retain(true).bytes(version));
        client.expect_publish(&publish("t", ""));
        client.subscribe("t", 0);
        client.expect_nothing();
    }
}

/// [MQTT-3.3.1-5]
#[test]
fn the_newest_retained_message_replaces_the_one_before() {
    let broker = Broker::start();
    for version in BOTH {
        let mut client = broker.connect(&connect(version, "c"));
        for qos in [1, 2, 1] {
            let payload = format!("qos {qos}");
            client.send(
                publish("t", &payload)
                    .retain(true)
                    .qos(qos, 1)
                    .bytes(version),
            );
            client.expect_ack(if qos == 1 { PUBACK } else { 0x50 }, 1);
            if qos == 2 {
                client.send(ack(0x62, 1));
                client.expect(ack(0x70, 1));
            }
            client.subscribe("t", 0);
            client.expect_publish(&publish("t", &payload).retain(true));
            client.expect_nothing();
            client.send(unsubscribe(version, 9, &["t"]));
            client.expect(unsuback(version, 9, &[0]));
        }
    }
}

#[test]
fn a_message_without_retain_neither_replaces_nor_clears() {
    let broker = Broker::start();
    for version in BOTH {
        let mut client = broker.connect(&connect(version, "c"));
        client.send(publish("t", "kept").retain(true).bytes(version));
        client.send(publish("t", "other").bytes(version));
        client.send(publish("t", "").bytes(version));
        client.expect_nothing();
        client.subscribe("t", 0);
        client.expect_publish(&publish("t", "kept").retain(true));
        client.expect_nothing();
    }
}

/// [MQTT-3.8.4-8] holds for retained messages too.
#[test]
fn a_retained_message_comes_with_the_lower_of_both_qos() {
    let broker = Broker::start();
    for version in BOTH {
        let mut publisher = broker.connect(&connect(version, "p"));
        for published in 0..=2_u8 {
            let message = publish("t", "m").retain(true).qos(published, 1);
            publisher.send(message.bytes(version));
            match published {
                0 => publisher.expect_nothing(),
                1 => publisher.expect_ack(PUBACK, 1),
                _ => {
                    publisher.expect_ack(0x50, 1);
                    publisher.send(ack(0x62, 1));
                    publisher.expect(ack(0x70, 1));
                }
            }
            for granted in 0..=2 {
                let mut subscriber = broker.connect(&connect(version, "s"));
                subscriber.subscribe("t", granted);
                let wanted = publish("t", "m")
                    .retain(true)
                    .qos(granted.min(published), 0);
                subscriber.expect_publish(&wanted);
                subscriber.expect_nothing();
            }
        }
    }
}

/// [MQTT-3.3.1-9] [MQTT-3.3.1-10] [MQTT-3.3.1-11]
#[test]
fn retain_handling_decides_when_retained_messages_come() {
    let broker = Broker::start();
    let mut client = broker.connect(&connect(Version::V5, "c"));
    client.send(publish("t", "m").retain(true).bytes(Version::V5));
    let mut step = |options: u8, comes: bool| {
        client.send(subscribe(Version::V5, 1, &[("t", options)]));
        client.expect(suback(Version::V5, 1, &[options & 3]));
        if comes {
            client.expect_publish(&publish("t", "m").retain(true));
        }
        client.expect_nothing();
    };
    step(0x20, false);
    step(0x10, false);
    step(0x00, true);
    step(0x10, false);
    client.send(unsubscribe(Version::V5, 2, &["t"]));
    client.expect(unsuback(Version::V5, 2, &[0]));
    client.send(subscribe(Version::V5, 1, &[("t", 0x10)]));
    client.expect(suback(Version::V5, 1, &[0]));
    client.expect_publish(&publish("t", "m").retain(true));
    client.expect_nothing();
}

/// [MQTT-3.3.1-12] [MQTT-3.3.1-13]
#[test]
fn retain_as_published_keeps_the_flag() {
    let broker = Broker::start();
    let mut client = broker.connect(&connect(Version::V5, "c"));
    client.send(subscribe(Version::V5, 1, &[("t", 0x08)]));
    client.expect(suback(Version::V5, 1, &[0]));
    client.send(publish("t", "with").retain(true).bytes(Version::V5));
    client.expect_publish(&publish("t", "with").retain(true));
    client.send(publish("t", "without").bytes(Version::V5));
    client.expect_publish(&publish("t", "without"));
    client.send(publish("t", "").retain(true).bytes(Version::V5));
    client.expect_publish(&publish("t", "").retain(true));
}

/// [MQTT-4.7.2-1] holds for retained messages too.
#[test]
fn a_wildcard_brings_every_retained_message_that_matches() {
    let broker = Broker::start();
    for version in BOTH {
        let mut client = broker.connect(&connect(version, "c"));
        let topics = ["a", "a/b", "a/b/c", "a/$c", "d", "$hidden/x"];
        for topic in topics {
            client.send(publish(topic, topic).retain(true).bytes(version));
        }
        client.expect_nothing();
        for (filter, wanted) in [
            ("#", vec!["a", "a/$c", "a/b", "a/b/c", "d"]),
            ("a/#", vec!["a", "a/$c", "a/b", "a/b/c"]),
            ("a/+", vec!["a/$c", "a/b"]),
            ("+", vec!["a", "d"]),
            ("$hidden/#", vec!["$hidden/x"]),
            ("nothing/+", vec![]),
        ] {
            client.subscribe(filter, 0);
            let mut got: Vec<String> = client
                .drain()
                .iter()
                .map(|frame| {
                    let delivery = crate::harness::Delivery::read(frame, version).expect("PUBLISH");
                    assert!(delivery.retain);
                    assert_eq!(delivery.text(), delivery.topic);
                    delivery.topic
                })
                .collect();
            got.sort();
            assert_eq!(got, wanted, "{filter}");
            client.send(unsubscribe(version, 9, &[filter]));
            client.expect(unsuback(version, 9, &[0]));
        }
        for topic in topics {
            client.send(publish(topic, "").retain(true).bytes(version));
        }
        client.expect_nothing();
    }
}

/// Claim 15: what was acknowledged as set, replaced or cleared is so after a crash.
#[test]
fn retained_messages_survive_a_crash_and_cleared_ones_stay_cleared() {
    let mut broker = Broker::start();
    let mut publisher = broker.connect(&connect(Version::V5, "p"));
    let rich = publish("rich", "m")
        .retain(true)
        .qos(1, 1)
        .property(prop_text(0x03, "text/plain"))
        .property(prop_pair("k", "v"));
    publisher.send(rich.bytes(Version::V5));
    publisher.expect_ack(PUBACK, 1);
    for (id, topic, payload) in [
        (2, "gone", "m"),
        (3, "gone", ""),
        (4, "new", "one"),
        (5, "new", "two"),
        (6, "last", "z"),
    ] {
        publisher.send(
            publish(topic, payload)
                .retain(true)
                .qos(1, id)
                .bytes(Version::V5),
        );
        publisher.expect_ack(PUBACK, id);
    }
    for _ in 0..2 {
        broker.crash();
        let mut client = broker.connect(&connect(Version::V5, "c"));
        client.subscribe("rich", 0);
        let got = client.delivery();
        assert!(got.retain);
        let mut properties = got.properties;
        properties.sort();
        let wanted = [prop_text(0x03, "text/plain"), prop_pair("k", "v")];
        assert_eq!(properties, wanted.map(|raw| (raw[0], raw[1..].to_vec())));
        client.subscribe("gone", 0);
        client.expect_nothing();
        client.subscribe("new", 0);
        client.expect_publish(&publish("new", "two").retain(true));
        client.subscribe("last", 0);
        client.expect_publish(&publish("last", "z").retain(true));
        client.expect_nothing();
    }
}

/// A retained message that a session could not take while it was away waits like any other, with
/// the flag of the subscription.
#[test]
fn a_retained_message_for_a_session_that_is_away_is_queued_without_retain() {
    let mut broker = Broker::start();
    for version in BOTH {
        let name = durable(version, format!("s{version:?}"));
        let mut subscriber = broker.connect(&name);
        subscriber.subscribe("t", 1);
        // What an earlier round retained comes now.
        for frame in subscriber.drain() {
            let id = crate::harness::Delivery::read(&frame, version)
                .expect("PUBLISH")
                .id;
            subscriber.send(ack(PUBACK, id));
        }
        subscriber.leave();
        let mut publisher = broker.connect(&connect(version, "p"));
        publisher.send(publish("t", "m").retain(true).qos(1, 1).bytes(version));
        publisher.expect(ack(PUBACK, 1));
        broker.crash();
        let mut subscriber = broker.resume(&name, true);
        let id = subscriber.expect_publish(&publish("t", "m").qos(1, 0));
        subscriber.send(ack(PUBACK, id));
        subscriber.expect_nothing();
        subscriber.leave();
        broker
            .connect(&connect(version, format!("s{version:?}")))
            .leave();
    }
}
