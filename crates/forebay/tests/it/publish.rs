//! PUBLISH and its way from one client to others. Chapter 3.3.

use crate::harness::{
    BOTH, Broker, Client, Delivery, Version,
    wire::{connect, hex, prop_pair, prop_text, prop1, prop2, prop4, publish, text},
};

#[test]
fn a_qos_0_message_arrives_with_exact_bytes_in_both_versions() {
    let broker = Broker::start();
    let mut old = broker.connect(&connect(Version::V311, "old"));
    let mut new = broker.connect(&connect(Version::V5, "new"));
    old.subscribe("a/b", 0);
    new.subscribe("a/b", 0);
    for version in BOTH {
        let mut publisher = broker.connect(&connect(version, "p"));
        publisher.send(match version {
            Version::V311 => hex("30 0a 0003 'a/b' 'hello'"),
            Version::V5 => hex("30 0b 0003 'a/b' 00 'hello'"),
        });
        publisher.expect_nothing();
        old.expect(hex("30 0a 0003 'a/b' 'hello'"));
        new.expect(hex("30 0b 0003 'a/b' 00 'hello'"));
    }
    old.expect_nothing();
    new.expect_nothing();
}

/// [MQTT-3.8.4-8]: the lower of the QoS published and the QoS granted.
#[test]
fn a_message_is_delivered_with_the_lower_of_both_qos() {
    let broker = Broker::start();
    for version in BOTH {
        for granted in 0..=2 {
            let mut subscriber = broker.connect(&connect(version, "s"));
            subscriber.subscribe("t", granted);
            for published in 0..=2 {
                let mut publisher = broker.connect(&connect(version, "p"));
                match published {
                    0 => publisher.publish0("t", "m"),
                    1 => publisher.publish1(1, "t", "m"),
                    _ => publisher.publish2(1, "t", "m"),
                }
                let wanted = publish("t", "m").qos(granted.min(published), 0);
                match wanted.qos {
                    2 => drop(subscriber.receive2(&wanted)),
                    1 => {
                        let id = subscriber.expect_publish(&wanted);
                        subscriber.send(crate::harness::wire::ack(0x40, id));
                    }
                    _ => drop(subscriber.expect_publish(&wanted)),
                }
                subscriber.expect_nothing();
            }
        }
    }
}

#[test]
fn an_empty_payload_is_a_message() {
    let broker = Broker::start();
    for version in BOTH {
        let mut client = broker.connect(&connect(version, "c"));
        client.subscribe("t", 0);
        client.send(publish("t", "").bytes(version));
        client.expect(publish("t", "").bytes(version));
    }
}

/// Table 2-1: a remaining length takes one to four bytes.
#[test]
fn payloads_around_every_size_of_the_remaining_length_arrive_whole() {
    let broker = Broker::start();
    for version in BOTH {
        let (mut client, answer) = Client::connect(broker.address(), &connect(version, "c"));
        let most = answer.number(0x27, u64::from(u32::MAX));
        client.subscribe("t", 0);
        for remaining in [
            126, 127, 128, 129, 16_383, 16_384, 65_536, 200_000, 2_097_151, 2_097_152,
        ] {
            if remaining + 5 > most {
                continue;
            }
            let overhead = if version == Version::V5 { 4 } else { 3 };
            let payload: Vec<u8> = (0..remaining - overhead)
                .map(|at| (at % 251) as u8)
                .collect();
            let message = publish("t", &payload);
            client.send(message.bytes(version));
            client.expect_publish(&message);
        }
    }
}

