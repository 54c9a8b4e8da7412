//! What clients, networks, disks and time may do.

use forebay_proto::{
    Packet, PacketId, Properties, PropertiesBuilder, Property, PropertyId, Text, Version, encode,
};
use proptest::{
    option,
    prelude::{Strategy, any, prop_oneof},
    sample::{Index, select},
};

use crate::codec::arbitrary;

#[derive(Clone, Debug)]
pub(super) enum Event {
    /// A new connection that begins with this packet.
    Open(Version, Packet),
    /// A packet on a connection, one byte of it changed.
    Packet(Index, Box<[Packet; 2]>, Option<(Index, u8)>),
    /// The network closes a connection.
    Cut(Index),
    Pass(u64),
    Disk(usize),
    Full(bool),
    Crash,
}

pub(super) fn event() -> impl Strategy<Value = Event> {
    let version = || {
        select(vec![
            Version::V3_1,
            Version::V3_1_1,
            Version::V5,
            Version::V5,
        ])
    };
    let of = |version| arbitrary::packet_of(version).prop_map(|(_, packet)| packet);
    let open = version().prop_flat_map(move |version| {
        let connects = arbitrary::connect(version);
        prop_oneof![9 => connects.boxed(), 1 => of(version).boxed()]
            .prop_map(move |packet| Event::Open(version, packet))
    });
    let packet = (
        any::<Index>(),
        of(Version::V3_1_1),
        of(Version::V5),
        option::weighted(0.03, (any::<Index>(), any::<u8>())),
    )
        .prop_map(|(at, old, new, change)| Event::Packet(at, Box::new([old, new]), change));
    prop_oneof![
        4 => open,
        40 => packet,
        1 => any::<Index>().prop_map(Event::Cut),
        2 => prop_oneof![0..3000_u64, 0..10_000_000_u64].prop_map(Event::Pass),
        8 => (1..4_usize).prop_map(Event::Disk),
        1 => any::<bool>().prop_map(Event::Full),
        1 => proptest::prelude::Just(Event::Crash),
    ]
}

const TOPICS: [&str; 6] = ["a", "a/b", "a/b/c/d", "b", "$SYS/a", "/"];
const FILTERS: [&str; 9] = [
    "a",
    "a/b",
    "#",
    "+",
    "a/#",
    "+/b",
    "$share/g/a",
    "a/b/c/d/e",
    "a#",
];
const NAMES: [&str; 4] = ["", "one", "two", "three"];

/// One of `all`, by what `text` is.
fn narrow(text: &Text, all: &[&'static str]) -> Text {
    let sum: usize = text.as_bytes().iter().map(|it| usize::from(*it)).sum();
    Text::from_static(all[sum % all.len()]).unwrap()
}

fn narrow_id(id: PacketId) -> PacketId {
    PacketId::new(id.get() % 5 + 1).unwrap()
}

/// Leaves out what ends most connections before anything happens, mostly.
fn without(properties: &Properties, odds: u8, ids: &[PropertyId]) -> Properties {
    let mut kept = PropertiesBuilder::new();
    kept.extend_from(properties, |id| odds < 16 || !ids.contains(&id));
    kept.build()
}

/// Small bounds of the client, which are met more often.
fn granted(properties: &Properties, odds: u8) -> Properties {
    use PropertyId as Id;
    let mut kept = PropertiesBuilder::new();
    kept.extend_from(properties, |id| match id {
        Id::ReceiveMaximum
        | Id::TopicAliasMaximum
        | Id::MaximumPacketSize
        | Id::SessionExpiryInterval => false,
        Id::AuthenticationMethod => odds < 8,
        _ => true,
    });
    if let Some(it) = properties.receive_maximum() {
        kept.push(Property::ReceiveMaximum(it % 4 + 1));
    }
    if let Some(it) = properties.topic_alias_maximum() {
        kept.push(Property::TopicAliasMaximum(it % 4));
    }
    if let Some(it) = properties.maximum_packet_size() {
        kept.push(Property::MaximumPacketSize(it % 100 + 1));
    }
    if let Some(it) = properties.session_expiry_interval() {
        kept.push(Property::SessionExpiryInterval(
            [0, 5, 100, u32::MAX][it as usize % 4],
        ));
    }
    kept.build()
}

/// Lets packets meet: few names, topics, filters and identifiers.
pub(super) fn met(packet: Packet) -> Packet {
    let odds = packet_odds(&packet);
    match packet {
        Packet::Connect(mut it) => {
            it.client_id = narrow(&it.client_id, &NAMES);
            it.keep_alive_secs %= 4;
            it.properties = granted(&it.properties, odds);
            if let Some(will) = &mut it.will {
                will.topic = narrow(&will.topic, &TOPICS);
            }
            Packet::Connect(it)
        }
        Packet::Publish(mut it) => {
            if !it.topic.is_empty() {
                it.topic = narrow(&it.topic, &TOPICS);
            }
            it.packet_id = it.packet_id.map(narrow_id);
            let ids = [PropertyId::TopicAlias, PropertyId::SubscriptionIdentifier];
            if it.topic.is_empty() && odds >= 64 {
                it.topic = Text::from_static("a").unwrap();
            }
            let alias = it.properties.topic_alias();
            it.properties = without(&it.properties, odds, &ids);
            if let Some(alias) = alias.filter(|_| odds >= 16) {
                let mut aliased = PropertiesBuilder::new();
                aliased.push(Property::TopicAlias(alias % 2 + 1));
                aliased.extend_from(&it.properties, |_| true);
                it.properties = aliased.build();
            }
            Packet::Publish(it)
        }
        Packet::Subscribe(mut it) => {
            for (filter, _) in &mut it.filters {
                *filter = narrow(filter, &FILTERS);
            }
            Packet::Subscribe(it)
        }
        Packet::Unsubscribe(mut it) => {
            for filter in &mut it.filters {
                *filter = narrow(filter, &FILTERS);
            }
            Packet::Unsubscribe(it)
        }
        Packet::PubAck(mut it) => {
            it.packet_id = narrow_id(it.packet_id);
            Packet::PubAck(it)
        }
        Packet::PubRec(mut it) => {
            it.packet_id = narrow_id(it.packet_id);
            Packet::PubRec(it)
        }
        Packet::PubRel(mut it) => {
            it.packet_id = narrow_id(it.packet_id);
            Packet::PubRel(it)
        }
        Packet::PubComp(mut it) => {
            it.packet_id = narrow_id(it.packet_id);
            Packet::PubComp(it)
        }
        // What only a server sends, and endings, rarely.
        other @ (Packet::PingReq | Packet::Disconnect(_)) if odds < 128 => other,
        other if odds < 8 => other,
        _ => Packet::PingReq,
    }
}

fn packet_odds(packet: &Packet) -> u8 {
    let mut bytes = Vec::new();
    let _ = encode(packet, Version::V5, &mut bytes);
    bytes
        .iter()
        .fold(0_u8, |sum, it| sum.wrapping_mul(31).wrapping_add(*it))
}
