//! QoS 2: PUBREC, PUBREL and PUBCOMP in both directions. Chapters 3.5 to 3.7, 4.3.3.

use std::time::Duration;

use crate::harness::{
    BOTH, Broker, Client, Version,
    wire::{PUBACK, PUBCOMP, PUBREC, PUBREL, ack, ack_with, connect, durable, hex, publish},
};

/// [MQTT-4.3.3-8] to [MQTT-4.3.3-13] [MQTT311-4.3.3-2]
#[test]
fn the_exchange_has_exact_bytes_on_both_sides() {
    let broker = Broker::start();
    for version in BOTH {
        let mut subscriber = broker.connect(&connect(version, "s"));
        subscriber.subscribe("t", 2);
        let mut publisher = broker.connect(&connect(version, "p"));
        publisher.send(publish("t", "m").qos(2, 0xCAFE).bytes(version));
        publisher.expect(hex("50 02 cafe"));
        publisher.expect_nothing();
        subscriber.expect_nothing();
        publisher.send(hex("62 02 cafe"));
        publisher.expect(hex("70 02 cafe"));
        publisher.expect_nothing();

        let id = subscriber.expect_publish(&publish("t", "m").qos(2, 0));
        assert_eq!(subscriber.frame_within(Duration::from_millis(300)), None);
        subscriber.send(ack(PUBREC, id));
        subscriber.expect(ack(PUBREL, id));
        subscriber.expect_nothing();
        subscriber.send(ack(PUBCOMP, id));
        subscriber.expect_nothing();
    }
}

#[test]
fn a_message_that_nobody_wants_is_received_so() {
    let broker = Broker::start();
    let mut old = broker.connect(&connect(Version::V311, "old"));
    old.send(publish("t", "m").qos(2, 7).bytes(Version::V311));
    old.expect(hex("50 02 0007"));
    old.send(hex("62 02 0007"));
    old.expect(hex("70 02 0007"));
    let mut new = broker.connect(&connect(Version::V5, "new"));
    new.send(publish("t", "m").qos(2, 7).bytes(Version::V5));
    new.expect(hex("50 03 0007 10"));
    new.send(hex("62 02 0007"));
    new.expect(hex("70 02 0007"));
    new.expect_nothing();
}

/// [MQTT-4.3.3-10]
#[test]
fn a_publish_repeated_before_its_pubrel_is_answered_and_delivered_once() {
    let broker = Broker::start();
    for version in BOTH {
        let mut subscriber = broker.connect(&connect(version, "s"));
        subscriber.subscribe("t", 0);
        let mut publisher = broker.connect(&connect(version, "p"));
        publisher.send(publish("t", "m").qos(2, 5).bytes(version));
        publisher.expect(ack(PUBREC, 5));
        for _ in 0..3 {
            publisher.send(publish("t", "m").qos(2, 5).dup(true).bytes(version));
            publisher.expect_ack(PUBREC, 5);
        }
        publisher.send(ack(PUBREL, 5));
        publisher.expect(ack(PUBCOMP, 5));
        subscriber.expect_publish(&publish("t", "m"));
        subscriber.expect_nothing();
    }
}

/// [MQTT-4.3.3-12]: after PUBCOMP the identifier stands for a new message.
#[test]
fn a_packet_id_is_free_again_after_its_pubcomp() {
    let broker = Broker::start();
    for version in BOTH {
        let mut subscriber = broker.connect(&connect(version, "s"));
        subscriber.subscribe("t", 0);
        let mut publisher = broker.connect(&connect(version, "p"));
        for number in 0..5 {
            publisher.publish2(1, "t", &number.to_string());
            subscriber.expect_publish(&publish("t", number.to_string()));
        }
    }
}

/// Chapter 3.7.2.1; [MQTT311-3.6.4-1] knows no code.
#[test]
fn a_pubrel_for_an_unknown_id_is_answered() {
    let broker = Broker::start();
    let mut old = broker.connect(&connect(Version::V311, "old"));
    old.send(hex("62 02 0009"));
    old.expect(hex("70 02 0009"));
    let mut new = broker.connect(&connect(Version::V5, "new"));
    new.send(hex("62 02 0009"));
    new.expect(hex("70 03 0009 92"));
    new.publish2(9, "t", "m");
    new.send(hex("62 03 0009 92"));
    new.expect(hex("70 03 0009 92"));
    new.expect_nothing();
}

/// [MQTT-4.3.3-4]: the other side refused, so the exchange is at its end.
#[test]
fn a_pubrec_that_refuses_ends_the_exchange() {
    let broker = Broker::start();
    for tail in [&[0x80][..], &[0x97], &[0x91, 0], &[0xFF]] {
        let mut subscriber = broker.connect(&durable(Version::V5, "s"));
        subscriber.subscribe("t", 2);
        broker
            .connect(&connect(Version::V5, "p"))
            .publish2(1, "t", "m");
        let id = subscriber.expect_publish(&publish("t", "m").qos(2, 0));
        let size = 2 + tail.len() as u8;
        subscriber.send([&[PUBREC, size], id.to_be_bytes().as_slice(), tail].concat());
        subscriber.expect_nothing();
        subscriber.leave();
        broker
            .resume(&durable(Version::V5, "s"), true)
            .expect_nothing();
    }
}

