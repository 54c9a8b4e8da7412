//! SUBSCRIBE, UNSUBSCRIBE and which topics a filter takes. Chapters 3.8 to 3.11, 4.7.

use crate::harness::{
    BOTH, Broker, Client, Version,
    wire::{
        ack, connect, durable, hex, packet, publish, suback, subscribe, subscribe_with, text,
        unsuback, unsubscribe, var,
    },
};

/// [MQTT-3.8.4-1] [MQTT-3.8.4-2] [MQTT-3.8.4-6]
#[test]
fn a_suback_has_one_verdict_a_filter_in_order() {
    let broker = Broker::start();
    let mut old = broker.connect(&connect(Version::V311, "old"));
    old.send(hex("82 0e 1234 0001 'a' 02 0001 'b' 00 0001 'c' 01"));
    old.expect(hex("90 05 1234 02 00 01"));
    let mut new = broker.connect(&connect(Version::V5, "new"));
    new.send(hex("82 0f 1234 00 0001 'a' 02 0001 'b' 00 0001 'c' 01"));
    new.expect(hex("90 06 1234 00 02 00 01"));
    new.expect_nothing();
}

/// [MQTT-3.10.4-4] [MQTT-3.10.4-5] [MQTT-3.11.3-1]
#[test]
fn an_unsuback_answers_every_filter() {
    let broker = Broker::start();
    for version in BOTH {
        let mut client = broker.connect(&connect(version, "c"));
        client.subscribe("a", 0);
        client.send(unsubscribe(version, 0x0102, &["a", "b", "a"]));
        client.expect(unsuback(version, 0x0102, &[0x00, 0x11, 0x11]));
        client.publish0("a", "m");
        client.expect_nothing();
    }
}

/// [MQTT-3.10.4-1]: filters are compared character by character.
#[test]
fn an_unsubscribe_takes_only_the_very_filter() {
    let broker = Broker::start();
    for version in BOTH {
        let mut client = broker.connect(&connect(version, "c"));
        client.subscribe("a/+", 0);
        client.send(unsubscribe(version, 1, &["a/b", "a/#", "#"]));
        client.expect(unsuback(version, 1, &[0x11, 0x11, 0x11]));
        client.send(publish("a/b", "m").bytes(version));
        client.expect_publish(&publish("a/b", "m"));
    }
}

/// Chapter 4.7, with the examples of the specification. [MQTT-4.7.1-1] to [MQTT-4.7.3-4]
#[test]
fn filters_take_the_topics_that_the_specification_says() {
    const TABLE: &[(&str, &str, bool)] = &[
        ("sport/tennis/player1/#", "sport/tennis/player1", true),
        (
            "sport/tennis/player1/#",
            "sport/tennis/player1/ranking",
            true,
        ),
        (
            "sport/tennis/player1/#",
            "sport/tennis/player1/score/wimbledon",
            true,
        ),
        ("sport/tennis/player1/#", "sport/tennis/player2", false),
        ("sport/#", "sport", true),
        ("sport/#", "sports", false),
        ("#", "a", true),
        ("#", "/", true),
        ("#", "/a/b", true),
        ("sport/tennis/+", "sport/tennis/player1", true),
        ("sport/tennis/+", "sport/tennis/player1/ranking", false),
        ("sport/tennis/+", "sport/tennis", false),
        ("sport/+", "sport", false),
        ("sport/+", "sport/", true),
        ("+", "a", true),
        ("+", "/a", false),
        ("+/tennis/#", "a/tennis/b/c", true),
        ("+/+", "/finance", true),
        ("/+", "/finance", true),
        ("+", "/finance", false),
        ("a/+/c", "a//c", true),
        ("a//c", "a//c", true),
        ("a//c", "a/c", false),
        ("a", "A", false),
        ("a", "a/", false),
        ("/a", "a", false),
        ("+/+/+", "//", true),
        ("#", "$forebay/test", false),
        ("+/test", "$forebay/test", false),
        ("+/#", "$forebay/test", false),
        ("$forebay/#", "$forebay/test", true),
        ("$forebay/+", "$forebay/test", true),
        ("a/$b", "a/$b", true),
        ("a/+", "a/$b", true),
        ("#", "a/$b", true),
        ("caf\u{e9}/+", "caf\u{e9}/\u{1f980}", true),
    ];
    let broker = Broker::start();
    for version in BOTH {
        let mut client = broker.connect(&connect(version, "c"));
        for (filter, topic, matches) in TABLE {
            client.subscribe(filter, 0);
            client.send(publish(topic, "m").bytes(version));
            let wanted = if *matches {
                vec![publish(topic, "m").bytes(version)]
            } else {
                vec![]
            };
            assert_eq!(client.drain(), wanted, "{filter} {topic}");
            client.send(unsubscribe(version, 9, &[filter]));
            client.expect(unsuback(version, 9, &[0]));
        }
    }
}

