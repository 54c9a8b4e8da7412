//! A broker machine with a model of the disk and virtual time: no socket, no clock, no sleep.
//!
//! The model keeps what is durable apart from what was only handed over, so a crash loses
//! exactly the commits that no sync covered.

use bytes::Bytes;
use forebay_proto::{
    Ack, Broker, Config, Connect, ConnectionId, DecodeError, Direction, Handshake, Instant, Limits,
    Mark, Message, Op, Output, Packet, PacketId, Peer, Properties, PropertiesBuilder, Property,
    Publish, QoS, QueueState, ReasonCode, Resumed, Rowid, Seq, SessionId, Stored, Subscribe,
    SubscriptionOptions, Table, Text, Version,
};
use std::collections::{BTreeMap, VecDeque};

#[derive(Clone, Default)]
struct Queue {
    next: u64,
    rows: BTreeMap<u64, (Instant, Mark, Option<PacketId>, Bytes, Bytes)>,
}

#[derive(Clone, Default)]
struct State {
    names: BTreeMap<SessionId, Bytes>,
    queues: BTreeMap<(Bytes, Direction), Queue>,
    tables: BTreeMap<(Table, Bytes), Bytes>,
}

impl State {
    fn queue(&mut self, session: SessionId, direction: Direction) -> &mut Queue {
        let name = self.names[&session].clone();
        self.queues
            .get_mut(&(name, direction))
            .expect("the queue is open")
    }

    fn apply(&mut self, ops: &[Op]) {
        let mut content: Option<(Instant, Bytes)> = None;
        for op in ops {
            match op.clone() {
                Op::OpenQueues { session, client_id } => {
                    self.names.insert(session, client_id.to_bytes());
                    for direction in [Direction::In, Direction::Out] {
                        let fresh = Queue {
                            next: 1,
                            ..Queue::default()
                        };
                        self.queues
                            .entry((client_id.to_bytes(), direction))
                            .or_insert(fresh);
                    }
                }
                Op::DropQueues { session } => {
                    let name = self.names.remove(&session).expect("the session has queues");
                    self.queues.remove(&(name.clone(), Direction::In));
                    self.queues.remove(&(name, Direction::Out));
                }
                Op::Content { time, bytes } => content = Some((time, bytes)),
                Op::ContentOf { session, rowid } => {
                    let row = &self.queue(session, Direction::In).rows[&rowid.0];
                    content = Some((row.0, row.4.clone()));
                }
                Op::Append {
                    session,
                    direction,
                    rowid,
                    mark,
                    packet_id,
                    note,
                } => {
                    let (time, bytes) = content.clone().expect("content comes first");
                    let queue = self.queue(session, direction);
                    assert_eq!(queue.next, rowid.0, "row ids rise by one");
                    queue.next += 1;
                    queue
                        .rows
                        .insert(rowid.0, (time, mark, packet_id, note, bytes));
                }
                Op::SetMark {
                    session,
                    direction,
                    rowid,
                    mark,
                    packet_id,
                } => {
                    let row = self.queue(session, direction).rows.get_mut(&rowid.0);
                    let row = row.expect("the message is pending");
                    (row.1, row.2) = (mark, packet_id);
                }
                Op::Finish {
                    session,
                    direction,
                    rowid,
                    ..
                } => {
                    let row = self.queue(session, direction).rows.remove(&rowid.0);
                    row.expect("the message is pending");
                }
                Op::Put { table, key, value } => drop(self.tables.insert((table, key), value)),
                Op::Delete { table, key } => drop(self.tables.remove(&(table, key))),
            }
        }
    }
}

fn stored(rowid: u64, row: &(Instant, Mark, Option<PacketId>, Bytes, Bytes)) -> Stored {
    let (time, mark, packet_id, note, bytes) = row.clone();
    Stored {
        rowid: Rowid(rowid),
        time,
        mark,
        packet_id,
        note,
        message: Message::decode(bytes),
    }
}

/// What the disk is to do, in order.
enum Work {
    Commit(Seq, Vec<Op>),
    Resume(SessionId, u64, u16),
    Promote(SessionId, u64, u16),
}