/// [MQTT-3.3.2-4] [MQTT-3.3.2-15] [MQTT-3.3.2-16] [MQTT-3.3.2-17] [MQTT-3.3.2-18] [MQTT-3.3.2-20]
#[test]
fn the_properties_of_a_message_are_passed_on_unchanged() {
    let broker = Broker::start();
    let mut new = broker.connect(&connect(Version::V5, "new"));
    let mut old = broker.connect(&connect(Version::V311, "old"));
    new.subscribe("t", 1);
    old.subscribe("t", 1);
    let properties = [
        prop1(0x01, 1),
        prop_text(0x03, "text/plain"),
        prop_text(0x08, "answers/here"),
        prop_text(0x09, [0, 1, 2, 255]),
        prop_pair("b", "2"),
        prop_pair("a", "1"),
        prop_pair("b", "2"),
        prop_pair("", ""),
    ];
    let mut message = publish("t", "m").qos(1, 9);
    for property in &properties {
        message = message.property(property);
    }
    let mut publisher = broker.connect(&connect(Version::V5, "p"));
    publisher.send(message.bytes(Version::V5));
    publisher.expect_ack(0x40, 9);

    let got = new.delivery();
    let user = |list: &[(u8, Vec<u8>)]| -> Vec<Vec<u8>> {
        list.iter()
            .filter(|(id, _)| *id == 0x26)
            .map(|(_, raw)| raw.clone())
            .collect()
    };
    let wanted: Vec<Vec<u8>> = properties[4..]
        .iter()
        .map(|raw| raw[1..].to_vec())
        .collect();
    assert_eq!(
        user(&got.properties),
        wanted,
        "user properties in their order"
    );
    let mut single: Vec<_> = got
        .properties
        .into_iter()
        .filter(|(id, _)| *id != 0x26)
        .collect();
    single.sort();
    assert_eq!(
        single,
        [
            (0x01, vec![1]),
            (0x03, text("text/plain")),
            (0x08, text("answers/here")),
            (0x09, text([0, 1, 2, 255])),
        ]
    );
    old.expect_publish(&publish("t", "m").qos(1, 0));
}

/// [MQTT-4.6.0-5] [MQTT-4.6.0-6]
#[test]
fn messages_of_one_publisher_arrive_in_order() {
    let broker = Broker::start();
    for version in BOTH {
        for qos in 0..=2 {
            let mut subscriber = broker.connect(&connect(version, "s"));
            let mut publisher = broker.connect(&connect(version, "p"));
            subscriber.subscribe("t", 0);
            let mut all = Vec::new();
            for number in 1..=20_u16 {
                all.extend(
                    publish("t", number.to_string())
                        .qos(qos, number)
                        .bytes(version),
                );
            }
            publisher.send(all);
            for number in 1..=20 {
                match qos {
                    1 => publisher.expect_ack(0x40, number),
                    2 => {
                        publisher.expect_ack(0x50, number);
                        publisher.send(crate::harness::wire::ack(0x62, number));
                    }
                    _ => {}
                }
            }
            for number in 1..=20 {
                subscriber.expect_publish(&publish("t", number.to_string()));
            }
        }
    }
}

/// [MQTT-3.3.1-2] [MQTT-3.3.1-4] [MQTT-3.3.2-2] [MQTT-3.3.2-8] [MQTT-2.2.1-3] [MQTT-4.7.3-1]
/// [MQTT-4.7.3-2] [MQTT-3.3.4-6]
#[test]
fn an_impossible_publish_ends_the_connection_and_reaches_nobody() {
    let broker = Broker::start();
    let cases = [
        ("QoS 3", "36", "0001 't' 0001 [] 'm'", [0x81, 0x82]),
        ("DUP with QoS 0", "38", "0001 't' [] 'm'", [0x81, 0x82]),
        (
            "packet identifier 0",
            "32",
            "0001 't' 0000 [] 'm'",
            [0x81, 0x82],
        ),
        ("a # in the topic", "30", "0003 't/#' [] 'm'", [0x81, 0x90]),
        ("a + in the topic", "30", "0003 '+/t' [] 'm'", [0x81, 0x90]),
        (
            "U+0000 in the topic",
            "30",
            "0002 't' 00 [] 'm'",
            [0x81, 0x90],
        ),
        (
            "a topic that is no UTF-8",
            "30",
            "0002 c3 28 [] 'm'",
            [0x81, 0x90],
        ),
        ("no topic", "30", "0000 [] 'm'", [0x82, 0x90]),
        ("a topic that is cut", "30", "0009 't'", [0x81, 0x82]),
        (
            "a packet identifier that is cut",
            "32",
            "0001 't' 00",
            [0x81, 0x82],
        ),
    ];
    for version in BOTH {
        let mut subscriber = broker.connect(&connect(version, "s"));
        subscriber.subscribe("#", 2);
        for (name, first, rest, reasons) in cases {
            eprintln!("{version:?}: {name}");
            let none = if version == Version::V5 { "00" } else { "" };
            let bytes = hex(&rest.replace("[]", none));
            let mut client = broker.connect(&connect(version, "c"));
            client.send([hex(first), vec![bytes.len() as u8], bytes].concat());
            client.expect_disconnect(&reasons);
        }
        subscriber.expect_nothing();
    }
}

