//! A network connection as the machine sees it.

use alloc::{boxed::Box, collections::VecDeque};

use crate::{
    broker::{
        Peer,
        alias::{Given, Received},
    },
    id::{Seq, SessionId},
    packet::{Connect, Packet, Version, encoded_len},
    time::Instant,
};

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// No CONNECT yet.
    Opening,
    /// CONNECT taken, whose name and password are being checked.
    Checking,
    /// CONNECT taken, CONNACK owed.
    Connecting(SessionId),
    /// CONNACK sent.
    Live(SessionId),
}

/// A network connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) peer: Peer,
    pub(super) phase: Phase,
    pub(super) version: Version,
    pub(super) last_received: Instant,
    /// Silence after which the connection ends, milliseconds; 0 is never.
    pub(super) silence_ms_max: u64,
    /// When the machine looks at the connection next.
    pub(super) watched_until: Option<Instant>,
    /// The largest packet the client takes, bytes.
    pub(super) max_packet_size: u32,
    /// QoS 1 and 2 messages of the client that are not answered to the end.
    pub(super) unacknowledged: u32,
    /// How many those may be, as the client was told.
    pub(super) receive_maximum: u16,
    /// The topic aliases of the client.
    pub(super) received: Received,
    /// The topic aliases given to it.
    pub(super) given: Given,
    /// The commit that holds all that its packets decided.
    pub(super) decided: Seq,
    /// The CONNECT whose name and password are being checked.
    pub(super) connect: Option<Box<Connect>>,
    /// Packets that came before the CONNACK was sent.
    early: VecDeque<Packet>,
    early_bytes: u32,
}

impl Connection {
    pub(super) fn new(peer: Peer, now: Instant) -> Self {
        Self {
            peer,
            phase: Phase::Opening,
            version: Version::V3_1_1,
            last_received: now,
            silence_ms_max: 0,
            watched_until: None,
            max_packet_size: u32::MAX,
            unacknowledged: 0,
            receive_maximum: u16::MAX,
            received: Received::default(),
            given: Given::default(),
            decided: Seq(0),
            connect: None,
            early: VecDeque::new(),
            early_bytes: 0,
        }
    }

    /// The session, once a CONNECT was taken.
    pub(super) const fn session(&self) -> Option<SessionId> {
        match self.phase {
            Phase::Opening | Phase::Checking => None,
            Phase::Connecting(session) | Phase::Live(session) => Some(session),
        }
    }

    /// Keeps a packet until the CONNACK is sent.
    ///
    /// Spec: [MQTT-3.1.4-5] lets clients send before they have the CONNACK.
    pub(super) fn keep_early(&mut self, packet: Packet) {
        let bytes = encoded_len(&packet, self.version).saturating_add(64) as u32;
        self.early_bytes = self.early_bytes.saturating_add(bytes);
        self.early.push_back(packet);
    }

    /// Whether one more packet may be kept, or none has to be.
    pub(super) const fn has_room(&self, early_bytes_max: u32) -> bool {
        self.early_bytes < early_bytes_max
    }

    pub(super) fn take_early(&mut self) -> VecDeque<Packet> {
        self.early_bytes = 0;
        core::mem::take(&mut self.early)
    }

    /// Gives a place in our Receive Maximum back where `packet` ends an exchange.
    pub(super) fn answered(&mut self, packet: &Packet) {
        let ends = match packet {
            Packet::PubAck(_) | Packet::PubComp(_) => true,
            Packet::PubRec(ack) => ack.reason.is_error(),
            Packet::Connect(_)
            | Packet::ConnAck(_)
            | Packet::Publish(_)
            | Packet::PubRel(_)
            | Packet::Subscribe(_)
            | Packet::SubAck(_)
            | Packet::Unsubscribe(_)
            | Packet::UnsubAck(_)
            | Packet::PingReq
            | Packet::PingResp
            | Packet::Disconnect(_)
            | Packet::Auth(_) => false,
        };
        if ends {
            self.unacknowledged = self.unacknowledged.saturating_sub(1);
        }
    }

    /// Has a topic alias stand for the topic name of `packet`, if it is a PUBLISH and the client
    /// takes aliases.
    pub(super) fn shorten(&mut self, packet: &mut Packet) {
        if let Packet::Publish(publish) = packet {
            let (max, version) = (self.max_packet_size, self.version);
            self.given.shorten(publish, |longer| {
                let longer = || encoded_len(&Packet::Publish(longer.clone()), version);
                max == u32::MAX || longer() <= max as usize
            });
        }
    }

    /// Whether the client takes a packet of that size.
    pub(super) fn takes(&self, packet: &Packet) -> bool {
        self.max_packet_size == u32::MAX
            || encoded_len(packet, self.version) <= self.max_packet_size as usize
    }

    /// When the connection ends if nothing more comes.
    pub(super) fn silent_until(&self) -> Option<Instant> {
        let wait = core::time::Duration::from_millis(self.silence_ms_max);
        (self.silence_ms_max > 0).then(|| self.last_received.after(wait))
    }
}
