//! Packets that share a stream and its memory.

use bytes::BytesMut;
use forebay_proto::{
    Decoder, Packet, Properties, Property, Publish, QoS, Role, Text, Version, encode,
};

use super::{blob, properties, text};

fn publish(topic: Text, payload: &[u8]) -> Packet {
    Packet::Publish(Publish {
        dup: false,
        qos: QoS::AtMostOnce,
        retain: false,
        topic,
        packet_id: None,
        properties: properties(&[Property::UserProperty("k", "v")]),
        payload: blob(payload),
    })
}

#[test]
fn packets_that_arrive_together_come_out_one_by_one() {
    let packets: Vec<_> = (0..100_u8)
        .map(|n| publish(text("a/b"), &[n; 10]))
        .collect();
    let mut stream = Vec::new();
    for packet in &packets {
        encode(packet, Version::V5, &mut stream).unwrap();
    }
    for chunk in [1, 2, 3, 7, 64, stream.len()] {
        let mut decoder = Decoder::new(Role::Client, 1000);
        let (mut buf, mut read) = (BytesMut::new(), Vec::new());
        for bytes in stream.chunks(chunk) {
            buf.extend_from_slice(bytes);
            while let Some(packet) = decoder.decode(&mut buf).unwrap() {
                read.push(packet);
            }
        }
        assert_eq!(read, packets);
        assert!(buf.is_empty());
    }
}

#[test]
fn topic_properties_and_payload_share_the_memory_they_arrived_in() {
    let mut bytes = Vec::new();
    encode(&publish(text("a/b"), b"payload"), Version::V5, &mut bytes).unwrap();
    let mut buf = BytesMut::from(&bytes[..]);
    let memory = buf.as_ptr_range();
    let mut decoder = Decoder::new(Role::Client, 1000);
    let Some(Packet::Publish(read)) = decoder.decode(&mut buf).unwrap() else {
        panic!("a PUBLISH went in");
    };
    for part in [
        read.topic.as_bytes(),
        read.properties.as_bytes(),
        &read.payload,
    ] {
        assert!(!part.is_empty() && memory.contains(&part.as_ptr()));
    }
}

#[test]
fn a_payload_is_held_against_its_format_indicator_on_request() {
    let with = |format, payload: &[u8]| Publish {
        dup: false,
        qos: QoS::AtMostOnce,
        retain: false,
        topic: text("a"),
        packet_id: None,
        properties: match format {
            Some(format) => properties(&[Property::PayloadFormatIndicator(format)]),
            None => Properties::EMPTY,
        },
        payload: blob(payload),
    };
    assert!(with(Some(true), "ä\0".as_bytes()).payload_matches_format());
    assert!(!with(Some(true), &[0xFF]).payload_matches_format());
    assert!(with(Some(false), &[0xFF]).payload_matches_format());
    assert!(with(None, &[0xFF]).payload_matches_format());
}
