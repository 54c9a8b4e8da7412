//! What is sent again after a cut or a crash, and what is not.

use forebay_proto::{Ack, Limits, Packet, PacketId, PropertiesBuilder, Property, ReasonCode};

use crate::bed::{Bed, ack, durable, publish, shown};

/// A subscriber `s` with `window` that left, and messages 1 to `count` of `qos` queued for it.
fn queued(count: u16, qos: u8) -> Bed {
    let mut bed = Bed::new();
    let (subscriber, _) = bed.connect(durable("s"));
    bed.subscribe(subscriber, "a", 2);
    bed.cut(subscriber);
    let (publisher, _) = bed.connect(durable("p"));
    for id in 1..=count {
        bed.send(publisher, publish("a", &id.to_string(), qos, id));
        bed.send(publisher, Packet::PubRel(ack(id)));
    }
    bed
}

#[test]
fn unacknowledged_messages_come_again_with_dup_in_order_under_the_same_identifier() {
    // broker case 3
    for crash in [false, true] {
        let mut bed = queued(3, 1);
        let (subscriber, _) = bed.connect(durable("s"));
        let first = shown(&bed.take(subscriber));
        assert_eq!(
            first,
            [
                "PUBLISH a 1 q1 #1",
                "PUBLISH a 2 q1 #2",
                "PUBLISH a 3 q1 #3"
            ]
        );
        if crash {
            bed.crash();
        } else {
            bed.cut(subscriber);
        }
        let (subscriber, present) = bed.connect(durable("s"));
        assert!(present);
        let again: Vec<String> = first.iter().map(|it| format!("{it} dup")).collect();
        assert_eq!(shown(&bed.take(subscriber)), again, "crash: {crash}");
    }
}

#[test]
fn after_pubrec_only_pubrel_comes_again() {
    // broker case 10
    for crash in [false, true] {
        let mut bed = queued(2, 2);
        let (subscriber, _) = bed.connect(durable("s"));
        bed.take(subscriber);
        bed.send(subscriber, Packet::PubRec(ack(1)));
        if crash {
            bed.crash();
        } else {
            bed.cut(subscriber);
        }
        let (subscriber, _) = bed.connect(durable("s"));
        let again = shown(&bed.take(subscriber));
        assert_eq!(
            again,
            ["PUBREL #1 0x00", "PUBLISH a 2 q2 #2 dup"],
            "crash: {crash}"
        );
        bed.send(subscriber, Packet::PubComp(ack(1)));
        bed.send(subscriber, Packet::PubRec(ack(2)));
        bed.send(subscriber, Packet::PubComp(ack(2)));
        bed.crash();
        let (subscriber, _) = bed.connect(durable("s"));
        assert_eq!(shown(&bed.take(subscriber)), Vec::<String>::new());
    }
}

#[test]
fn a_qos_2_publish_that_comes_again_after_a_crash_is_delivered_once() {
    // broker case 11
    let mut bed = Bed::new();
    let (subscriber, _) = bed.connect(durable("s"));
    bed.subscribe(subscriber, "a", 2);
    bed.cut(subscriber);
    let (publisher, _) = bed.connect(durable("p"));
    bed.send(publisher, publish("a", "1", 2, 7));
    assert_eq!(shown(&bed.take(publisher)), ["PUBREC #7 0x00"]);
    bed.crash();
    let (publisher, _) = bed.connect(durable("p"));
    bed.send(publisher, publish("a", "1", 2, 7));
    bed.send(publisher, Packet::PubRel(ack(7)));
    bed.send(publisher, Packet::PubRel(ack(7)));
    let answers = shown(&bed.take(publisher));
    assert_eq!(
        answers,
        ["PUBREC #7 0x00", "PUBCOMP #7 0x00", "PUBCOMP #7 0x92"]
    );
    let (subscriber, _) = bed.connect(durable("s"));
    assert_eq!(shown(&bed.take(subscriber)), ["PUBLISH a 1 q2 #1"]);
}

#[test]
fn the_receive_maximum_of_the_client_holds_for_new_and_resent_messages() {
    // broker case 9
    let mut bed = queued(50, 1);
    let mut narrow = durable("s");
    let mut properties = PropertiesBuilder::new();
    properties.push(Property::SessionExpiryInterval(3600));
    properties.push(Property::ReceiveMaximum(3));
    narrow.properties = properties.build();

    let (wide, _) = bed.connect(durable("s"));
    assert_eq!(bed.take(wide).len(), 50);
    bed.cut(wide);

    let (subscriber, _) = bed.connect(narrow);
    let mut open = Vec::new();
    let mut seen = Vec::new();
    loop {
        for packet in bed.take(subscriber) {
            let Packet::Publish(publish) = packet else {
                panic!("only PUBLISH is due")
            };
            open.push(publish.packet_id.unwrap());
            seen.push(String::from_utf8(publish.payload.to_vec()).unwrap());
        }
        assert!(open.len() <= 3, "{} unacknowledged", open.len());
        let Some(id) = open.pop() else { break };
        bed.send(
            subscriber,
            Packet::PubAck(Ack::new(id, ReasonCode::SUCCESS)),
        );
    }
    let expected: Vec<String> = (1..=50).map(|it| it.to_string()).collect();
    assert_eq!(seen, expected);
}

