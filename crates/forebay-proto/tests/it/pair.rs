//! The real client machine at both ends of the real broker machine: every packet goes as bytes
//! through pipes that deliver in pieces, late, or not at all, on virtual time.
//!
//! Nothing runs by itself: [`Pair::possible`] says what could happen next and [`Pair::take`] lets
//! it happen, so a test can stop at any step and cut, crash or pass time there.

mod end;
mod random;
mod steps;
mod wire;

use bytes::BytesMut;
use forebay_proto::{Config, ConnectionId, Decoder, Packet, Role, Version, encode, encoded_len};
use std::collections::{BTreeMap, VecDeque};

use crate::bed::Bed;

pub(crate) use end::End;
use wire::Wire;

/// What can happen next. Numbers are places in [`Pair::ends`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A client opens a connection.
    Connect(usize),
    /// Bytes, or the end of them, reach the broker.
    Up(usize),
    /// Bytes, or the end of them, reach a client.
    Down(usize),
    /// Bytes reach the broker on the oldest connection that its client has given up.
    Late,
    /// The disk does the next thing.
    Disk,
}

/// One direction of a connection.
#[derive(Default)]
struct Pipe {
    bytes: VecDeque<u8>,
    /// Nothing comes after `bytes`.
    ended: bool,
    /// What was delivered and is no whole packet yet.
    delivered: BytesMut,
}

impl Pipe {
    fn write(&mut self, packet: &Packet, version: Version) {
        let mut bytes = Vec::new();
        encode(packet, version, &mut bytes).expect("a machine sends what has an encoding");
        assert_eq!(bytes.len(), encoded_len(packet, version));
        self.bytes.extend(bytes);
    }

    fn has_news(&self) -> bool {
        self.ended || !self.bytes.is_empty()
    }

    fn deliver(&mut self, bytes_max: usize) {
        let count = bytes_max.min(self.bytes.len());
        self.delivered.extend(self.bytes.drain(..count));
    }
}

/// A connection.
struct Link {
    id: ConnectionId,
    /// Whose it is.
    end: usize,
    up: Pipe,
    down: Pipe,
    to_server: Decoder,
    to_client: Decoder,
}

/// Clients, the broker and what is under way between them.
pub(crate) struct Pair {
    pub(crate) bed: Bed,
    pub(crate) ends: Vec<End>,
    /// The most bytes that one step delivers.
    pub(crate) piece: usize,
    pub(crate) steps: u64,
    links: BTreeMap<usize, Link>,
    /// Connections that their clients have given up and the broker still reads.
    late: VecDeque<Link>,
    turn: usize,
    wire: Wire,
}

impl Pair {
    pub(crate) fn new(config: Config, ends: Vec<End>, piece: usize) -> Self {
        let mut bed = Bed::with(config);
        bed.sync();
        bed.auto_sync = false;
        let wire = Wire::new(ends.len());
        Self {
            bed,
            ends,
            piece,
            steps: 0,
            links: BTreeMap::new(),
            late: VecDeque::new(),
            turn: 0,
            wire,
        }
    }

    /// Everything that can happen now.
    pub(crate) fn possible(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for end in 0..self.ends.len() {
            match self.links.get(&end) {
                None => steps.push(Step::Connect(end)),
                Some(link) => {
                    steps.extend(link.up.has_news().then_some(Step::Up(end)));
                    steps.extend(link.down.has_news().then_some(Step::Down(end)));
                }
            }
        }
        steps.extend((!self.late.is_empty()).then_some(Step::Late));
        steps.extend(self.bed.disk_is_busy().then_some(Step::Disk));
        steps
    }

    /// Lets the next thing happen, each in its turn; `false` where all is quiet.
    pub(crate) fn step(&mut self) -> bool {
        let steps = self.possible();
        if steps.is_empty() {
            return false;
        }
        self.turn += 1;
        self.take(steps[self.turn % steps.len()]);
        true
    }

    /// Lets `step`, which must be possible, happen.
    pub(crate) fn take(&mut self, step: Step) {
        self.steps += 1;
        match step {
            Step::Connect(end) => self.connect(end),
            Step::Up(end) => {
                if let Some(link) = self.links.remove(&end) {
                    let link = self.deliver_up(link, false);
                    self.links.insert(end, link);
                }
            }
            Step::Down(end) => self.deliver_down(end),
            Step::Late => {
                if let Some(link) = self.late.pop_front() {
                    let over = !link.up.has_news();
                    if over {
                        self.bed.cut(link.id);
                    } else {
                        let link = self.deliver_up(link, true);
                        if self.bed.closed(link.id).is_none() {
                            self.late.push_front(link);
                        }
                    }
                }
            }
            Step::Disk => drop(self.bed.disk_step()),
        }
        self.settle();
    }

    /// Lets time pass; the timers of all machines go off on the way.
    pub(crate) fn pass(&mut self, ms: u64) {
        self.bed.advance(ms);
        let now = self.bed.now;
        for end in 0..self.ends.len() {
            let client = &mut self.ends[end].client;
            if client.poll_timeout().is_some_and(|at| at <= now) {
                client.handle_timeout(now);
            }
        }
        self.settle();
    }