/// [MQTT-4.7.1-1] [MQTT-4.7.1-2]; the others of the same packet are granted.
#[test]
fn a_filter_with_a_misplaced_wildcard_is_refused_alone() {
    let broker = Broker::start();
    for version in BOTH {
        let mut client = broker.connect(&connect(version, "c"));
        let refusal = if version == Version::V5 { 0x8F } else { 0x80 };
        for wrong in ["a#", "#a", "a/#/b", "a+", "+a", "a/b+/c", "##", "a/++"] {
            client.send(subscribe(version, 3, &[("x", 1), (wrong, 1), ("y", 2)]));
            client.expect(suback(version, 3, &[1, refusal, 2]));
        }
        client.expect_nothing();
    }
}

/// [MQTT-3.8.4-3]: a subscription to the same filter replaces the first.
#[test]
fn a_second_subscription_to_a_filter_replaces_the_first() {
    let broker = Broker::start();
    for version in BOTH {
        let mut client = broker.connect(&connect(version, "c"));
        client.subscribe("t", 1);
        client.subscribe("t", 0);
        broker.connect(&connect(version, "p")).publish1(1, "t", "m");
        client.expect_publish(&publish("t", "m"));
        client.expect_nothing();
    }
}

/// [MQTT-3.3.4-2]: one copy, with the highest QoS of the subscriptions that match.
#[test]
fn overlapping_subscriptions_give_one_copy_with_the_highest_qos() {
    let broker = Broker::start();
    for version in BOTH {
        let mut client = broker.connect(&connect(version, "c"));
        client.send(subscribe(version, 1, &[("a/#", 0), ("a/+", 1), ("a/b", 0)]));
        client.expect(suback(version, 1, &[0, 1, 0]));
        broker
            .connect(&connect(version, "p"))
            .publish2(1, "a/b", "m");
        client.expect_publish(&publish("a/b", "m").qos(1, 0));
        client.expect_nothing();
    }
}

/// [MQTT-3.3.4-3] [MQTT-3.3.4-4]
#[test]
fn the_subscription_identifiers_of_all_that_match_come_along() {
    let broker = Broker::start();
    let mut client = broker.connect(&connect(Version::V5, "c"));
    for (filter, id) in [("a/#", 1), ("a/+", 268_435_455), ("x", 7), ("a/b", 200)] {
        let property = [vec![0x0B], var(id)].concat();
        client.send(subscribe_with(Version::V5, 1, &property, &[(filter, 0)]));
        client.expect(suback(Version::V5, 1, &[0]));
    }
    client.subscribe("#", 0);
    client.send(publish("a/b", "m").bytes(Version::V5));
    let got = client.delivery();
    let mut ids = got.properties;
    ids.sort();
    let mut wanted = [(0x0B, var(1)), (0x0B, var(268_435_455)), (0x0B, var(200))];
    wanted.sort();
    assert_eq!(ids, wanted);
    client.send(publish("x", "m").bytes(Version::V5));
    client.expect_publish(&publish("x", "m").property([0x0B, 7]));
    client.expect_nothing();
}

