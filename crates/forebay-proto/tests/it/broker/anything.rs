//! Whatever clients send, in whatever order, and however late the disk is: no panic, bounded
//! outputs, and every packet that leaves is one its client can read.

use bytes::BytesMut;
use forebay_proto::{
    Anonymous, Config, ConnectionId, Decoder, Limits, Packet, PacketId, Properties,
    PropertiesBuilder, Property, PropertyId, QoS, Role, Text, Version, encode, encoded_len,
};
use proptest::{
    collection::vec,
    option,
    prelude::{ProptestConfig, Strategy, any, prop_oneof},
    proptest,
    sample::{Index, select},
};
use std::collections::{BTreeMap, BTreeSet};

use crate::{bed::Bed, codec::arbitrary};

#[derive(Clone, Debug)]
enum Event {
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

fn event() -> impl Strategy<Value = Event> {
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
        Id::ReceiveMaximum | Id::MaximumPacketSize | Id::SessionExpiryInterval => false,
        Id::AuthenticationMethod => odds < 8,
        _ => true,
    });
    if let Some(it) = properties.receive_maximum() {
        kept.push(Property::ReceiveMaximum(it % 4 + 1));
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
fn met(packet: Packet) -> Packet {
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
            if it.topic.is_empty() && odds >= 16 {
                it.topic = Text::from_static("a").unwrap();
            }
            it.properties = without(&it.properties, odds, &ids);
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

/// A client as far as the broker can know it.
struct Peer {
    version: Version,
    decoder: Decoder,
    taken_in: bool,
    size_max: usize,
    window: usize,
    in_flight: BTreeMap<PacketId, QoS>,
}

#[derive(Default)]
struct World {
    peers: BTreeMap<ConnectionId, Peer>,
}

const LIMITS: fn() -> Limits = || Limits {
    max_connections: 6,
    max_sessions: 5,
    receive_maximum: 3,
    max_inflight: 3,
    max_queued_messages: 6,
    max_unreleased_bytes: 300,
    max_subscriptions: 4,
    max_topic_levels: 4,
    max_retained: 2,
    max_early_bytes: 400,
    max_commit_bytes: 128,
    max_session_expiry_secs: 100_000,
    ..Limits::default()
};

impl World {
    fn send(&mut self, bed: &mut Bed, at: ConnectionId, bytes: &[u8]) {
        let Some(peer) = self.peers.get_mut(&at) else {
            return;
        };
        let mut buf = BytesMut::from(bytes);
        while bed.closed(at).is_none() {
            match peer.decoder.decode(&mut buf) {
                Ok(Some(packet)) => {
                    peer.said(&packet);
                    bed.send(at, packet);
                }
                Ok(None) => return,
                Err(error) => {
                    peer.version = error.version.unwrap_or(Version::V3_1_1);
                    bed.malformed(at, &error);
                    return;
                }
            }
        }
    }

    /// Judges what left.
    fn look(&mut self, bed: &mut Bed) {
        assert_eq!(bed.broker.outputs(), 0);
        let mut gone = BTreeSet::new();
        for (at, peer) in &mut self.peers {
            let packets = bed.take(*at);
            assert!(packets.len() < 200, "{} packets at once", packets.len());
            for packet in packets {
                peer.judge(&packet);
            }
            if bed.closed(*at).is_some() {
                gone.insert(*at);
            }
        }
        self.peers.retain(|at, _| !gone.contains(at));
        let stats = bed.broker.stats();
        // One that took its leave is forgotten before it is closed.
        assert!(stats.connections <= self.peers.len() as u64);
        assert_eq!(stats.sessions, bed.broker.sessions().count() as u64);
        assert!(stats.sessions <= 5 && stats.retained <= 6 && stats.subscriptions <= 20);
    }
}

impl Peer {
    fn said(&mut self, packet: &Packet) {
        match packet {
            Packet::Connect(connect) => {
                self.version = connect.version;
                let properties = &connect.properties;
                let size_max = properties.maximum_packet_size();
                self.size_max = size_max.map_or(usize::MAX, |it| it as usize);
                self.window = properties.receive_maximum().unwrap_or(3).min(3).into();
            }
            Packet::PubAck(it) => self.ends(it.packet_id, QoS::AtLeastOnce),
            Packet::PubComp(it) => self.ends(it.packet_id, QoS::ExactlyOnce),
            Packet::PubRec(it) if it.reason.is_error() => {
                self.ends(it.packet_id, QoS::ExactlyOnce);
            }
            _ => {}
        }
    }

    fn ends(&mut self, id: PacketId, qos: QoS) {
        if self.in_flight.get(&id) == Some(&qos) {
            self.in_flight.remove(&id);
        }
    }

    fn judge(&mut self, packet: &Packet) {
        let mut bytes = Vec::new();
        encode(packet, self.version, &mut bytes).expect("it has an encoding");
        assert_eq!(bytes.len(), encoded_len(packet, self.version));
        assert!(
            bytes.len() <= self.size_max,
            "{packet:?} is larger than is taken"
        );
        let mut decoder = Decoder::new(Role::Client, u32::MAX);
        decoder.set_version(self.version);
        let mut buf = BytesMut::from(&bytes[..]);
        let read = decoder.decode(&mut buf);
        let read = read.unwrap_or_else(|it| panic!("{packet:?}: {it}"));
        assert!(read.is_some() && buf.is_empty());
        if let Packet::ConnAck(_) = packet {
            assert!(!self.taken_in, "a second CONNACK");
            self.taken_in = true;
            return;
        }
        assert!(self.taken_in, "{packet:?} before CONNACK");
        if let Packet::Publish(publish) = packet
            && let Some(id) = publish.packet_id
        {
            let twice = self.in_flight.insert(id, publish.qos);
            assert_eq!(twice, None, "{id:?} is in use");
            assert!(self.in_flight.len() <= self.window, "more than is taken");
        }
    }
}

fn run(events: Vec<Event>) {
    let mut bed = Bed::with(Config {
        limits: LIMITS(),
        anonymous: Anonymous::Loopback,
        instance: 7,
    });
    let mut world = World::default();
    bed.auto_sync = false;
    for event in events {
        let pick = |world: &World, at: Index| {
            let count = world.peers.len();
            (count > 0).then(|| *world.peers.keys().nth(at.index(count)).unwrap())
        };
        match event {
            Event::Open(version, packet) => {
                let at = bed.open();
                world.peers.insert(
                    at,
                    Peer {
                        version,
                        decoder: Decoder::new(Role::Server, 1 << 20),
                        taken_in: false,
                        size_max: usize::MAX,
                        window: 3,
                        in_flight: BTreeMap::new(),
                    },
                );
                let mut bytes = Vec::new();
                if encode(&met(packet), version, &mut bytes).is_ok() {
                    world.send(&mut bed, at, &bytes);
                }
            }
            Event::Packet(at, packets, change) => {
                let Some(at) = pick(&world, at) else { continue };
                let version = world.peers[&at].version;
                let [old, new] = *packets;
                let packet = met(if version == Version::V5 { new } else { old });
                let mut bytes = Vec::new();
                if encode(&packet, version, &mut bytes).is_err() {
                    continue;
                }
                if let Some((at, byte)) = change {
                    let at = at.index(bytes.len());
                    bytes[at] = byte;
                }
                world.send(&mut bed, at, &bytes);
            }
            Event::Cut(at) => {
                let Some(at) = pick(&world, at) else { continue };
                bed.cut(at);
                world.peers.remove(&at);
            }
            Event::Pass(ms) => bed.advance(ms),
            Event::Disk(steps) => {
                for _ in 0..steps {
                    bed.disk_step();
                    world.look(&mut bed);
                }
            }
            Event::Full(full) => bed.broker.handle_storage_full(full),
            Event::Crash => {
                world.peers.clear();
                bed.crash();
            }
        }
        world.look(&mut bed);
    }
    bed.sync();
    world.look(&mut bed);
    for at in world.peers.keys() {
        bed.cut(*at);
    }
    bed.sync();
    // What the machine counts is what is on disk, and another start comes to the same.
    let stats = bed.broker.stats();
    assert_eq!(stats.connections, 0);
    assert_eq!(stats.queued, bed.stored_out() as u64);
    bed.crash();
    bed.sync();
    let again = bed.broker.stats();
    assert_eq!(
        (
            stats.sessions,
            stats.subscriptions,
            stats.retained,
            stats.queued
        ),
        (
            again.sessions,
            again.subscriptions,
            again.retained,
            again.queued
        )
    );
    // Sessions end in time, with all they had; then nothing waits for any time any more.
    bed.advance(100_001 * 1000);
    bed.sync();
    assert_eq!(bed.broker.sessions().count(), 0);
    assert_eq!(bed.stored_messages(), 0);
    assert_eq!(bed.broker.poll_timeout(), None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn nothing_that_clients_send_harms_the_broker_or_another_client(
        events in vec(event(), 1..150),
    ) {
        run(events);
    }
}
