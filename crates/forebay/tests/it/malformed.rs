//! What no client may send, and what every client may: packets cut anywhere. Chapters 2 and 4.13.

use crate::harness::{
    BOTH, Broker, Client, Version,
    wire::{
        PINGREQ, PINGRESP, PUBACK, PUBCOMP, PUBREC, PUBREL, ack, connect, durable, hex, prop4,
        publish, suback, subscribe, unsuback, unsubscribe,
    },
};

/// [MQTT-2.1.3-1] [MQTT-1.5.5-1] [MQTT-3.6.1-1] [MQTT-3.14.1-1] and their kin in 3.1.1
#[test]
fn an_impossible_packet_ends_the_connection_with_its_code() {
    let broker = Broker::start();
    let cases = [
        ("type 0", "00 00"),
        ("CONNACK from a client", "20 02 00 00"),
        ("SUBACK from a client", "90 04 0001 00 00"),
        ("UNSUBACK from a client", "b0 04 0001 00 00"),
        ("PINGRESP from a client", "d0 00"),
        ("a remaining length of five bytes", "30 ff ff ff ff 01"),
        ("flags of PINGREQ", "c1 00"),
        ("a PINGREQ with a body", "c0 01 00"),
        ("flags of PUBACK", "41 02 0001"),
        ("flags of PUBREC", "52 02 0001"),
        ("flags of PUBREL", "60 02 0001"),
        ("other flags of PUBREL", "63 02 0001"),
        ("flags of PUBCOMP", "71 02 0001"),
        ("a PUBACK of one byte", "40 01 00"),
        ("a PUBREL of no bytes", "62 00"),
        ("flags of DISCONNECT", "e1 00"),
        ("flags of CONNECT", "11 0e 0004 'MQTT' 04 02 003c 0002 'c1'"),
        ("a PUBLISH of no bytes", "30 00"),
    ];
    for version in BOTH {
        for (name, bytes) in cases {
            eprintln!("{version:?}: {name}");
            let mut client = broker.connect(&connect(version, "c"));
            client.send(hex(bytes));
            client.expect_disconnect(&[0x81, 0x82]);
        }
    }
}

#[test]
fn an_impossible_packet_of_mqtt_5_ends_the_connection_with_its_code() {
    let broker = Broker::start();
    let cases = [
        ("a PUBACK whose properties are cut", "40 05 0001 00 05 1f"),
        (
            "a PUBACK with a property of PUBLISH",
            "40 06 0001 00 02 01 01",
        ),
        (
            "a PUBACK with two reason strings",
            "40 0c 0001 00 08 1f 0001 'a' 1f 0001 'b'",
        ),
        (
            "bytes after the properties of a PUBREL",
            "62 05 0001 00 00 00",
        ),
        ("a DISCONNECT whose properties are cut", "e0 02 00 05"),
        (
            "a property length of five bytes",
            "30 08 0001 't' ff ff ff ff 01",
        ),
        (
            "a property length beyond the packet",
            "30 06 0001 't' 05 01 01",
        ),
    ];
    for (name, bytes) in cases {
        eprintln!("{name}");
        let mut client = broker.connect(&connect(Version::V5, "c"));
        client.send(hex(bytes));
        client.expect_disconnect(&[0x81, 0x82]);
    }
}

/// 3.1.1 has no reasons, no properties and no AUTH.
#[test]
fn packets_of_mqtt_5_end_a_connection_of_3_1_1() {
    let broker = Broker::start();
    for bytes in ["40 03 0001 00", "62 04 0001 00 00", "e0 01 00", "f0 00"] {
        let mut client = broker.connect(&connect(Version::V311, "c"));
        client.send(hex(bytes));
        client.expect_closed();
    }
}

/// Nothing that came before the mistake is lost.
#[test]
fn what_came_before_a_mistake_was_handled() {
    let broker = Broker::start();
    for version in BOTH {
        let mut subscriber = broker.connect(&connect(version, "s"));
        subscriber.subscribe("t", 0);
        let mut client = broker.connect(&connect(version, "c"));
        client.send([publish("t", "m").bytes(version), hex("00 00")].concat());
        client.expect_disconnect(&[0x81, 0x82]);
        subscriber.expect_publish(&publish("t", "m"));
    }
}

/// [MQTT-3.2.2-15] binds the client; 0x95 is the server's word for it.
#[test]
fn a_packet_above_our_maximum_is_refused_by_its_header() {
    let broker = Broker::start();
    let (mut client, answer) = Client::connect(broker.address(), &connect(Version::V5, "c"));
    let most = answer.number(0x27, 0);
    if most == 0 || most > 268_435_455 {
        return;
    }
    let length = crate::harness::wire::var(most as usize + 1);
    client.send([&[0x30], length.as_slice(), &hex("0001 't'")].concat());
    client.expect_disconnect(&[0x95]);
    let mut old = broker.connect(&connect(Version::V311, "d"));
    old.send([&[0x30], length.as_slice(), &hex("0001 't'")].concat());
    old.expect_closed();
}