/// [MQTT-3.8.3-3]
#[test]
fn no_local_keeps_a_clients_own_messages_from_it() {
    let broker = Broker::start();
    let mut client = broker.connect(&connect(Version::V5, "c"));
    client.send(subscribe(Version::V5, 1, &[("t", 0x04)]));
    client.expect(suback(Version::V5, 1, &[0]));
    client.publish0("t", "mine");
    client.expect_nothing();
    broker
        .connect(&connect(Version::V5, "p"))
        .publish0("t", "theirs");
    client.expect_publish(&publish("t", "theirs"));
}

/// [MQTT-3.8.3-1] to [MQTT-3.8.3-5], [MQTT-3.8.1-1], [MQTT-3.10.1-1], [MQTT-3.10.3-2],
/// [MQTT-2.2.1-3], [MQTT-4.7.3-1]
#[test]
fn an_impossible_subscribe_or_unsubscribe_ends_the_connection() {
    let broker = Broker::start();
    let both: [(&str, u8, &str); 14] = [
        ("flags of SUBSCRIBE", 0x80, "0001 [] 0001 't' 00"),
        ("other flags of SUBSCRIBE", 0x83, "0001 [] 0001 't' 00"),
        ("SUBSCRIBE without a filter", 0x82, "0001 []"),
        ("SUBSCRIBE with identifier 0", 0x82, "0000 [] 0001 't' 00"),
        ("an empty filter", 0x82, "0001 [] 0000 00"),
        ("QoS 3", 0x82, "0001 [] 0001 't' 03"),
        ("reserved options", 0x82, "0001 [] 0001 't' c0"),
        ("no options", 0x82, "0001 [] 0001 't'"),
        ("U+0000 in a filter", 0x82, "0001 [] 0002 't' 00 00"),
        ("a filter that is no UTF-8", 0x82, "0001 [] 0002 c3 28 00"),
        ("flags of UNSUBSCRIBE", 0xA0, "0001 [] 0001 't'"),
        ("UNSUBSCRIBE without a filter", 0xA2, "0001 []"),
        ("UNSUBSCRIBE with identifier 0", 0xA2, "0000 [] 0001 't'"),
        ("a filter that is cut", 0xA2, "0001 [] 0004 't'"),
    ];
    for version in BOTH {
        for (name, first, rest) in both {
            eprintln!("{version:?}: {name}");
            let none = if version == Version::V5 { "00" } else { "" };
            let mut client = broker.connect(&connect(version, "c"));
            client.send(packet(first, &hex(&rest.replace("[]", none))));
            client.expect_disconnect(&[0x81, 0x82, 0x8F]);
        }
    }
    let new: [(&str, u8, &str); 5] = [
        ("retain handling 3", 0x82, "0001 00 0001 't' 30"),
        (
            "subscription identifier 0",
            0x82,
            "0001 02 0b00 0001 't' 00",
        ),
        (
            "two subscription identifiers",
            0x82,
            "0001 04 0b01 0b02 0001 't' 00",
        ),
        ("a property of PUBLISH", 0x82, "0001 02 0101 0001 't' 00"),
        (
            "an identifier in UNSUBSCRIBE",
            0xA2,
            "0001 02 0b01 0001 't'",
        ),
    ];
    for (name, first, rest) in new {
        eprintln!("{name}");
        let mut client = broker.connect(&connect(Version::V5, "c"));
        client.send(packet(first, &hex(rest)));
        client.expect_disconnect(&[0x81, 0x82]);
    }
    // The options of MQTT 5 are reserved bits in 3.1.1.
    for options in ["04", "08", "10"] {
        let mut client = broker.connect(&connect(Version::V311, "c"));
        client.send(packet(0x82, &hex(&format!("0001 0001 't' {options}"))));
        client.expect_closed();
    }
}

