//! What was sent and not completed comes again: same identifiers, same order. Chapter 4.4.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::{away, fill, forget};
use crate::harness::{
    BOTH, Broker, Delivery, Random, Version, random_seed,
    wire::{
        PINGREQ, PUBACK, PUBCOMP, PUBREC, PUBREL, ack, connect, durable, prop2, publish, suback,
        subscribe,
    },
};

// broker case 1
#[test]
fn completed_qos_2_messages_do_not_come_again_after_a_crash() {
    let mut broker = Broker::start();
    for version in BOTH {
        let name = durable(version, "c");
        away(&broker, &name, 2);
        fill(&broker, version, 2, 1, 100);
        let mut client = broker.resume(&name, true);
        let mut next = 1;
        while next <= 100 {
            let frame = client.frame();
            if let Some(delivery) = Delivery::read(&frame, version) {
                assert_eq!((delivery.text(), delivery.dup), (next.to_string(), false));
                next += 1;
                client.send(ack(PUBREC, delivery.id));
            } else {
                assert_eq!(frame[0], PUBREL);
                client.send([&[PUBCOMP], &frame[1..]].concat());
            }
        }
        for frame in client.drain() {
            assert_eq!(frame[0], PUBREL);
            client.send([&[PUBCOMP], &frame[1..]].concat());
        }
        client.expect_nothing();
        client.vanish();
        broker.settle();
        broker.crash();
        let mut client = broker.resume(&name, true);
        client.expect_nothing();
        client.leave();
        forget(&broker, version, "c");
    }
}

// broker case 3
/// [MQTT-4.4.0-1] [MQTT-4.4.0-2]
#[test]
fn unacknowledged_messages_come_again_with_dup_the_same_ids_and_order() {
    let mut broker = Broker::start();
    for version in BOTH {
        let name = durable(version, "c");
        let mut client = broker.resume(&name, false);
        client.send(subscribe(version, 1, &[("t/1", 1), ("t/2", 2)]));
        client.expect(suback(version, 1, &[1, 2]));
        let mut publisher = broker.connect(&connect(version, "p"));
        publisher.publish1(1, "t/1", "A");
        publisher.publish2(2, "t/2", "B");
        publisher.publish1(3, "t/1", "C");
        let all = [publish("t/1", "A").qos(1, 0), publish("t/2", "B").qos(2, 0)];
        let all = [&all[..], &[publish("t/1", "C").qos(1, 0)]].concat();
        let first: Vec<u16> = all.iter().map(|one| client.expect_publish(one)).collect();
        for round in 0..3 {
            if round == 0 {
                client.vanish();
            } else {
                broker.crash();
            }
            client = broker.resume(&name, true);
            let again: Vec<u16> = all
                .iter()
                .map(|one| client.expect_publish(&one.clone().dup(true)))
                .collect();
            assert_eq!(again, first);
            client.expect_nothing();
        }
        client.leave();
        forget(&broker, version, "c");
    }
}

// broker case 10
/// [MQTT-4.3.3-6]: past PUBREC the message itself is never sent again.
#[test]
fn a_pubrel_that_is_owed_comes_first_after_a_crash_and_then_the_queue_goes_on() {
    let mut broker = Broker::start();
    for version in BOTH {
        for crash in [false, true] {
            let name = durable(version, "c");
            let mut client = broker.resume(&name, false);
            client.subscribe("t", 2);
            fill(&broker, version, 2, 1, 1);
            let id = client.expect_publish(&publish("t", "1").qos(2, 0));
            client.send(ack(PUBREC, id));
            client.expect(ack(PUBREL, id));
            client.vanish();
            fill(&broker, version, 2, 2, 3);
            if crash {
                broker.crash();
            }
            let mut client = broker.resume(&name, true);
            client.expect(ack(PUBREL, id));
            let two = client.expect_publish(&publish("t", "2").qos(2, 0));
            let three = client.expect_publish(&publish("t", "3").qos(2, 0));
            assert!(id != two && id != three, "the identifier is still in use");
            client.expect_nothing();
            client.send(ack(PUBCOMP, id));
            for id in [two, three] {
                client.send(ack(PUBREC, id));
                client.expect(ack(PUBREL, id));
                client.send(ack(PUBCOMP, id));
            }
            client.expect_nothing();
            client.leave();
            forget(&broker, version, "c");
        }
    }
}