/// 0x10 is a success: PUBREL follows. So is any other code below 0x80.
#[test]
fn a_pubrec_of_any_success_is_followed_by_pubrel() {
    let broker = Broker::start();
    let mut subscriber = broker.connect(&connect(Version::V5, "s"));
    subscriber.subscribe("t", 2);
    let mut publisher = broker.connect(&connect(Version::V5, "p"));
    for tail in [&[][..], &[0x00], &[0x10], &[0x10, 0], &[0x42]] {
        publisher.publish2(1, "t", "m");
        let id = subscriber.expect_publish(&publish("t", "m").qos(2, 0));
        let size = 2 + tail.len() as u8;
        subscriber.send([&[PUBREC, size], id.to_be_bytes().as_slice(), tail].concat());
        subscriber.expect(ack(PUBREL, id));
        subscriber.send(ack(PUBCOMP, id));
        subscriber.expect_nothing();
    }
}

/// Chapter 3.6.2.1: the PUBREL that answers an unknown PUBREC carries 0x92; 3.1.1 has no code and
/// answers with what ends the exchange.
#[test]
fn acknowledgements_for_unknown_ids_never_end_the_connection() {
    let broker = Broker::start();
    for version in BOTH {
        let mut client = broker.connect(&connect(version, "c"));
        client.send(ack(PUBREC, 9));
        let answers = client.drain();
        let wanted = ack_with(version, PUBREL, 9, 0x92);
        match version {
            Version::V5 => assert_eq!(answers, [wanted]),
            Version::V311 => assert!(answers.is_empty() || answers == [wanted], "{answers:02x?}"),
        }
        client.send(ack(PUBCOMP, 9));
        client.expect_nothing();
    }
}

/// Claim 7: an acknowledgement of the wrong kind leaves the message pending, in both states.
#[test]
fn an_acknowledgement_of_the_wrong_kind_leaves_the_exchange_where_it_is() {
    let broker = Broker::start();
    for version in BOTH {
        for wrong in [PUBACK, PUBREL, PUBCOMP] {
            let name = format!("a{wrong}");
            let mut subscriber = broker.connect(&durable(version, &name));
            subscriber.subscribe("t", 2);
            broker.connect(&connect(version, "p")).publish2(1, "t", "m");
            let id = subscriber.expect_publish(&publish("t", "m").qos(2, 0));
            subscriber.send(ack(wrong, id));
            subscriber.vanish();
            let mut again = broker.resume(&durable(version, &name), true);
            let resent = publish("t", "m").qos(2, 0).dup(true);
            assert_eq!(
                again.expect_publish(&resent),
                id,
                "{version:?} {wrong:#04x}"
            );
            again.send(ack(PUBREC, id));
            again.expect(ack(PUBREL, id));
            if wrong != PUBCOMP {
                again.send(ack(wrong, id));
            }
            again.vanish();
            let mut again = broker.resume(&durable(version, &name), true);
            again.expect(ack(PUBREL, id));
            again.expect_nothing();
            again.send(ack(PUBCOMP, id));
            again.leave();
            broker.connect(&connect(version, &name)).leave();
        }
    }
}

/// A PUBREC that comes twice is answered twice: the second may be the answer to a lost PUBREL.
#[test]
fn a_repeated_pubrec_gets_its_pubrel_again() {
    let broker = Broker::start();
    for version in BOTH {
        let mut subscriber = broker.connect(&connect(version, "s"));
        subscriber.subscribe("t", 2);
        broker.connect(&connect(version, "p")).publish2(1, "t", "m");
        let id = subscriber.expect_publish(&publish("t", "m").qos(2, 0));
        subscriber.send(ack(PUBREC, id));
        subscriber.expect(ack(PUBREL, id));
        subscriber.send(ack(PUBREC, id));
        subscriber.expect(ack(PUBREL, id));
        subscriber.send(ack(PUBCOMP, id));
        subscriber.expect_nothing();
    }
}

/// [MQTT-3.3.4-7] binds the client; 0x93 is the server's word for it.
#[test]
fn more_than_our_receive_maximum_ends_the_connection_with_one_word() {
    let broker = Broker::start();
    let (mut client, answer) = Client::connect(broker.address(), &connect(Version::V5, "c"));
    let most = answer.number(0x21, 65_535) as u16;
    if most == u16::MAX {
        return;
    }
    let mut bytes = Vec::new();
    for id in 1..=most + 1 {
        bytes.extend(publish("t", "m").qos(2, id).bytes(Version::V5));
    }
    client.send(bytes);
    let mut received = 0;
    loop {
        let frame = client.frame();
        if frame[0] != PUBREC {
            assert_eq!((frame[0], frame[2]), (0xE0, 0x93), "{frame:02x?}");
            break;
        }
        received += 1;
    }
    assert!(received <= most, "{received} were received");
    client.expect_closed();
}

/// Exactly as many as our Receive Maximum are welcome, and a finished one makes room.
#[test]
fn our_receive_maximum_can_be_used_up() {
    let broker = Broker::start();
    let (mut client, answer) = Client::connect(broker.address(), &connect(Version::V5, "c"));
    let most = answer.number(0x21, 65_535).min(2000) as u16;
    for id in 1..=most {
        client.send(publish("t", "m").qos(2, id).bytes(Version::V5));
    }
    for id in 1..=most {
        client.expect_ack(PUBREC, id);
    }
    client.send(ack(PUBREL, 1));
    client.expect(ack(PUBCOMP, 1));
    client.send(publish("t", "m").qos(2, 1).bytes(Version::V5));
    client.expect_ack(PUBREC, 1);
    client.expect_nothing();
}