/// The broker, its disk and the far ends of its connections.
pub(crate) struct Bed {
    pub(crate) broker: Broker,
    pub(crate) now: Instant,
    /// Whether the disk does everything as soon as it is handed over.
    pub(crate) auto_sync: bool,
    config: Config,
    durable: State,
    work: VecDeque<Work>,
    promoted: BTreeMap<SessionId, u64>,
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
            config,
            durable: State::default(),
            work: VecDeque::new(),
            promoted: BTreeMap::new(),
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
        self.work.clear();
        self.promoted.clear();
        self.received.clear();
        self.durable.names.clear();
        self.broker = Broker::new(Config {
            instance: self.now.as_millis(),
            ..self.config.clone()
        });
        for wanted in [
            Table::Sessions,
            Table::Subscriptions,
            Table::Retained,
            Table::Wills,
        ] {
            for ((table, key), value) in &self.durable.tables {
                if *table == wanted {
                    self.broker
                        .restore_row(*table, key, value)
                        .expect("a row that was written");
                }
            }
        }
        let sessions: Vec<_> = self
            .broker
            .sessions()
            .map(|(id, client)| (id, client.to_bytes()))
            .collect();
        for (session, name) in sessions {
            self.durable.names.insert(session, name.clone());
            for direction in [Direction::In, Direction::Out] {
                let queue = &self.durable.queues[&(name.clone(), direction)];
                let state = QueueState {
                    next_rowid: queue.next,
                    pending: queue.rows.len() as u64,
                };
                self.broker.restore_queue(session, direction, state);
            }
        }
        self.broker.handle_start(self.now);
        self.drain();
    }

    /// Lets the disk do everything that was handed over.
    pub(crate) fn sync(&mut self) {
        while self.disk_step() {}
        self.drain();
    }

    /// Whether the disk has anything to do.
    pub(crate) fn disk_is_busy(&self) -> bool {
        !self.work.is_empty()
    }

    /// Lets the disk do the next thing; `false` where there is none.
    pub(crate) fn disk_step(&mut self) -> bool {
        let Some(work) = self.work.pop_front() else {
            return false;
        };
        match work {
            Work::Commit(seq, ops) => {
                self.durable.apply(&ops);
                self.broker.handle_durable(seq, self.now);
            }
            Work::Resume(session, epoch, window) => {
                let resumed = self.resume(session, window);
                self.broker
                    .handle_resumed(session, epoch, resumed, self.now);
            }
            Work::Promote(session, epoch, count) => {
                let promoted = self.promote(session, count);
                self.broker
                    .handle_promoted(session, epoch, promoted, self.now);
            }
        }
        self.drain();
        true
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
                    self.work.push_back(Work::Commit(seq, ops));
                }
                Output::Resume {
                    session,
                    epoch,
                    window,
                } => self.work.push_back(Work::Resume(session, epoch, window)),
                Output::Promote {
                    session,
                    epoch,
                    count,
                } => self.work.push_back(Work::Promote(session, epoch, count)),
            }
        }
        while self.auto_sync && self.disk_step() {}
    }

    /// The queues of a session, or nothing where it has ended meanwhile.
    fn resume(&mut self, session: SessionId, window: u16) -> Option<Resumed> {
        self.durable.names.get(&session)?;
        let inbound = self.durable.queue(session, Direction::In).rows.clone();
        let outbound = self.durable.queue(session, Direction::Out).rows.clone();
        let (mut taken, mut queued, mut last) = (Vec::new(), 0, 0);
        for (rowid, row) in &outbound {
            if row.2.is_some() || taken.len() < usize::from(window) {
                taken.push(stored(*rowid, row));
                last = *rowid;
            } else {
                queued += 1;
            }
        }
        self.promoted.insert(session, last);
        let inbound = inbound
            .iter()
            .map(|(rowid, row)| stored(*rowid, row))
            .collect();
        Some(Resumed {
            inbound,
            outbound: taken,
            queued,
        })
    }

    fn promote(&mut self, session: SessionId, count: u16) -> Vec<Stored> {
        let last = self.promoted.entry(session).or_default();
        let Some(name) = self.durable.names.get(&session) else {
            return Vec::new();
        };
        let queue = &self.durable.queues[&(name.clone(), Direction::Out)];
        let next: Vec<Stored> = queue
            .rows
            .range(*last + 1..)
            .filter(|(_, row)| row.1.state == Handshake::Queued)
            .take(usize::from(count))
            .map(|(rowid, row)| stored(*rowid, row))
            .collect();
        *last = next.last().map_or(*last, |it| it.rowid.0);
        next
    }

    /// Messages in all queues on disk.
    pub(crate) fn stored_messages(&self) -> usize {
        self.durable.queues.values().map(|it| it.rows.len()).sum()
    }

    /// Messages to clients that are on disk.
    pub(crate) fn stored_out(&self) -> usize {
        let queues = self.durable.queues.iter();
        queues
            .filter(|((_, direction), _)| *direction == Direction::Out)
            .map(|(_, it)| it.rows.len())
            .sum()
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
        self.open_from(Peer { loopback: true })
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
