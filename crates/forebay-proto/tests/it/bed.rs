//! A broker machine with a model of the disk and virtual time: no socket, no clock, no sleep.
//!
//! The disk does nothing by itself: a test says when, so a crash loses exactly what it chose.

mod disk;

use bytes::Bytes;
use forebay_proto::{
    Ack, Broker, Config, Connect, ConnectionId, DecodeError, Direction, Instant, Limits, Login, Op,
    Output, Packet, PacketId, Peer, Properties, PropertiesBuilder, Property, Publish, QoS,
    ReasonCode, Subscribe, SubscriptionOptions, Text, Version,
};
use std::collections::BTreeMap;

use disk::{Disk, Work};

/// The broker, its disk and the far ends of its connections.
pub(crate) struct Bed {
    pub(crate) broker: Broker,
    pub(crate) now: Instant,
    /// Whether the disk does everything as soon as it is handed over.
    pub(crate) auto_sync: bool,
    /// Whose name and password the machine wants to know about, the newest last.
    pub(crate) asked: Vec<(ConnectionId, Option<String>, Option<Bytes>)>,
    /// The most entries that one commit appended.
    pub(crate) most_entries: usize,
    config: Config,
    disk: Disk,
    received: BTreeMap<ConnectionId, Vec<Packet>>,
    closed: BTreeMap<ConnectionId, ReasonCode>,
    last_connection: u64,
}

impl Bed {
    pub(crate) fn new() -> Self {
        Self::with(Config::default())
    }

    pub(crate) fn with(config: Config) -> Self {
        let mut bed = Self {
            broker: Broker::new(config.clone()),
            now: Instant::from_millis(1_000_000),
            auto_sync: true,
            asked: Vec::new(),
            most_entries: 0,
            config,
            disk: Disk::default(),
            received: BTreeMap::new(),
            closed: BTreeMap::new(),
            last_connection: 0,
        };
        bed.broker.handle_start(bed.now);
        bed.drain();
        bed
    }

    /// The bounds that hold from the next start.
    pub(crate) fn limits(&mut self) -> &mut Limits {
        &mut self.config.limits
    }

    /// Power loss and a new start: what no sync covered is gone, and so is every connection.
    pub(crate) fn crash(&mut self) {
        self.received.clear();
        self.broker = Broker::new(Config {
            instance: self.now.as_millis(),
            ..self.config.clone()
        });
        self.disk.restart(&mut self.broker);
        self.broker.handle_start(self.now);
        self.drain();
    }

    /// A graceful stop; [`Bed::crash`] then starts again.
    pub(crate) fn stop(&mut self) {
        self.broker.handle_stop(self.now);
        self.drain();
        self.sync();
    }

    /// Lets the disk do everything that was handed over.
    pub(crate) fn sync(&mut self) {
        while self.disk_step() {}
        self.drain();
    }

    /// Whether the disk has anything to do.
    pub(crate) fn disk_is_busy(&self) -> bool {
        self.disk.is_busy()
    }

    /// Lets the disk do the next thing; `false` where there is none.
    pub(crate) fn disk_step(&mut self) -> bool {
        let was_busy = self.disk.step(&mut self.broker, self.now);
        if was_busy {
            self.drain();
        }
        was_busy
    }

    fn drain(&mut self) {
        while let Some(output) = self.broker.poll_output() {
            match output {
                Output::Transmit { connection, packet } => {
                    assert!(
                        !self.closed.contains_key(&connection),
                        "nothing after a close"
                    );
                    self.received.entry(connection).or_default().push(packet);
                }
                Output::Close { connection, reason } => {
                    self.closed.insert(connection, reason);
                }
                Output::Commit { seq, ops } => {
                    assert_ne!(ops, [], "a commit holds something");
                    let entries = ops.iter().filter(|op| matches!(op, Op::Append { .. }));
                    self.most_entries = self.most_entries.max(entries.count());
                    self.disk.hand_over(Work::Commit(seq, ops));
                }
                Output::Authenticate {
                    connection,
                    user,
                    password,
                } => {
                    let user = user.map(|user| user.as_str().to_owned());
                    self.asked.push((connection, user, password.0));
                }
                Output::Resume {
                    session,
                    epoch,
                    window,
                } => self.disk.hand_over(Work::Resume(session, epoch, window)),
                Output::Promote {
                    session,
                    epoch,
                    count,
                } => self.disk.hand_over(Work::Promote(session, epoch, count)),
            }
        }
        while self.auto_sync && self.disk_step() {}
    }

    /// Messages in all queues on disk.
    pub(crate) fn stored_messages(&self) -> usize {
        self.disk.messages(Direction::In) + self.disk.messages(Direction::Out)
    }

    /// Messages to clients that are on disk.
    pub(crate) fn stored_out(&self) -> usize {
        self.disk.messages(Direction::Out)
    }

    /// Hands bytes that are no packet to the broker.
    pub(crate) fn malformed(&mut self, connection: ConnectionId, error: &DecodeError) {
        if !self.closed.contains_key(&connection) {
            self.broker.handle_malformed(connection, error, self.now);
            self.drain();
        }
    }