#[test]
fn a_message_that_has_become_too_large_is_released_and_its_identifier_stands_for_nothing() {
    // broker case 12
    for (qos, released) in [(1, &[][..]), (2, &["PUBREL #1 0x00"])] {
        let mut bed = Bed::new();
        let (subscriber, _) = bed.connect(durable("s"));
        bed.subscribe(subscriber, "a", 2);
        let (publisher, _) = bed.connect(durable("p"));
        bed.send(publisher, publish("a", &"x".repeat(100), qos, 1));
        bed.send(publisher, Packet::PubRel(ack(1)));
        bed.take(subscriber);
        // It may have the message, but its acknowledgement is lost.
        bed.cut(subscriber);
        let mut small = durable("s");
        let mut properties = PropertiesBuilder::new();
        properties.push(Property::SessionExpiryInterval(3600));
        properties.push(Property::MaximumPacketSize(50));
        small.properties = properties.build();
        let (subscriber, _) = bed.connect(small);
        assert_eq!(shown(&bed.take(subscriber)), released);
        bed.send(publisher, publish("a", "y", qos, 2));
        bed.send(publisher, Packet::PubRel(ack(2)));
        let next = shown(&bed.take(subscriber));
        assert_eq!(next, [format!("PUBLISH a y q{qos} #2")]);
        bed.send(subscriber, Packet::PubComp(ack(1)));
        assert_eq!(bed.broker.stats().queued, 1);
        assert_eq!(bed.broker.stats().dropped_too_large, 1);
    }
}

#[test]
fn a_message_that_arrives_while_the_store_is_asked_for_others_keeps_its_turn() {
    let limits = Limits {
        max_inflight: 2,
        ..Limits::default()
    };
    let mut bed = Bed::with(forebay_proto::Config {
        limits,
        ..Default::default()
    });
    let (subscriber, _) = bed.connect(durable("s"));
    bed.subscribe(subscriber, "a", 1);
    bed.take(subscriber);
    let (publisher, _) = bed.connect(durable("p"));
    let mut seen = Vec::new();
    for id in 1..=30_u16 {
        bed.send(publisher, publish("a", &id.to_string(), 1, id));
        for packet in bed.take(subscriber) {
            let Packet::Publish(publish) = packet else {
                continue;
            };
            seen.push(String::from_utf8(publish.payload.to_vec()).unwrap());
            if id % 3 == 0 {
                let ack = Ack::new(publish.packet_id.unwrap(), ReasonCode::SUCCESS);
                bed.send(subscriber, Packet::PubAck(ack));
            }
        }
    }
    let (again, _) = bed.connect(durable("s"));
    let mut rest: Vec<Packet> = bed.take(again);
    while let Some(packet) = rest.first().cloned() {
        rest.remove(0);
        let Packet::Publish(publish) = packet else {
            continue;
        };
        if !publish.dup {
            seen.push(String::from_utf8(publish.payload.to_vec()).unwrap());
        }
        let ack = Ack::new(publish.packet_id.unwrap(), ReasonCode::SUCCESS);
        bed.send(again, Packet::PubAck(ack));
        rest.extend(bed.take(again));
    }
    let expected: Vec<String> = (1..=30).map(|it| it.to_string()).collect();
    assert_eq!(seen, expected);
}

#[test]
fn an_acknowledgement_of_the_wrong_kind_or_identifier_leaves_the_message_pending() {
    // kind × QoS × known or unknown: what the broker answers; the message must survive each that
    // does not end its exchange.
    type Make = fn(Ack) -> Packet;
    let kinds: [(&str, Make); 4] = [
        ("PUBACK", Packet::PubAck),
        ("PUBREC", Packet::PubRec),
        ("PUBREL", Packet::PubRel),
        ("PUBCOMP", Packet::PubComp),
    ];
    for (kind, make) in kinds {
        for qos in [1, 2] {
            for known in [true, false] {
                let mut bed = queued(1, qos);
                let (subscriber, _) = bed.connect(durable("s"));
                bed.take(subscriber);
                let id = PacketId::new(if known { 1 } else { 99 }).unwrap();
                bed.send(subscriber, make(Ack::new(id, ReasonCode::SUCCESS)));
                let answer = shown(&bed.take(subscriber));
                let name = format!("{kind} q{qos} known {known}");
                let expected: &[&str] = match (kind, qos, known) {
                    ("PUBREC", 2, true) => &["PUBREL #1 0x00"],
                    ("PUBREC", _, false) => &["PUBREL #99 0x92"],
                    ("PUBREL", _, true) => &["PUBCOMP #1 0x92"],
                    ("PUBREL", _, false) => &["PUBCOMP #99 0x92"],
                    _ => &[],
                };
                assert_eq!(answer, expected, "{name}");
                assert_eq!(bed.closed(subscriber), None, "{name}");
                bed.crash();
                let (subscriber, _) = bed.connect(durable("s"));
                let after = shown(&bed.take(subscriber));
                let resent = format!("PUBLISH a 1 q{qos} #1 dup");
                let pending: Vec<String> = match (kind, qos, known) {
                    ("PUBACK", 1, true) => vec![],
                    ("PUBREC", 2, true) => vec!["PUBREL #1 0x00".into()],
                    _ => vec![resent],
                };
                assert_eq!(after, pending, "{name}");
            }
        }
    }
}
