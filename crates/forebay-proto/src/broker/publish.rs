//! A PUBLISH from a client: judged, stored, routed, answered.

use crate::{
    broker::{Broker, Op, commit::Effect, deliver, persist},
    id::{ConnectionId, PacketId, SessionId},
    message::{Message, Parts},
    packet::{Ack, Packet, Publish, QoS, Version},
    reason::ReasonCode,
    session::{Direction, Handshake, Mark, Origin},
    subscription::Match,
    time::Instant,
};

impl Broker {
    pub(super) fn publish(
        &mut self,
        connection: ConnectionId,
        session: SessionId,
        mut publish: Publish,
        now: Instant,
    ) {
        self.stats.count_received(publish.qos);
        if let Err(reason) = self.judge_connection(connection, session, &mut publish) {
            self.close(connection, reason, now);
            return;
        }
        let publish = &publish;
        let stored = self.is_stored(session, publish);
        if !stored && !self.may_publish(session, publish.topic.as_str()) {
            return self.deny_publish(connection, publish, now);
        }
        let message = Message::new(&Parts {
            topic: &publish.topic,
            qos: publish.qos,
            retain: publish.retain,
            expires_at: publish
                .properties
                .message_expiry_interval()
                .map(|it| now.after_secs(it)),
            properties: &persist::travelling(&publish.properties),
            payload: &publish.payload,
        });
        let found = self.receivers(publish.topic.as_str(), Some(session));
        let verdict = self.judge(&message, &found);
        match (publish.qos, publish.packet_id) {
            (QoS::AtLeastOnce, Some(id)) => {
                self.publish_qos1(connection, id, &message, &found, verdict, now);
            }
            (QoS::ExactlyOnce, Some(id)) => {
                let reason = verdict.map(|()| received(&found));
                self.publish_qos2(connection, session, id, &message, reason, now);
            }
            (QoS::AtMostOnce | QoS::AtLeastOnce | QoS::ExactlyOnce, _) => match verdict {
                Ok(()) => self.route(Origin::Client, &message, &found, None, now),
                Err(_) => self.stats.refused += 1,
            },
        }
    }

    /// Durable for every subscriber, then PUBACK.
    ///
    /// Spec: [MQTT-4.3.2-4]
    fn publish_qos1(
        &mut self,
        connection: ConnectionId,
        id: PacketId,
        message: &Message,
        found: &[Match],
        verdict: Result<(), ReasonCode>,
        now: Instant,
    ) {
        self.count_unacknowledged(connection);
        if let Err(reason) = verdict {
            return self.refuse(connection, Packet::PubAck(Ack::new(id, reason)), now);
        }
        self.route(Origin::Client, message, found, None, now);
        let puback = Packet::PubAck(Ack::new(id, received(found)));
        self.after_commit(Effect::Transmit(connection, puback), now);
    }

    /// Durable in the IN queue, then PUBREC; routed when it is released.
    ///
    /// Spec: [MQTT-4.3.3-8] to [MQTT-4.3.3-12]
    fn publish_qos2(
        &mut self,
        connection: ConnectionId,
        session: SessionId,
        id: PacketId,
        message: &Message,
        verdict: Result<ReasonCode, ReasonCode>,
        now: Instant,
    ) {
        let Some(it) = self.sessions.get(&session) else {
            return;
        };
        let held = it.inbound.bytes() + message.encoded().len() as u64;
        let mut reason = ReasonCode::SUCCESS;
        if !it.inbound.contains(id) {
            self.count_unacknowledged(connection);
            let fits = held <= self.config.limits.max_unreleased_bytes;
            reason = match verdict {
                Ok(reason) if fits => reason,
                verdict => {
                    let reason = verdict.err().unwrap_or(ReasonCode::QUOTA_EXCEEDED);
                    return self.refuse(connection, Packet::PubRec(Ack::new(id, reason)), now);
                }
            };
            self.store_inbound(session, id, message, now);
        }
        self.after_commit(
            Effect::Transmit(connection, Packet::PubRec(Ack::new(id, reason))),
            now,
        );
    }

    fn store_inbound(&mut self, session: SessionId, id: PacketId, message: &Message, now: Instant) {
        let Some(it) = self.sessions.get_mut(&session) else {
            return;
        };
        let rowid = it.inbound.take_rowid();
        it.inbound.store(id, rowid, Some(message.clone()));
        let mark = Mark {
            qos: QoS::ExactlyOnce,
            retain: message.retain(),
            dup: false,
            origin: Origin::Client,
            state: Handshake::WaitForPubRel,
        };
        self.op(Op::Content {
            time: now,
            bytes: message.encoded().clone(),
        });
        self.op(Op::Append {
            session,
            direction: Direction::In,
            rowid,
            mark,
            packet_id: Some(id),
            note: bytes::Bytes::new(),
        });
    }

