//! What waits for a client that is away, and what the client can't take. Chapters 3.1.2.4, 4.1.

use super::{away, drain1, fill, forget};
use crate::harness::{
    BOTH, Broker, Delivery, Version,
    wire::{
        DISCONNECT, PUBACK, PUBCOMP, PUBREC, PUBREL, ack, connect, durable, prop2, prop4, publish,
    },
};

// broker case 2
#[test]
fn a_session_queues_after_a_restart_before_its_client_is_back() {
    let mut broker = Broker::start();
    for version in BOTH {
        let name = durable(version, "c");
        away(&broker, &name, 1);
        broker.crash();
        fill(&broker, version, 1, 1, 10);
        let mut client = broker.resume(&name, true);
        drain1(&mut client, 1, 10);
        client.expect_nothing();
        client.leave();
        forget(&broker, version, "c");
    }
}

// broker case 4
#[test]
fn queued_messages_survive_a_graceful_stop_and_a_crash() {
    let mut broker = Broker::start();
    for version in BOTH {
        for crash in [false, true] {
            let name = durable(version, "c");
            away(&broker, &name, 1);
            fill(&broker, version, 1, 1, 10);
            if crash {
                broker.crash();
            } else {
                broker.reboot();
            }
            let mut client = broker.resume(&name, true);
            drain1(&mut client, 1, 10);
            client.expect_nothing();
            client.leave();
            forget(&broker, version, "c");
        }
    }
}

// broker case 19
#[test]
fn a_qos_2_subscription_lives_on_after_a_restart() {
    let mut broker = Broker::start();
    for version in BOTH {
        let name = durable(version, "c");
        away(&broker, &name, 2);
        fill(&broker, version, 2, 1, 3);
        broker.crash();
        let mut client = broker.resume(&name, true);
        fill(&broker, version, 2, 4, 6);
        let mut next = 1;
        let mut owed = 6;
        while owed > 0 {
            let frame = client.frame();
            if let Some(got) = Delivery::read(&frame, version) {
                assert_eq!((got.text(), got.dup, got.qos), (next.to_string(), false, 2));
                next += 1;
                client.send(ack(PUBREC, got.id));
            } else {
                assert_eq!(frame[0], PUBREL);
                client.send([&[PUBCOMP], &frame[1..]].concat());
                owed -= 1;
            }
        }
        assert_eq!(next, 7);
        client.expect_nothing();
        client.leave();
        forget(&broker, version, "c");
    }
}

// broker case 21
#[test]
fn messages_queued_before_and_after_restarts_are_all_there() {
    let mut broker = Broker::start();
    for version in BOTH {
        let name = durable(version, "c");
        away(&broker, &name, 1);
        fill(&broker, version, 1, 1, 5);
        broker.crash();
        fill(&broker, version, 1, 6, 10);
        broker.reboot();
        let mut client = broker.resume(&name, true);
        drain1(&mut client, 1, 10);
        client.expect_nothing();
        client.leave();
        forget(&broker, version, "c");
    }
}

// broker case 22
#[test]
fn a_client_that_never_acknowledges_holds_up_nobody_and_gets_its_twenty_again() {
    let broker = Broker::start();
    let name = durable(Version::V5, "mute").property(prop2(0x21, 20));
    let mut mute = broker.resume(&name, false);
    mute.subscribe("t", 1);
    let mut other = broker.connect(&connect(Version::V5, "other"));
    other.subscribe("t", 1);
    let mut publisher = broker.connect(&connect(Version::V5, "p"));
    for number in 1..=500_u16 {
        publisher.publish1(number, "t", &number.to_string());
        let id = other.expect_publish(&publish("t", number.to_string()).qos(1, 0));
        other.send(ack(PUBACK, id));
    }
    let mut held = Vec::new();
    for number in 1..=20_u16 {
        held.push(mute.expect_publish(&publish("t", number.to_string()).qos(1, 0)));
    }
    mute.expect_nothing();
    mute.vanish();
    let mut back = broker.resume(&name, true);
    for (place, number) in (1..=20_u16).enumerate() {
        let resent = publish("t", number.to_string()).qos(1, 0).dup(true);
        assert_eq!(back.expect_publish(&resent), held[place]);
        back.send(ack(PUBACK, held[place]));
    }
    for number in 21..=500_u16 {
        let id = back.expect_publish(&publish("t", number.to_string()).qos(1, 0));
        back.send(ack(PUBACK, id));
    }
    back.expect_nothing();
}

/// Claim 12: QoS 0 does not wait for a session that is away.
#[test]
fn qos_0_is_not_queued_for_a_session_that_is_away() {
    let broker = Broker::start();
    for version in BOTH {
        let name = durable(version, "c");
        away(&broker, &name, 1);
        broker.connect(&connect(version, "p")).publish0("t", "m");
        let mut client = broker.resume(&name, true);
        client.expect_nothing();
        client.send(DISCONNECT);
        client.expect_closed();
        forget(&broker, version, "c");
    }
}

/// Claim 10 and broker case 12: what the client cannot take does not hold up what it can.
/// [MQTT-3.1.2-24] [MQTT-3.1.2-25]
#[test]
fn a_message_too_large_for_the_client_is_dropped_and_the_next_arrives() {
    let broker = Broker::start();
    for qos in 0..=2 {
        let name = durable(Version::V5, "c")
            .property(prop4(0x27, 100))
            .property(prop2(0x21, 1));
        let mut client = broker.resume(&name, false);
        client.subscribe("t", qos);
        let mut publisher = broker.connect(&connect(Version::V5, "p"));
        for payload in ["x".repeat(200), "y".repeat(100), "fits".to_owned()] {
            match qos {
                0 => publisher.publish0("t", &payload),
                1 => publisher.publish1(1, "t", &payload),
                _ => publisher.publish2(1, "t", &payload),
            }
        }
        let fits = publish("t", "fits").qos(qos, 0);
        if qos == 2 {
            client.receive2(&fits);
        } else {
            let id = client.expect_publish(&fits);
            if qos == 1 {
                client.send(ack(PUBACK, id));
            }
        }
        client.expect_nothing();
        client.leave();
        let mut client = broker.resume(&name, true);
        client.expect_nothing();
        client.leave();
        forget(&broker, Version::V5, "c");
    }
}

/// A message of exactly the client's Maximum Packet Size fits.
#[test]
fn a_message_of_exactly_the_clients_maximum_packet_size_arrives() {
    let broker = Broker::start();
    let message = publish("t", "z".repeat(94));
    assert_eq!(message.bytes(Version::V5).len(), 100);
    let mut client = broker.connect(&connect(Version::V5, "c").property(prop4(0x27, 100)));
    client.subscribe("t", 0);
    client.send(message.bytes(Version::V5));
    client.expect_publish(&message);
    client.send(publish("t", "z".repeat(95)).bytes(Version::V5));
    client.expect_nothing();
}