    /// Loses a connection and all that is under way on it; both ends learn of it.
    pub(crate) fn cut(&mut self, end: usize) {
        if let Some(link) = self.links.remove(&end) {
            self.bed.cut(link.id);
            self.ends[end].client.handle_closed(self.bed.now);
        }
        self.settle();
    }

    /// Loses a connection of which only the client learns; what it had sent may still arrive.
    pub(crate) fn leave(&mut self, end: usize) {
        if let Some(link) = self.links.remove(&end) {
            self.late.push_back(link);
            self.ends[end].client.handle_closed(self.bed.now);
        }
        self.settle();
    }

    /// Lets a client take its leave.
    pub(crate) fn disconnect(&mut self, end: usize) {
        self.ends[end].client.disconnect(self.bed.now);
        self.settle();
    }

    /// Loses the broker, what no sync covered, and every connection.
    pub(crate) fn crash(&mut self) {
        self.bed.crash();
        self.late.clear();
        for end in 0..self.ends.len() {
            if self.links.remove(&end).is_some() {
                self.ends[end].client.handle_closed(self.bed.now);
            }
        }
        self.settle();
    }

    /// Stops the broker as an operator does, and starts it again; what it said to its clients is
    /// still under way.
    pub(crate) fn restart(&mut self) {
        self.bed.stop();
        self.settle();
        self.late.clear();
        self.bed.crash();
        self.settle();
    }

    /// Lets everything happen until nothing is left to happen.
    pub(crate) fn run_to_quiet(&mut self) {
        let bound = self.steps + 200_000;
        while self.step() {
            assert!(self.steps < bound, "comes to no end: {:?}", self.possible());
        }
    }

    fn connect(&mut self, end: usize) {
        let id = self.bed.open();
        let mut to_client = Decoder::new(Role::Client, 1 << 20);
        to_client.set_version(self.ends[end].version());
        let link = Link {
            id,
            end,
            up: Pipe::default(),
            down: Pipe::default(),
            to_server: Decoder::new(Role::Server, 1 << 20),
            to_client,
        };
        self.links.insert(end, link);
        self.wire.connected(end);
        self.ends[end].client.handle_connected(self.bed.now);
    }

    fn deliver_up(&mut self, mut link: Link, is_late: bool) -> Link {
        if link.up.bytes.is_empty() && link.up.ended {
            link.up.ended = false;
            self.bed.cut(link.id);
            return link;
        }
        link.up.deliver(self.piece);
        loop {
            match link.to_server.decode(&mut link.up.delivered) {
                Ok(Some(packet)) => {
                    if self.bed.closed(link.id).is_none() {
                        let v5 = self.ends[link.end].version() == Version::V5;
                        let quota = v5.then(|| self.bed.limits().receive_maximum);
                        self.wire
                            .reached_broker(link.end, link.id, &packet, quota, is_late);
                    }
                    self.bed.send(link.id, packet);
                }
                Ok(None) => return link,
                Err(error) => panic!("a client sent no packet: {error}"),
            }
        }
    }

    fn deliver_down(&mut self, end: usize) {
        let Some(mut link) = self.links.remove(&end) else {
            return;
        };
        let now = self.bed.now;
        if link.down.bytes.is_empty() && link.down.ended {
            self.ends[end].client.handle_closed(now);
            return;
        }
        link.down.deliver(self.piece);
        let mut packets = Vec::new();
        loop {
            match link.to_client.decode(&mut link.down.delivered) {
                Ok(Some(packet)) => packets.push(packet),
                Ok(None) => break,
                Err(error) => panic!("the broker sent no packet: {error}"),
            }
        }
        let id = link.id;
        self.links.insert(end, link);
        for packet in packets {
            let quota = self.ends[end].receive_maximum();
            self.wire.reached_client(end, id, &packet, quota);
            self.ends[end].client.handle_packet(packet, now);
            self.settle();
        }
    }

    /// Hands on what the machines have put out.
    fn settle(&mut self) {
        let ready = self.ends.iter().all(End::is_ready);
        let now = self.bed.now;
        for (at, end) in self.ends.iter_mut().enumerate() {
            if ready {
                end.publish(now);
            }
            let version = end.version();
            let mut closes = false;
            let link = self.links.get_mut(&at);
            let mut sent = Vec::new();
            end.drain(&mut sent, &mut closes, now);
            match link {
                Some(link) => sent.iter().for_each(|it| link.up.write(it, version)),
                None => assert_eq!(sent, [], "nothing to send without a connection"),
            }
            if closes && let Some(mut link) = self.links.remove(&at) {
                link.up.ended = true;
                self.late.push_back(link);
            }
        }
        for (end, link) in &mut self.links {
            for packet in self.bed.take(link.id) {
                link.down.write(&packet, self.ends[*end].version());
            }
            link.down.ended |= self.bed.closed(link.id).is_some();
        }
        for link in &self.late {
            self.bed.take(link.id);
        }
        let bed = &self.bed;
        self.late.retain(|it| bed.closed(it.id).is_none());
    }
}
