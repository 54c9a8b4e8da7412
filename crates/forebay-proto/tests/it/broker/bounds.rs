//! What the broker makes itself keeps to the bounds too, and so do the packets it sends.

use forebay_proto::{
    Config, Limits, Packet, Properties, PropertiesBuilder, Property, Publish, QoS, ReasonCode,
    Version, WillMessage, encoded_len,
};

use crate::bed::{Bed, durable, publish, shown, text};

fn retained(topic: &'static str, payload: &str) -> Packet {
    let Packet::Publish(it) = publish(topic, payload, 1, 1) else {
        panic!("a PUBLISH")
    };
    Packet::Publish(Publish { retain: true, ..it })
}

#[test]
fn a_client_that_subscribes_again_and_again_can_not_fill_the_disk_with_retained_messages() {
    let limits = Limits {
        max_queued_messages: 10,
        max_inflight: 2,
        ..Limits::default()
    };
    let mut bed = Bed::with(Config {
        limits,
        ..Config::default()
    });
    let (publisher, _) = bed.connect(durable("p"));
    bed.send(publisher, retained("a", "1"));
    bed.send(publisher, retained("b", "2"));
    let (subscriber, _) = bed.connect(durable("s"));
    for _ in 0..100 {
        bed.subscribe(subscriber, "#", 1);
    }
    assert_eq!(bed.stored_out(), 10);
    assert_eq!(bed.broker.stats().queued, 10);
    assert_eq!(bed.broker.stats().dropped_full, 190);
    assert_eq!(bed.closed(subscriber), None);
    // A client's own message is refused, not dropped.
    bed.take(publisher);
    bed.send(publisher, publish("a", "3", 1, 9));
    assert_eq!(shown(&bed.take(publisher)), ["PUBACK #9 0x97"]);
}

#[test]
fn wills_are_not_retained_past_the_bound_but_replace_and_clear_what_is() {
    let limits = Limits {
        max_retained: 2,
        ..Limits::default()
    };
    let mut bed = Bed::with(Config {
        limits,
        ..Config::default()
    });
    for (topic, payload, kept) in [
        ("a", "1", 1),
        ("b", "1", 2),
        ("c", "1", 2),
        ("b", "2", 2),
        ("a", "", 1),
        ("c", "1", 2),
    ] {
        let mut connect = durable("w");
        connect.will = Some(WillMessage {
            qos: QoS::AtLeastOnce,
            retain: true,
            topic: text(topic),
            payload: payload.to_owned().into(),
            properties: Properties::EMPTY,
        });
        let (connection, _) = bed.connect(connect);
        bed.cut(connection);
        assert_eq!(bed.broker.stats().retained, kept, "{topic} {payload}");
    }
    assert_eq!(bed.broker.stats().dropped_full, 1);
}

#[test]
fn no_packet_is_larger_than_its_client_takes_and_where_one_must_be_the_connection_ends() {
    let mut ended = 0;
    for size in 1..60 {
        let mut bed = Bed::new();
        let (publisher, _) = bed.connect(durable("p"));
        bed.send(publisher, retained("a", "1234567890"));
        let mut connect = durable("s");
        let mut properties = PropertiesBuilder::new();
        properties.push(Property::SessionExpiryInterval(3600));
        properties.push(Property::MaximumPacketSize(size));
        connect.properties = properties.build();
        let at = bed.open();
        bed.send(at, Packet::Connect(Box::new(connect)));
        bed.subscribe(at, "a", 1);
        bed.send(at, publish("nobody", "", 1, 1));
        bed.send(publisher, publish("a", "x", 1, 2));
        bed.send(at, Packet::PingReq);
        bed.send(at, Packet::Connect(Box::new(durable("again"))));
        for packet in bed.take(at) {
            let len = encoded_len(&packet, Version::V5);
            assert!(len <= size as usize, "{packet:?} has {len} of {size}");
        }
        let end = bed.closed(at).unwrap();
        ended += u32::from(end == ReasonCode::PACKET_TOO_LARGE);
        assert!(end == ReasonCode::PACKET_TOO_LARGE || end == ReasonCode::PROTOCOL_ERROR);
    }
    assert!((5..30).contains(&ended), "{ended} of 59");
}