    /// A PUBREL: the message goes to its subscribers and leaves the IN queue in one commit, then
    /// PUBCOMP.
    pub(super) fn pubrel(
        &mut self,
        connection: ConnectionId,
        session: SessionId,
        ack: &Ack,
        now: Instant,
    ) {
        let Some(it) = self.sessions.get_mut(&session) else {
            return;
        };
        let reason = match it.inbound.release(ack.packet_id) {
            Some((rowid, message)) => {
                self.release(session, rowid, message.as_ref(), now);
                ReasonCode::SUCCESS
            }
            None => ReasonCode::PACKET_IDENTIFIER_NOT_FOUND,
        };
        let pubcomp = Packet::PubComp(Ack::new(ack.packet_id, reason));
        self.after_commit(Effect::Transmit(connection, pubcomp), now);
    }

    /// What makes a PUBLISH end its connection. Puts the topic name in the place of its alias.
    fn judge_connection(
        &mut self,
        connection: ConnectionId,
        session: SessionId,
        publish: &mut Publish,
    ) -> Result<(), ReasonCode> {
        let peer = self
            .connections
            .get_mut(&connection)
            .ok_or(ReasonCode::UNSPECIFIED_ERROR)?;
        // [MQTT-3.3.4-6]
        if publish
            .properties
            .subscription_identifiers()
            .next()
            .is_some()
        {
            return Err(ReasonCode::PROTOCOL_ERROR);
        }
        peer.received.resolve(publish)?;
        let full = peer.unacknowledged >= u32::from(peer.receive_maximum);
        let counts = publish.qos != QoS::AtMostOnce && peer.version == Version::V5;
        // [MQTT-3.3.4-9]
        if counts && full && !self.is_stored(session, publish) {
            return Err(ReasonCode::RECEIVE_MAXIMUM_EXCEEDED);
        }
        Ok(())
    }

    /// Whether the message was taken before: it is only answered again.
    fn is_stored(&self, session: SessionId, publish: &Publish) -> bool {
        let held = self.sessions.get(&session).zip(publish.packet_id);
        publish.qos == QoS::ExactlyOnce && held.is_some_and(|(it, id)| it.inbound.contains(id))
    }

    /// The verdict about one message, before anything of it is stored.
    fn judge(&self, message: &Message, found: &[Match]) -> Result<(), ReasonCode> {
        let limits = &self.config.limits;
        let topic = message.topic();
        let levels = topic.as_str().split('/').count();
        if levels > usize::from(limits.max_topic_levels) {
            return Err(ReasonCode::TOPIC_NAME_INVALID);
        }
        if self.storage_full && (message.qos() != QoS::AtMostOnce || message.retain()) {
            return Err(ReasonCode::QUOTA_EXCEEDED);
        }
        let grows = message.retain() && !message.payload().is_empty();
        if grows
            && !self.retained.contains(&topic)
            && self.retained.len() as u64 >= limits.max_retained
        {
            return Err(ReasonCode::QUOTA_EXCEEDED);
        }
        if deliver::commit_bytes(message, found) > limits.max_message_commit_bytes {
            return Err(ReasonCode::QUOTA_EXCEEDED);
        }
        if message.qos() != QoS::AtMostOnce && self.a_queue_is_full(found) {
            return Err(ReasonCode::QUOTA_EXCEEDED);
        }
        Ok(())
    }

    /// Refuses one message and nothing else; below MQTT 5, which has no such answer, the
    /// connection ends.
    fn refuse(&mut self, connection: ConnectionId, answer: Packet, now: Instant) {
        self.stats.refused += 1;
        if self.version(connection) == Version::V5 {
            self.after_commit(Effect::Transmit(connection, answer), now);
        } else {
            self.close(connection, ReasonCode::QUOTA_EXCEEDED, now);
        }
    }

    pub(super) fn count_unacknowledged(&mut self, connection: ConnectionId) {
        if let Some(peer) = self.connections.get_mut(&connection) {
            peer.unacknowledged += 1;
        }
    }
}

/// What a message that was taken is answered with.
const fn received(found: &[Match]) -> ReasonCode {
    if found.is_empty() {
        ReasonCode::NO_MATCHING_SUBSCRIBERS
    } else {
        ReasonCode::SUCCESS
    }
}