/// Chapter 3.2.2.3.13: what is announced as missing is refused with its code.
#[test]
fn shared_subscriptions_are_refused_while_they_are_announced_as_missing() {
    let broker = Broker::start();
    let (mut client, answer) = Client::connect(broker.address(), &connect(Version::V5, "c"));
    client.send(subscribe(Version::V5, 1, &[("$share/g/t", 1)]));
    if answer.number(0x2A, 1) == 1 {
        client.expect(suback(Version::V5, 1, &[1]));
        return;
    }
    let frame = client.frame();
    let suback = suback(Version::V5, 1, &[0x9E]);
    assert!(
        frame == suback || (frame[0], frame[2]) == (0xE0, 0x9E),
        "{frame:02x?}"
    );
}

/// [MQTT-3.8.4-4] and claim 2: all of a subscription's options outlive a crash.
#[test]
fn subscriptions_with_their_options_survive_a_crash() {
    let mut broker = Broker::start();
    let name = durable(Version::V5, "c");
    let mut client = broker.connect(&name);
    let property = [0x0B, 0x2A];
    client.send(subscribe_with(
        Version::V5,
        1,
        &property,
        &[("kept/+", 0x08), ("own", 0x05)],
    ));
    client.expect(suback(Version::V5, 1, &[0, 1]));
    client.subscribe("gone", 2);
    client.send(unsubscribe(Version::V5, 2, &["gone"]));
    client.expect(unsuback(Version::V5, 2, &[0]));
    broker.crash();
    let mut client = broker.resume(&name, true);
    client.publish0("own", "no local");
    client.publish0("gone", "unsubscribed");
    client.expect_nothing();
    client.send(publish("kept/x", "m").retain(true).bytes(Version::V5));
    client.expect_publish(&publish("kept/x", "m").retain(true).property(property));
    client.send(unsubscribe(Version::V5, 3, &["gone", "kept/+", "own"]));
    client.expect(unsuback(Version::V5, 3, &[0x11, 0, 0]));
}

/// [MQTT-3.10.4-3]: what was in flight when the subscription ended is still completed.
#[test]
fn an_unsubscribe_leaves_what_is_in_flight() {
    let broker = Broker::start();
    for version in BOTH {
        let mut client = broker.connect(&durable(version, "c"));
        client.subscribe("t", 2);
        broker.connect(&connect(version, "p")).publish2(1, "t", "m");
        let id = client.expect_publish(&publish("t", "m").qos(2, 0));
        client.send(unsubscribe(version, 1, &["t"]));
        client.expect(unsuback(version, 1, &[0]));
        client.send(ack(0x50, id));
        client.expect(ack(0x62, id));
        client.send(ack(0x70, id));
        client.expect_nothing();
        client.leave();
        broker.connect(&connect(version, "c")).leave();
    }
}

/// A hundred filters in one packet, and filters as long as they may be.
#[test]
fn many_and_long_filters_are_granted() {
    let broker = Broker::start();
    for version in BOTH {
        let mut client = broker.connect(&connect(version, "c"));
        let names: Vec<String> = (0..100).map(|number| format!("many/{number}/+")).collect();
        let filters: Vec<(&str, u8)> = names.iter().map(|name| (name.as_str(), 1)).collect();
        client.send(subscribe(version, 1, &filters));
        client.expect(suback(version, 1, &[1; 100]));
        client.send(publish("many/99/x", "m").bytes(version));
        client.expect_publish(&publish("many/99/x", "m"));
        let long = "l".repeat(65_535);
        let mut rest = vec![0, 2];
        if version == Version::V5 {
            rest.push(0);
        }
        rest.extend(text(&long));
        rest.push(0);
        client.send(packet(0x82, &rest));
        client.expect(suback(version, 2, &[0]));
        client.send(publish(&long, "m").bytes(version));
        client.expect_publish(&publish(&long, "m"));
    }
}
