//! Topic aliases on the wire. Chapter 3.3.2.3.4.

use std::collections::BTreeMap;

use crate::harness::{
    Broker, Client, Delivery, Version,
    wire::{connect, durable, hex, packet, prop2, publish},
};

const ALIAS: u8 = 0x23;

/// The highest alias that the broker takes; a peer that takes none is no peer for these tests.
fn granted(broker: &Broker) -> (Client, u16) {
    let (client, answer) = Client::connect(broker.address(), &connect(Version::V5, "p"));
    (client, answer.number(0x22, 0) as u16)
}

/// [MQTT-3.3.2-8] [MQTT-3.3.2-10] [MQTT-3.3.2-12]
#[test]
fn a_client_may_use_every_alias_up_to_the_one_in_the_connack() {
    let broker = Broker::start();
    let (mut client, most) = granted(&broker);
    assert!(most > 0, "aliases are announced");
    let mut other = broker.connect(&connect(Version::V311, "s"));
    other.subscribe("#", 1);
    for alias in 1..=most {
        let named = publish(format!("topic/{alias}"), "named").property(prop2(ALIAS, alias));
        client.send(named.bytes(Version::V5));
        other.expect_publish(&publish(format!("topic/{alias}"), "named"));
    }
    for alias in 1..=most {
        let short = publish("", "short").property(prop2(ALIAS, alias)).qos(1, 7);
        client.send(short.bytes(Version::V5));
        client.expect(hex("40 02 0007"));
        other.expect_publish(&publish(format!("topic/{alias}"), "short").qos(1, 0));
    }
    client.send(
        publish("x", "")
            .property(prop2(ALIAS, most + 1))
            .bytes(Version::V5),
    );
    client.expect_disconnect(&[0x94]);
}

/// [MQTT-3.3.2-7], chapter 3.3.2.3.4: what stands for nothing is a protocol error.
#[test]
fn an_alias_does_not_outlive_its_connection() {
    let mut broker = Broker::start();
    let name = durable(Version::V5, "p");
    for crash in [false, true] {
        let mut client = broker.connect(&name);
        client.send(hex("30 0b 0005 'topic' 03 23 0001"));
        client.send(hex("30 06 0000 03 23 0001"));
        client.expect_nothing();
        if crash {
            broker.crash();
        } else {
            client.leave();
        }
        let mut client = broker.resume(&name, true);
        client.send(hex("30 06 0000 03 23 0001"));
        client.expect_disconnect(&[0x82]);
    }
}

/// [MQTT-3.1.2-26] [MQTT-3.1.2-27]
#[test]
fn a_subscriber_gets_aliases_if_it_takes_them_and_no_more_than_it_takes() {
    let broker = Broker::start();
    let takes = connect(Version::V5, "s").property(prop2(0x22, 1));
    let mut subscriber = broker.connect(&takes);
    subscriber.subscribe("#", 1);
    let mut plain = broker.connect(&connect(Version::V5, "plain"));
    plain.subscribe("#", 1);
    let (mut client, _) = granted(&broker);
    client.publish1(1, "first/topic", "1");
    client.publish1(2, "other/topic", "2");
    client.publish1(3, "first/topic", "3");
    subscriber.expect(hex("32 14 000b 'first/topic' 0001 03 23 0001 '1'"));
    subscriber.expect(hex("32 11 000b 'other/topic' 0002 00 '2'"));
    subscriber.expect(hex("32 09 0000 0003 03 23 0001 '3'"));
    for (topic, payload) in [
        ("first/topic", "1"),
        ("other/topic", "2"),
        ("first/topic", "3"),
    ] {
        plain.expect_publish(&publish(topic, payload).qos(1, 0));
    }
}

/// A name that later packets need is not dropped, however slow the reader is.
#[test]
fn no_alias_is_lost_on_a_subscriber_that_is_slow_to_read() {
    let broker = Broker::start();
    let mut subscriber = broker.connect(&connect(Version::V5, "s").property(prop2(0x22, 10)));
    subscriber.subscribe("#", 0);
    let (mut client, _) = granted(&broker);
    let payload = vec![b'x'; 64 * 1024];
    let mut sent = 0;
    for round in 0..400 {
        let topic = format!("topic/{}", round / 45);
        client.send(publish(topic, &payload).bytes(Version::V5));
        sent += 1;
    }
    client.expect_nothing();
    let mut names: BTreeMap<u16, String> = BTreeMap::new();
    let mut came = 0;
    subscriber.send(packet(0xC0, &[]));
    loop {
        let frame = subscriber.frame();
        let Some(got) = Delivery::read(&frame, Version::V5) else {
            break;
        };
        came += 1;
        let alias = got.properties.iter().find(|(id, _)| *id == ALIAS);
        let alias = alias.map(|(_, raw)| u16::from_be_bytes([raw[0], raw[1]]));
        let alias = alias.expect("each of these topics has an alias");
        if got.topic.is_empty() {
            assert!(
                names.contains_key(&alias),
                "alias {alias} stands for nothing"
            );
        } else {
            assert!(names.insert(alias, got.topic).is_none());
        }
    }
    assert_eq!(names.len(), 9, "{names:?}");
    assert!(
        came < sent,
        "the reader was slow enough for some to be dropped"
    );
}