/// What a whole session's worth of packets is answered with, apart from the CONNACK.
fn conversation(version: Version) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let expiry = prop4(0x02, 9000);
    let sent = vec![
        connect(version, "split")
            .username("u")
            .password(b"p")
            .bytes(),
        subscribe(version, 0x0101, &[("a/+", 0), ("b", 0)]),
        publish("a/b", "zero").bytes(version),
        publish("b", "one").qos(1, 0x0102).bytes(version),
        publish("a/c", "two")
            .qos(2, 0x0103)
            .property(expiry)
            .bytes(version),
        publish("a/d", "x".repeat(150)).bytes(version),
        ack(PUBREL, 0x0103),
        unsubscribe(version, 0x0104, &["b"]),
        PINGREQ.to_vec(),
    ];
    let mut answers = vec![
        suback(version, 0x0101, &[0, 0]),
        publish("a/b", "zero").bytes(version),
        publish("b", "one").bytes(version),
        ack(PUBACK, 0x0102),
        ack(PUBREC, 0x0103),
        ack(PUBCOMP, 0x0103),
        publish("a/c", "two")
            .property(prop4(0x02, 9000))
            .bytes(version),
        publish("a/d", "x".repeat(150)).bytes(version),
        unsuback(version, 0x0104, &[0]),
        PINGRESP.to_vec(),
    ];
    answers.sort();
    (sent, answers)
}

#[track_caller]
fn expect_conversation(client: &mut Client, wanted: &[Vec<u8>]) {
    assert_eq!(client.connack().code, 0);
    let mut got: Vec<Vec<u8>> = wanted.iter().map(|_| client.frame()).collect();
    got.sort();
    // A second may have gone by since the message came in.
    let counted = prop4(0x02, 8999);
    for frame in &mut got {
        if let Some(at) = frame.windows(5).position(|part| part == counted) {
            frame.splice(at..at + 5, prop4(0x02, 9000));
        }
    }
    got.sort();
    assert_eq!(got, wanted);
    client.expect_nothing();
}

#[test]
fn packets_may_come_all_at_once() {
    let broker = Broker::start();
    for version in BOTH {
        let (sent, wanted) = conversation(version);
        let mut client = broker.open(version);
        client.send(sent.concat());
        expect_conversation(&mut client, &wanted);
    }
}

#[test]
fn packets_may_be_split_at_every_byte() {
    let broker = Broker::start();
    // A round trip of another client lets the broker read what was sent before.
    let mut pacer = broker.connect(&connect(Version::V5, "pacer"));
    for version in BOTH {
        let (sent, wanted) = conversation(version);
        let bytes = sent.concat();
        for at in 1..bytes.len() {
            let mut client = broker.open(version);
            client.send(&bytes[..at]);
            pacer.expect_nothing();
            client.send(&bytes[at..]);
            expect_conversation(&mut client, &wanted);
        }
    }
}

#[test]
fn packets_may_come_byte_by_byte() {
    let broker = Broker::start();
    let mut pacer = broker.connect(&connect(Version::V5, "pacer"));
    for version in BOTH {
        let (sent, wanted) = conversation(version);
        let mut client = broker.open(version);
        for byte in sent.concat() {
            client.send([byte]);
            pacer.expect_nothing();
        }
        expect_conversation(&mut client, &wanted);
    }
}

/// A connection that ends inside a packet is an end without a word: what was whole counts.
#[test]
fn a_connection_may_end_inside_any_packet() {
    let broker = Broker::start();
    let mut audience = broker.connect(&connect(Version::V5, "audience"));
    audience.subscribe("will", 0);
    for version in BOTH {
        let start = connect(version, "c").will(publish("will", "gone"), &[]);
        let half = publish("t", "m").qos(1, 1).bytes(version);
        for at in 1..half.len() {
            let mut client = broker.connect(&start);
            client.send(&half[..at]);
            client.vanish();
            audience.expect_publish(&publish("will", "gone"));
        }
    }
}

/// Random bytes after a CONNECT: whatever they are, the broker goes on for everyone else.
#[test]
fn noise_never_stops_the_broker() {
    let seed = crate::harness::random_seed();
    eprintln!("FOREBAY_SEED={seed}");
    let mut random = crate::harness::Random::new(seed);
    let broker = Broker::start();
    let mut steady = broker.connect(&durable(Version::V5, "steady"));
    for round in 0..300 {
        let version = BOTH[round % 2];
        let (sent, _) = conversation(version);
        let mut bytes = sent.concat();
        for _ in 0..random.range(1, 6) {
            let at = random.range(0, bytes.len() as u64) as usize;
            match random.next() % 3 {
                0 => bytes[at] = random.next() as u8,
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, random.next() as u8),
            }
        }
        let mut client = broker.open(version);
        client.send_anyway(&bytes);
        client.abandon();
        steady.expect_nothing();
    }
    steady.publish2(1, "t", "still here");
}
