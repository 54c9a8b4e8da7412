//! CONNECT and CONNACK, client identifiers, keep alive. Chapters 3.1 and 3.2.

mod refused;

use std::time::{Duration, Instant};

use crate::harness::{
    BOTH, Broker, Client, Version,
    wire::{
        PINGREQ, PINGRESP, PUBACK, connect, durable, hex, prop_pair, prop1, prop2, prop4, publish,
    },
};

#[test]
fn a_connect_of_3_1_1_is_answered_with_four_bytes() {
    let broker = Broker::start();
    let mut client = broker.open(Version::V311);
    client.send(hex("10 0e 0004 'MQTT' 04 02 003c 0002 'c1'"));
    client.expect(hex("20 02 00 00"));
    client.expect_nothing();
}

#[test]
fn a_connect_of_3_1_is_accepted() {
    let broker = Broker::start();
    let mut client = broker.open(Version::V311);
    client.send(hex("10 10 0006 'MQIsdp' 03 02 003c 0002 'c1'"));
    client.expect(hex("20 02 00 00"));
    client.expect_nothing();
}

/// [MQTT-3.2.2-7] to [MQTT-3.2.2-21]
#[test]
fn a_connack_of_mqtt_5_announces_limits_that_can_be_used() {
    let broker = Broker::start();
    let mut client = broker.open(Version::V5);
    client.send(hex("10 0f 0004 'MQTT' 05 02 003c 00 0002 'c1'"));
    let answer = client.connack();
    assert_eq!((answer.present, answer.code), (false, 0));
    assert!(answer.number(0x21, 65_535) > 0, "Receive Maximum");
    assert!(answer.number(0x27, 1) > 0, "Maximum Packet Size");
    assert_eq!(answer.number(0x24, 2), 2, "QoS 2 is supported");
    assert_eq!(answer.number(0x25, 1), 1, "retained messages are supported");
    assert_eq!(answer.number(0x28, 1), 1, "wildcards are supported");
    assert_eq!(
        answer.number(0x29, 1),
        1,
        "subscription identifiers are supported"
    );
    assert_eq!(answer.text(0x12), None, "the client brought an identifier");
    for (place, (id, _)) in answer.properties.iter().enumerate() {
        let again = answer
            .properties
            .iter()
            .skip(place + 1)
            .any(|(other, _)| other == id);
        assert!(!again || *id == 0x26, "property {id:#04x} comes twice");
    }
    client.expect_nothing();
}

#[test]
fn every_property_of_connect_is_understood() {
    let broker = Broker::start();
    let everything = connect(Version::V5, "c1")
        .property(prop4(0x11, 5))
        .property(prop2(0x21, 10))
        .property(prop4(0x27, 100_000))
        .property(prop2(0x22, 10))
        .property(prop1(0x19, 1))
        .property(prop1(0x17, 0))
        .property(prop_pair("a", "1"))
        .property(prop_pair("a", "2"));
    broker.connect(&everything).expect_nothing();
}

/// [MQTT-3.2.2-2] [MQTT-3.2.2-3] [MQTT311-3.2.2-1] to [MQTT311-3.2.2-3]
#[test]
fn session_present_says_whether_there_was_a_session() {
    let broker = Broker::start();
    for version in BOTH {
        let id = format!("{version:?}");
        broker.resume(&durable(version, &id), false).leave();
        broker.resume(&durable(version, &id), true).leave();
        broker
            .resume(&durable(version, &id).clean(true), false)
            .leave();
        broker.resume(&connect(version, &id), false).leave();
        broker.resume(&durable(version, &id), false).leave();
    }
}

/// [MQTT-3.1.2-4]: a session without expiry ends with its connection.
#[test]
fn a_session_without_expiry_ends_with_its_connection() {
    let broker = Broker::start();
    let plain = connect(Version::V5, "c1").clean(false);
    broker.resume(&plain, false).vanish();
    broker.resume(&plain, false).leave();
    broker.resume(&plain, false);
}

/// [MQTT311-3.1.3-8]
#[test]
fn an_empty_client_id_without_clean_session_is_refused_in_3_1_1() {
    let broker = Broker::start();
    let mut client = broker.open(Version::V311);
    client.send(hex("10 0c 0004 'MQTT' 04 00 003c 0000"));
    client.expect(hex("20 02 00 02"));
    client.expect_closed();
}