/// [MQTT-3.3.2-7] [MQTT-3.3.2-9] [MQTT-3.3.2-13] [MQTT-3.3.2-14] [MQTT-3.3.4-6]
#[test]
fn a_publish_with_impossible_properties_ends_the_connection() {
    let broker = Broker::start();
    let cases: [(&str, Vec<u8>, u8); 8] = [
        ("a topic alias of 0", prop2(0x23, 0), 0x94),
        ("a topic alias above the maximum", prop2(0x23, 65_535), 0x94),
        (
            "a subscription identifier from a client",
            hex("0b 01"),
            0x82,
        ),
        (
            "message expiry twice",
            [prop4(0x02, 1), prop4(0x02, 1)].concat(),
            0x82,
        ),
        ("payload format 2", prop1(0x01, 2), 0x82),
        (
            "a wildcard in the response topic",
            prop_text(0x08, "a/#"),
            0x90,
        ),
        ("a property of CONNECT", prop4(0x11, 1), 0x82),
        ("a property that is cut", hex("02 00 00"), 0x81),
    ];
    for (name, properties, reason) in cases {
        eprintln!("{name}");
        let mut client = broker.connect(&connect(Version::V5, "c"));
        client.send(publish("t", "m").property(properties).bytes(Version::V5));
        client.expect_disconnect(&[reason, 0x81]);
    }
}

/// Claim 17: a subscriber that stops reading never holds up the others.
#[test]
fn a_subscriber_that_stops_reading_does_not_hold_up_others() {
    let broker = Broker::start();
    let mut deaf = broker.connect(&connect(Version::V311, "deaf"));
    deaf.subscribe("t", 0);
    let mut other = broker.connect(&connect(Version::V311, "other"));
    other.subscribe("t", 0);
    let mut publisher = broker.connect(&connect(Version::V311, "p"));
    let payload = vec![b'x'; 8000];
    for _ in 0..40 {
        let batch = publish("t", &payload).bytes(Version::V311).repeat(50);
        publisher.send(batch);
        for _ in 0..50 {
            other.expect_publish(&publish("t", &payload));
        }
    }
    publisher.expect_nothing();
}

#[test]
fn a_qos_0_message_for_nobody_is_gone() {
    let broker = Broker::start();
    for version in BOTH {
        let mut client = broker.connect(&connect(version, "c"));
        client.publish0("t", "m");
        client.subscribe("t", 0);
        client.expect_nothing();
    }
}

#[test]
fn a_publisher_receives_its_own_messages_if_it_subscribed() {
    let broker = Broker::start();
    for version in BOTH {
        let mut client = broker.connect(&connect(version, "c"));
        client.subscribe("t", 0);
        client.send(publish("t", "m").bytes(version));
        let frame = client.frame();
        let got = Delivery::read(&frame, version).expect("a PUBLISH");
        assert_eq!(
            (got.text().as_str(), got.retain, got.dup),
            ("m", false, false)
        );
    }
}
