//! Messages on their way to the server.
//!
//! Owns the queue of those that wait, the exchanges in flight and the packet identifiers.
//! Chapters 4.3, 4.4, 4.6 and 4.9.
//!
//! ```text
//! waiting ─▶ QoS 1: WaitForPubAck ─▶ verdict
//!         └▶ QoS 2: WaitForPubRec ─▶ WaitForPubComp ─▶ verdict
//! ```

use alloc::collections::{BTreeMap, VecDeque};

use super::event::{PeerLimits, PublishToken, RequestToken, Unsendable, Verdict, text};
use crate::{
    id::PacketId,
    packet::{Ack, Packet, Publish, QoS, Version, encoded_len},
    reason::ReasonCode,
    session::Handshake,
};

/// What a packet identifier stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Publish(PublishToken),
    Subscribe(RequestToken),
    Unsubscribe(RequestToken),
}

#[derive(Debug)]
struct Exchange {
    packet_id: PacketId,
    /// What to send again; `None` once the server has it.
    publish: Option<Publish>,
    state: Handshake,
}

/// What comes of an acknowledgement.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The exchange is over.
    Done(PublishToken, Verdict),
    /// Send this.
    Reply(Packet),
    /// It belongs to nothing that is under way.
    Nothing,
}

#[derive(Debug)]
pub(super) struct Outbound {
    waiting: VecDeque<(PublishToken, Publish)>,
    /// In the order of the calls, which is the order of sending.
    exchanges: BTreeMap<PublishToken, Exchange>,
    ids: BTreeMap<PacketId, Use>,
    last_id: u16,
    next_token: u64,
    /// Exchanges of an earlier connection that are yet to be taken up again, in order.
    resend: VecDeque<PublishToken>,
    /// Exchanges that take part of the quota on this connection.
    open: usize,
}