/// [MQTT311-3.1.3-6]
#[test]
fn empty_client_ids_with_clean_session_are_different_clients_in_3_1_1() {
    let broker = Broker::start();
    let mut one = broker.connect(&connect(Version::V311, ""));
    let mut two = broker.connect(&connect(Version::V311, ""));
    one.expect_nothing();
    two.expect_nothing();
}

/// [MQTT-3.1.3-6] [MQTT-3.1.3-7] [MQTT-3.2.2-16]
#[test]
fn an_assigned_client_id_is_unique_and_names_a_session() {
    let broker = Broker::start();
    let (mut one, first) = Client::connect(broker.address(), &connect(Version::V5, "").expiry(60));
    let (two, second) = Client::connect(broker.address(), &connect(Version::V5, "").expiry(60));
    let first = first.text(0x12).expect("an Assigned Client Identifier");
    let second = second.text(0x12).expect("an Assigned Client Identifier");
    assert!(!first.is_empty());
    assert_ne!(first, second);
    one.expect_nothing();
    two.leave();
    broker.resume(&connect(Version::V5, &second).clean(false), true);
}

/// [MQTT-3.1.3-5]: every string is allowed; names are data, never file names.
#[test]
fn any_client_id_names_a_session_that_survives() {
    let mut broker = Broker::start();
    let long = "x".repeat(65_535);
    let ids = [
        "/",
        "..",
        "../../etc/passwd",
        "a b",
        "caf\u{e9} \u{1f980}",
        "-IN",
        &long,
    ];
    for version in BOTH {
        for id in ids {
            let name = format!("{id}{version:?}");
            let name = name.get(name.len().saturating_sub(65_535)..).unwrap_or(id);
            let mut client = broker.resume(&durable(version, name), false);
            client.subscribe("t", 1);
            client.leave();
        }
    }
    broker
        .connect(&connect(Version::V311, "p"))
        .publish1(1, "t", "m");
    broker.crash();
    for version in BOTH {
        for id in ids {
            let name = format!("{id}{version:?}");
            let name = name.get(name.len().saturating_sub(65_535)..).unwrap_or(id);
            let mut client = broker.resume(&durable(version, name), true);
            client.expect_publish(&publish("t", "m").qos(1, 0));
        }
    }
}

#[test]
fn a_user_name_without_any_user_file_is_accepted_on_loopback() {
    let broker = Broker::start();
    for version in BOTH {
        let named = connect(version, "c1").username("u").password(b"\x00\xff");
        broker.connect(&named).expect_nothing();
    }
}

/// [MQTT-3.1.2-22] [MQTT311-3.1.2-24]
#[test]
fn a_silent_client_is_closed_after_one_and_a_half_keep_alives() {
    let broker = Broker::start();
    for version in BOTH {
        let began = Instant::now();
        let mut client = broker.connect(&connect(version, "c1").keep_alive(1));
        client.expect_disconnect(&[0x8D]);
        let waited = began.elapsed();
        assert!(
            waited >= Duration::from_millis(1400),
            "closed after {waited:?}"
        );
        assert!(waited <= Duration::from_secs(5), "closed after {waited:?}");
    }
}

#[test]
fn a_client_that_pings_outlives_its_keep_alive() {
    let broker = Broker::start();
    let mut client = broker.connect(&connect(Version::V5, "c1").keep_alive(1));
    for _ in 0..4 {
        assert_eq!(client.frame_within(Duration::from_millis(700)), None);
        client.send(PINGREQ);
        client.expect(PINGRESP);
    }
}

/// [MQTT-3.1.4-5]: what comes behind a CONNECT waits for its answer, however much it is.
#[test]
fn megabytes_behind_a_connect_are_answered_after_it() {
    let broker = Broker::start();
    let payload = vec![b'x'; 4000];
    for version in BOTH {
        for present in [false, true] {
            let mut client = broker.open(version);
            let mut bytes = durable(version, format!("{version:?}")).bytes();
            let most = 250;
            for round in 0..5 {
                for id in 1..=most {
                    let qos = u8::from(round == 0);
                    bytes.extend(publish("t", &payload).qos(qos, id).bytes(version));
                }
            }
            bytes.extend(PINGREQ);
            client.send(bytes);
            let answer = client.connack();
            assert_eq!((answer.code, answer.present), (0, present));
            for id in 1..=most {
                client.expect_ack(PUBACK, id);
            }
            client.expect(PINGRESP);
            client.leave();
        }
    }
}
