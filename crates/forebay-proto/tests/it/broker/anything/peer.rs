//! A client as far as the broker can know it, and what it may be sent.

use bytes::BytesMut;
use forebay_proto::{
    Decoder, Packet, PacketId, Publish, QoS, Role, Text, Version, encode, encoded_len,
};
use std::collections::BTreeMap;

/// A client as far as the broker can know it.
pub(super) struct Peer {
    pub(super) version: Version,
    pub(super) decoder: Decoder,
    taken_in: bool,
    size_max: usize,
    window: usize,
    in_flight: BTreeMap<PacketId, QoS>,
    aliases_max: u16,
    aliases: BTreeMap<u16, Text>,
}

impl Peer {
    /// A client that has said nothing yet.
    pub(super) fn new(version: Version) -> Self {
        Self {
            version,
            decoder: Decoder::new(Role::Server, 1 << 20),
            taken_in: false,
            size_max: usize::MAX,
            window: 3,
            in_flight: BTreeMap::new(),
            aliases_max: 0,
            aliases: BTreeMap::new(),
        }
    }

    /// What the client said.
    pub(super) fn said(&mut self, packet: &Packet) {
        match packet {
            Packet::Connect(connect) => {
                self.version = connect.version;
                let properties = &connect.properties;
                let size_max = properties.maximum_packet_size();
                self.size_max = size_max.map_or(usize::MAX, |it| it as usize);
                self.aliases_max = properties.topic_alias_maximum().unwrap_or(0).min(2);
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

    /// What the broker said to it: readable, in its place, within what it takes.
    pub(super) fn judge(&mut self, packet: &Packet) {
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
        let Packet::Publish(publish) = packet else {
            return;
        };
        self.judge_name(publish);
        if let Some(id) = publish.packet_id {
            let twice = self.in_flight.insert(id, publish.qos);
            assert_eq!(twice, None, "{id:?} is in use");
            assert!(self.in_flight.len() <= self.window, "more than is taken");
        }
    }

    /// A topic name, or an alias for one that came before.
    fn judge_name(&mut self, publish: &Publish) {
        let Some(alias) = publish.properties.topic_alias() else {
            assert!(!publish.topic.is_empty());
            return;
        };
        assert!((1..=self.aliases_max).contains(&alias), "alias {alias}");
        if publish.topic.is_empty() {
            assert!(self.aliases.contains_key(&alias), "alias {alias}");
        } else {
            self.aliases.insert(alias, publish.topic.clone());
        }
    }
}
