//! Nanoseconds to decode and to encode a PUBLISH of 100 bytes, the best of several rounds.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench prints and may stop"
)]

use std::{hint::black_box, time::Instant};

use bytes::{Bytes, BytesMut};
use forebay_proto::{
    Decoder, Packet, PacketId, Properties, PropertiesBuilder, Property, Publish, QoS, Role, Text,
    Version, encode,
};

const ROUNDS: u32 = 15;
const PACKETS: u32 = 20_000;

fn publish(properties: Properties) -> Packet {
    Packet::Publish(Publish {
        dup: false,
        qos: QoS::AtLeastOnce,
        retain: false,
        topic: Text::from_static("plant/7/line/3/temperature").unwrap(),
        packet_id: PacketId::new(7),
        properties,
        payload: Bytes::from_static(&[b'x'; 100]),
    })
}

/// The fastest round of `round`, nanoseconds a packet.
fn best(mut round: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        round();
        best = best.min(start.elapsed().as_secs_f64() * 1e9 / f64::from(PACKETS));
    }
    best
}

fn measure(name: &str, version: Version, packet: &Packet) {
    let mut out = Vec::with_capacity(1 << 23);
    let encoding = best(|| {
        out.clear();
        for _ in 0..PACKETS {
            encode(black_box(packet), version, &mut out).unwrap();
        }
        black_box(&out);
    });
    let stream = out;
    let mut decoder = Decoder::new(Role::Server, 1 << 20);
    decoder.set_version(version);
    let decoding = best(|| {
        // As a connection reads: many packets in one buffer.
        for chunk in stream.chunks(stream.len() / 100) {
            let mut buf = BytesMut::from(chunk);
            while let Some(packet) = decoder.decode(&mut buf).unwrap() {
                black_box(packet);
            }
        }
    });
    println!("{name:<24} decode {decoding:6.1} ns  encode {encoding:6.1} ns");
}

fn main() {
    measure("3.1.1", Version::V3_1_1, &publish(Properties::EMPTY));
    measure("5, no properties", Version::V5, &publish(Properties::EMPTY));
    let mut builder = PropertiesBuilder::new();
    builder
        .push(Property::MessageExpiryInterval(60))
        .push(Property::ContentType("text/plain"))
        .push(Property::UserProperty("site", "north"));
    measure(
        "5, three properties",
        Version::V5,
        &publish(builder.build()),
    );
}
