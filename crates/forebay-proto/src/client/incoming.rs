//! What comes from the server.
//!
//! Owns the answer to each packet. Chapters 3 and 4 from the client's side.

use super::{
    Client, State,
    event::{self, ClientEvent, Connected, Ending, PeerLimits},
    inbound::Arrival,
    outbound::{Answer, Use},
};
use crate::{
    packet::{Ack, ConnAck, Packet, Publish, SubAck, Version},
    reason::ReasonCode,
    session::Handshake,
    time::Instant,
};

impl Client {
    pub(super) fn connack(&mut self, connack: &ConnAck, now: Instant) {
        let properties = &connack.properties;
        if connack.reason != ReasonCode::SUCCESS {
            let text = event::text(properties);
            self.close(Ending::Refused {
                reason: connack.reason,
                text,
            });
            return;
        }
        self.state = State::Connected;
        self.limits = PeerLimits::of(connack, self.config.keep_alive_secs);
        self.connected_before = true;
        if connack.session_present {
            self.outbound.resumed();
        } else {
            self.session_lost();
        }
        self.event(ClientEvent::Connected(Connected {
            session_present: connack.session_present,
            assigned_client_id: properties
                .assigned_client_identifier()
                .and_then(event::owned),
            session_expiry_secs: properties.session_expiry_interval(),
            limits: self.limits,
        }));
        self.send(now);
    }

    pub(super) fn connected_packet(&mut self, packet: Packet, now: Instant) {
        match packet {
            Packet::Publish(publish) => self.message(publish, now),
            Packet::PubAck(ack) => self.acknowledged(&ack, Handshake::WaitForPubAck, now),
            Packet::PubRec(ack) => self.acknowledged(&ack, Handshake::WaitForPubRec, now),
            Packet::PubComp(ack) => self.acknowledged(&ack, Handshake::WaitForPubComp, now),
            Packet::PubRel(ack) => {
                let reply = self.inbound.released(ack.packet_id);
                self.transmit(reply, now);
            }
            Packet::SubAck(suback) => self.subscribed(suback),
            Packet::UnsubAck(unsuback) => self.unsubscribed(unsuback),
            Packet::PingResp => {}
            Packet::Disconnect(disconnect) => {
                let text = event::text(&disconnect.properties);
                self.close(Ending::ByServer {
                    reason: disconnect.reason,
                    text,
                });
            }
            Packet::Connect(_)
            | Packet::ConnAck(_)
            | Packet::Subscribe(_)
            | Packet::Unsubscribe(_)
            | Packet::PingReq
            | Packet::Auth(_) => self.violation("a packet that was not asked for", now),
        }
    }

    fn message(&mut self, publish: Publish, now: Instant) {
        // No alias was granted.
        if publish.topic.is_empty() || publish.properties.topic_alias().is_some() {
            return self.refuse(ReasonCode::TOPIC_ALIAS_INVALID, "a topic alias", now);
        }
        let Some(packet_id) = publish.packet_id else {
            return self.event(ClientEvent::Message {
                publish,
                receipt: None,
            });
        };
        // Below MQTT 5 the server was not told of any bound.
        let held = self.config.version == Version::V5 && !self.config.forgives_excess;
        let maximum = if held {
            self.config.receive_maximum
        } else {
            u16::MAX
        };
        match self.inbound.arrived(packet_id, publish.qos, maximum) {
            Arrival::New(receipt) if self.config.acknowledge_at_once => {
                self.event(ClientEvent::Message {
                    publish,
                    receipt: None,
                });
                self.acknowledge(receipt, ReasonCode::SUCCESS, now);
            }
            Arrival::New(receipt) => {
                self.event(ClientEvent::Message {
                    publish,
                    receipt: Some(receipt),
                });
            }
            Arrival::Again(packet) => self.transmit(packet, now),
            Arrival::Ignored => {}
            Arrival::TooMany => {
                self.refuse(
                    ReasonCode::RECEIVE_MAXIMUM_EXCEEDED,
                    "more than was granted",
                    now,
                );
            }
        }
    }

    fn acknowledged(&mut self, ack: &Ack, expected: Handshake, now: Instant) {
        match self.outbound.acknowledged(ack, expected) {
            Answer::Done(token, verdict) => {
                self.event(ClientEvent::Published { token, verdict });
                self.send(now);
            }
            Answer::Reply(packet) => self.transmit(packet, now),
            Answer::Nothing => {}
        }
    }

    fn subscribed(&mut self, suback: SubAck) {
        let token = self
            .outbound
            .answered(suback.packet_id, |purpose| match purpose {
                Use::Subscribe(token) => Some(token),
                Use::Publish(_) | Use::Unsubscribe(_) => None,
            });
        if let Some(token) = token {
            let text = event::text(&suback.properties);
            self.event(ClientEvent::Subscribed {
                token,
                reasons: suback.reasons,
                text,
            });
        }
    }

    fn unsubscribed(&mut self, unsuback: SubAck) {
        let token = self
            .outbound
            .answered(unsuback.packet_id, |purpose| match purpose {
                Use::Unsubscribe(token) => Some(token),
                Use::Publish(_) | Use::Subscribe(_) => None,
            });
        if let Some(token) = token {
            self.event(ClientEvent::Unsubscribed {
                token,
                reasons: unsuback.reasons,
            });
        }
    }
}