impl Outbound {
    pub(super) fn new() -> Self {
        Self {
            waiting: VecDeque::new(),
            exchanges: BTreeMap::new(),
            ids: BTreeMap::new(),
            last_id: 0,
            next_token: 0,
            resend: VecDeque::new(),
            open: 0,
        }
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn unanswered(&self) -> usize {
        self.waiting.len() + self.exchanges.len()
    }

    pub(super) fn push(&mut self, publish: Publish) -> PublishToken {
        let token = PublishToken(self.token());
        self.waiting.push_back((token, publish));
        token
    }

    pub(super) fn token(&mut self) -> u64 {
        self.next_token += 1;
        self.next_token
    }

    /// Takes a free packet identifier for `purpose`.
    pub(super) fn claim(&mut self, purpose: Use) -> Option<PacketId> {
        if self.ids.len() >= usize::from(u16::MAX) {
            return None;
        }
        loop {
            self.last_id = self.last_id.checked_add(1).unwrap_or(1);
            let id = PacketId::new(self.last_id)?;
            if let alloc::collections::btree_map::Entry::Vacant(free) = self.ids.entry(id) {
                free.insert(purpose);
                return Some(id);
            }
        }
    }

    /// Ends a request, and says which it was.
    pub(super) fn answered(
        &mut self,
        id: PacketId,
        is: fn(Use) -> Option<RequestToken>,
    ) -> Option<RequestToken> {
        let token = is(*self.ids.get(&id)?)?;
        self.ids.remove(&id);
        Some(token)
    }

    /// The next thing to send, as far as the quota goes.
    pub(super) fn next(
        &mut self,
        version: Version,
        limits: &PeerLimits,
        quota: usize,
    ) -> Option<Next> {
        while let Some(token) = self.resend.front().copied() {
            let Some(exchange) = self.exchanges.get(&token) else {
                self.resend.pop_front();
                continue;
            };
            let packet = match &exchange.publish {
                // A PUBREL is owed whatever the quota.
                None => Packet::PubRel(Ack::new(exchange.packet_id, ReasonCode::SUCCESS)),
                Some(_) if self.open >= quota => return None,
                Some(publish) => Packet::Publish(Publish {
                    dup: true,
                    ..publish.clone()
                }),
            };
            self.resend.pop_front();
            self.open += 1;
            return Some(Next::Packet(packet));
        }
        let (_, first) = self.waiting.front()?;
        if first.qos != QoS::AtMostOnce && self.open >= quota {
            return None;
        }
        let (token, mut publish) = self.waiting.pop_front()?;
        if let Err(unsendable) = sendable(&mut publish, version, limits) {
            return Some(Next::Verdict(token, Verdict::NotSent(unsendable)));
        }
        let state = match publish.qos {
            QoS::AtMostOnce => return Some(Next::Sent(token, Packet::Publish(publish))),
            QoS::AtLeastOnce => Handshake::WaitForPubAck,
            QoS::ExactlyOnce => Handshake::WaitForPubRec,
        };
        let Some(packet_id) = self.claim(Use::Publish(token)) else {
            self.waiting.push_front((token, publish));
            return None;
        };
        publish.packet_id = Some(packet_id);
        let packet = Packet::Publish(publish.clone());
        self.exchanges.insert(
            token,
            Exchange {
                packet_id,
                publish: Some(publish),
                state,
            },
        );
        self.open += 1;
        Some(Next::Packet(packet))
    }

    /// PUBACK, PUBREC or PUBCOMP, which ends or moves on an exchange in state `expected`.
    pub(super) fn acknowledged(&mut self, ack: &Ack, expected: Handshake) -> Answer {
        let Some(Use::Publish(token)) = self.ids.get(&ack.packet_id).copied() else {
            return Answer::Nothing;
        };
        let Some(exchange) = self.exchanges.get_mut(&token) else {
            return Answer::Nothing;
        };
        let refused = ack.reason.is_error();
        let known = ReasonCode::PACKET_IDENTIFIER_NOT_FOUND;
        let verdict = match (exchange.state, expected) {
            (Handshake::WaitForPubRec, Handshake::WaitForPubRec) if !refused => {
                exchange.state = Handshake::WaitForPubComp;
                exchange.publish = None;
                return Answer::Reply(pubrel(ack.packet_id));
            }
            // Sent once more by the server: the PUBREL is owed again.
            (Handshake::WaitForPubComp, Handshake::WaitForPubRec) if !refused => {
                return Answer::Reply(pubrel(ack.packet_id));
            }
            (Handshake::WaitForPubComp, Handshake::WaitForPubComp) if ack.reason == known => {
                Verdict::Delivered(ack.reason)
            }
            (state, expected) if state != expected => return Answer::Nothing,
            _ if refused => Verdict::Refused {
                reason: ack.reason,
                text: text(&ack.properties),
            },
            _ => Verdict::Delivered(ack.reason),
        };
        self.exchanges.remove(&token);
        self.ids.remove(&ack.packet_id);
        if let Some(at) = self.resend.iter().position(|&other| other == token) {
            // Answered before it was sent again: it never took part of this quota.
            self.resend.remove(at);
        } else {
            self.open = self.open.saturating_sub(1);
        }
        Answer::Done(token, verdict)
    }

    /// The connection is over: requests end, exchanges stay.
    pub(super) fn disconnected(&mut self) {
        self.ids
            .retain(|_, purpose| matches!(purpose, Use::Publish(_)));
        self.resend.clear();
        self.open = 0;
    }

    /// The server went on with the session: everything unanswered is taken up again.
    pub(super) fn resumed(&mut self) {
        self.resend = self.exchanges.keys().copied().collect();
    }

    /// The session is gone: the exchanges that were under way have lost their answer.
    pub(super) fn forget(&mut self) -> impl Iterator<Item = PublishToken> {
        self.ids.clear();
        core::mem::take(&mut self.exchanges).into_keys()
    }
}

/// The next step of sending.
#[derive(Debug)]
pub(super) enum Next {
    /// Send this.
    Packet(Packet),
    /// Send this; nothing more will be heard of it.
    Sent(PublishToken, Packet),
    /// It is not to be sent.
    Verdict(PublishToken, Verdict),
}

fn pubrel(packet_id: PacketId) -> Packet {
    Packet::PubRel(Ack::new(packet_id, ReasonCode::SUCCESS))
}

/// Whether the server takes `publish`.
///
/// Spec: [MQTT-3.2.2-11], [MQTT-3.2.2-14], [MQTT-3.2.2-15]
fn sendable(
    publish: &mut Publish,
    version: Version,
    limits: &PeerLimits,
) -> Result<(), Unsendable> {
    if publish.qos > limits.maximum_qos {
        return Err(Unsendable::QoS {
            qos: publish.qos,
            limit: limits.maximum_qos,
        });
    }
    if publish.retain && !limits.retain_available {
        return Err(Unsendable::Retain);
    }
    // Stands for whichever identifier it will get: the length is the same.
    publish.packet_id = match publish.qos {
        QoS::AtMostOnce => None,
        QoS::AtLeastOnce | QoS::ExactlyOnce => PacketId::new(1),
    };
    let size = encoded_len(&Packet::Publish(publish.clone()), version);
    if size > MAX_ENCODED {
        return Err(Unsendable::Unencodable);
    }
    match limits.maximum_packet_size {
        Some(limit) if size > limit as usize => Err(Unsendable::TooLarge { size, limit }),
        _ => Ok(()),
    }
}

/// The largest packet there can be: a fixed header of 5 bytes and 268,435,455.
const MAX_ENCODED: usize = 5 + 268_435_455;