    /// Lets time pass, timer by timer.
    pub(crate) fn advance(&mut self, ms: u64) {
        let end = Instant::from_millis(self.now.as_millis() + ms);
        while let Some(at) = self.broker.poll_timeout().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.broker.handle_timeout(self.now);
            self.drain();
        }
        self.now = end;
    }

    pub(crate) fn open(&mut self) -> ConnectionId {
        self.open_from(Peer {
            loopback: true,
            ..Peer::default()
        })
    }

    pub(crate) fn open_from(&mut self, peer: Peer) -> ConnectionId {
        self.last_connection += 1;
        let connection = ConnectionId(self.last_connection);
        self.broker.handle_open(connection, peer, self.now);
        self.drain();
        connection
    }

    pub(crate) fn send(&mut self, connection: ConnectionId, packet: Packet) {
        if !self.closed.contains_key(&connection) {
            self.broker.handle_packet(connection, packet, self.now);
            self.drain();
        }
    }

    /// Says what came of a name and a password.
    pub(crate) fn login(&mut self, connection: ConnectionId, login: Login) {
        self.broker
            .handle_authenticated(connection, login, self.now);
        self.drain();
    }

    /// The network between the two ends is cut.
    pub(crate) fn cut(&mut self, connection: ConnectionId) {
        self.broker.handle_closed(connection, self.now);
        self.received.remove(&connection);
        self.drain();
    }

    /// What came since the last call.
    pub(crate) fn take(&mut self, connection: ConnectionId) -> Vec<Packet> {
        self.received.remove(&connection).unwrap_or_default()
    }

    pub(crate) fn closed(&self, connection: ConnectionId) -> Option<ReasonCode> {
        self.closed.get(&connection).copied()
    }

    /// Connects and returns the connection and whether a session was present.
    pub(crate) fn connect(&mut self, connect: Connect) -> (ConnectionId, bool) {
        let connection = self.open();
        self.send(connection, Packet::Connect(Box::new(connect)));
        self.sync();
        let mut received = self.take(connection);
        let Packet::ConnAck(connack) = received.remove(0) else {
            panic!("no CONNACK first")
        };
        assert_eq!(connack.reason, ReasonCode::SUCCESS);
        self.received.insert(connection, received);
        (connection, connack.session_present)
    }

    pub(crate) fn subscribe(&mut self, connection: ConnectionId, filter: &'static str, qos: u8) {
        let options = SubscriptionOptions {
            qos: QoS::new(qos).unwrap(),
            ..SubscriptionOptions::default()
        };
        let filters = vec![(text(filter), options)];
        let packet_id = PacketId::new(65_000).unwrap();
        let properties = Properties::EMPTY;
        self.send(
            connection,
            Packet::Subscribe(Subscribe {
                packet_id,
                properties,
                filters,
            }),
        );
        self.sync();
    }
}

pub(crate) fn text(text: &'static str) -> Text {
    Text::from_static(text).unwrap()
}

/// A CONNECT of MQTT 5 that keeps its session for an hour.
pub(crate) fn durable(client_id: &'static str) -> Connect {
    let mut properties = PropertiesBuilder::new();
    properties.push(Property::SessionExpiryInterval(3600));
    Connect {
        version: Version::V5,
        clean_start: false,
        keep_alive_secs: 0,
        client_id: text(client_id),
        will: None,
        username: None,
        password: None,
        properties: properties.build(),
    }
}

pub(crate) fn publish(topic: &'static str, payload: &str, qos: u8, id: u16) -> Packet {
    Packet::Publish(Publish {
        dup: false,
        qos: QoS::new(qos).unwrap(),
        retain: false,
        topic: text(topic),
        packet_id: PacketId::new(id),
        properties: Properties::EMPTY,
        payload: Bytes::copy_from_slice(payload.as_bytes()),
    })
}

pub(crate) fn ack(id: u16) -> Ack {
    Ack::new(PacketId::new(id).unwrap(), ReasonCode::SUCCESS)
}

/// What a packet is, short enough to compare: `PUBLISH a 1 q1 #5 dup`, `PUBREL #5`.
pub(crate) fn show(packet: &Packet) -> String {
    match packet {
        Packet::Publish(it) => {
            let payload = String::from_utf8_lossy(&it.payload).into_owned();
            let id = it
                .packet_id
                .map_or(String::new(), |id| format!(" #{}", id.get()));
            let dup = if it.dup { " dup" } else { "" };
            let retain = if it.retain { " retain" } else { "" };
            format!(
                "PUBLISH {} {payload} q{}{id}{dup}{retain}",
                it.topic.as_str(),
                it.qos as u8
            )
        }
        Packet::PubAck(it) => format!("PUBACK #{} {:#04x}", it.packet_id.get(), it.reason.0),
        Packet::PubRec(it) => format!("PUBREC #{} {:#04x}", it.packet_id.get(), it.reason.0),
        Packet::PubRel(it) => format!("PUBREL #{} {:#04x}", it.packet_id.get(), it.reason.0),
        Packet::PubComp(it) => format!("PUBCOMP #{} {:#04x}", it.packet_id.get(), it.reason.0),
        Packet::Disconnect(it) => format!("DISCONNECT {:#04x}", it.reason.0),
        Packet::SubAck(_) => "SUBACK".into(),
        Packet::ConnAck(it) => format!("CONNACK {:#04x}", it.reason.0),
        other => format!("{other:?}"),
    }
}

pub(crate) fn shown(packets: &[Packet]) -> Vec<String> {
    packets.iter().map(show).collect()
}