// broker case 13
#[test]
fn a_reset_at_any_step_of_a_delivery_brings_the_right_packet_again() {
    let mut broker = Broker::start();
    for version in BOTH {
        for crash in [false, true] {
            let name = durable(version, "c");
            away(&broker, &name, 2);
            fill(&broker, version, 2, 1, 1);
            let message = publish("t", "1").qos(2, 0);
            // At PUBLISH: read, not answered, and something unread that makes the close a reset.
            let mut client = broker.resume(&name, true);
            let first = client.expect_publish(&message);
            client.send(PINGREQ);
            client.reset();
            if crash {
                broker.crash();
            }
            let mut client = broker.resume(&name, true);
            assert_eq!(client.expect_publish(&message.clone().dup(true)), first);
            // At PUBREC, with the PUBREL unread.
            client.send(ack(PUBREC, first));
            client.reset();
            if crash {
                broker.crash();
            }
            let mut client = broker.resume(&name, true);
            // At PUBREL: read, not answered.
            client.expect(ack(PUBREL, first));
            client.expect_nothing();
            client.send(PINGREQ);
            client.reset();
            if crash {
                broker.crash();
            }
            let mut client = broker.resume(&name, true);
            client.expect(ack(PUBREL, first));
            client.send(ack(PUBCOMP, first));
            client.expect_nothing();
            client.leave();
            broker.resume(&name, true).expect_nothing();
            forget(&broker, version, "c");
        }
    }
}

// broker case 16
#[test]
fn a_thousand_queued_messages_keep_their_order_through_twenty_drops_and_restarts() {
    let seed = random_seed();
    eprintln!("FOREBAY_SEED={seed}");
    let mut random = Random::new(seed);
    let mut broker = Broker::start();
    let name = durable(Version::V5, "c").property(prop2(0x21, 20));
    let mut client = broker.resume(&name, false);
    client.send(subscribe(
        Version::V5,
        1,
        &[("a/1", 1), ("b/1", 1), ("a/2", 2), ("b/2", 2)],
    ));
    client.expect(suback(Version::V5, 1, &[1, 1, 2, 2]));
    client.leave();
    let topics = ["a/1", "b/1", "a/2", "b/2"];
    let mut publisher = broker.connect(&connect(Version::V5, "p"));
    for number in 0..1000_u16 {
        let topic = topics[usize::from(number) % 4];
        if topic.ends_with('1') {
            publisher.publish1(1, topic, &number.to_string());
        } else {
            publisher.publish2(1, topic, &number.to_string());
        }
    }
    publisher.leave();

    // What a client that never forgets has seen: the QoS 2 identifiers it holds, and per topic
    // the numbers in the order of their first coming.
    let mut seen: HashMap<String, Vec<u16>> = HashMap::new();
    let mut held: HashMap<u16, String> = HashMap::new();
    let mut drops: Vec<u64> = (0..20).map(|_| random.range(1, 1500)).collect();
    drops.sort_unstable();
    let mut steps = 0;
    let mut client = broker.resume(&name, true);
    while seen.values().map(Vec::len).sum::<usize>() < 1000 || !held.is_empty() {
        steps += 1;
        if drops.first().is_some_and(|&at| steps >= at) {
            drops.remove(0);
            if random.next().is_multiple_of(2) {
                broker.crash();
            } else {
                client.vanish();
            }
            client = broker.resume(&name, true);
        }
        let frame = client.frame();
        let Some(got) = Delivery::read(&frame, Version::V5) else {
            assert_eq!(frame[0], PUBREL, "seed {seed}: {frame:02x?}");
            held.remove(&u16::from_be_bytes([frame[2], frame[3]]));
            client.send([&[PUBCOMP, 2], &frame[2..4]].concat());
            continue;
        };
        let list = seen.entry(got.topic.clone()).or_default();
        let number: u16 = got.text().parse().expect("a number");
        if got.qos == 2 {
            if let Some(same) = held.get(&got.id) {
                assert_eq!(*same, got.text(), "seed {seed}: an id for two messages");
            } else {
                held.insert(got.id, got.text());
                assert!(!list.contains(&number), "seed {seed}: {number} came twice");
                list.push(number);
            }
            client.send(ack(PUBREC, got.id));
        } else {
            if !list.contains(&number) {
                list.push(number);
            }
            client.send(ack(PUBACK, got.id));
        }
    }
    client.expect_nothing();
    for (place, topic) in topics.iter().enumerate() {
        let wanted: Vec<u16> = (0..250).map(|at| at * 4 + place as u16).collect();
        assert_eq!(seen[*topic], wanted, "seed {seed}: {topic}");
    }
}

// broker case 20
#[test]
fn redelivery_starts_right_after_the_connack() {
    let mut broker = Broker::start();
    for version in BOTH {
        let name = durable(version, "c");
        away(&broker, &name, 1);
        fill(&broker, version, 1, 1, 1);
        broker
            .resume(&name, true)
            .expect_publish(&publish("t", "1").qos(1, 0));
        broker.crash();
        let mut client = broker.resume(&name, true);
        let began = Instant::now();
        client.expect_publish(&publish("t", "1").qos(1, 0).dup(true));
        let waited = began.elapsed();
        assert!(waited < Duration::from_millis(200), "{waited:?}");
        client.vanish();
        forget(&broker, version, "c");
    }
}
