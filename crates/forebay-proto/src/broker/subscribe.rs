//! SUBSCRIBE and UNSUBSCRIBE.

use alloc::vec::Vec;

use crate::{
    broker::{Broker, Op, Table, commit::Effect, persist},
    id::{ConnectionId, SessionId},
    packet::{Packet, QoS, RetainHandling, SubAck, Subscribe, SubscriptionOptions, Unsubscribe},
    property::Properties,
    reason::ReasonCode,
    subscription::Subscription,
    text::Text,
    time::Instant,
    topic::TopicFilter,
};

impl Broker {
    /// Spec: [MQTT-3.8.4-1] to [MQTT-3.8.4-8]
    pub(super) fn subscribe(
        &mut self,
        connection: ConnectionId,
        session: SessionId,
        packet: &Subscribe,
        now: Instant,
    ) {
        // [MQTT-4.7.3-1]
        if packet.filters.iter().any(|(filter, _)| filter.is_empty()) {
            self.close(connection, ReasonCode::PROTOCOL_ERROR, now);
            return;
        }
        let identifier = packet.properties.subscription_identifiers().next();
        let mut reasons = Vec::with_capacity(packet.filters.len());
        let mut replay = Vec::new();
        for (filter, options) in &packet.filters {
            let subscription = Subscription {
                options: *options,
                identifier,
            };
            match self.add_subscription(session, filter, subscription) {
                Ok(is_new) => {
                    reasons.push(granted(options.qos));
                    if wants_retained(*options, is_new) {
                        replay.push((filter, subscription));
                    }
                }
                Err(reason) => reasons.push(reason),
            }
        }
        let properties = Properties::EMPTY;
        let suback = SubAck {
            packet_id: packet.packet_id,
            properties,
            reasons,
        };
        self.after_commit(Effect::Transmit(connection, Packet::SubAck(suback)), now);
        for (filter, subscription) in replay {
            self.replay_retained(session, filter, subscription, now);
        }
    }

    /// Whether the subscription is new.
    fn add_subscription(
        &mut self,
        session: SessionId,
        filter: &Text,
        subscription: Subscription,
    ) -> Result<bool, ReasonCode> {
        let limits = &self.config.limits;
        let parsed =
            TopicFilter::new(filter.clone()).map_err(|_| ReasonCode::TOPIC_FILTER_INVALID)?;
        if parsed.levels().count() > usize::from(limits.max_topic_levels) {
            return Err(ReasonCode::TOPIC_FILTER_INVALID);
        }
        if parsed.is_shared() {
            return Err(ReasonCode::SHARED_SUBSCRIPTIONS_NOT_SUPPORTED);
        }
        if !self.may_subscribe(session, parsed.filter()) {
            self.stats.denied.subscribe += 1;
            return Err(ReasonCode::NOT_AUTHORIZED);
        }
        let it = self
            .sessions
            .get_mut(&session)
            .ok_or(ReasonCode::UNSPECIFIED_ERROR)?;
        let known = it.filters.contains(filter);
        let full = it.filters.len() >= limits.max_subscriptions as usize;
        if self.storage_full || (!known && full) {
            return Err(ReasonCode::QUOTA_EXCEEDED);
        }
        let filter = filter.detach();
        it.filters.insert(filter.clone());
        let key = persist::subscription_key(&it.client_id, &filter);
        let value = persist::encode_subscription(subscription);
        self.tree.insert(filter.as_str(), session, subscription);
        self.op(Op::Put {
            table: Table::Subscriptions,
            key,
            value,
        });
        Ok(!known)
    }

    fn replay_retained(
        &mut self,
        session: SessionId,
        filter: &Text,
        subscription: Subscription,
        now: Instant,
    ) {
        let Ok(parsed) = TopicFilter::new(filter.clone()) else {
            return;
        };
        for (topic, message) in self.retained.matching(&parsed) {
            if message.is_expired(now) {
                self.retained.remove(&topic);
                self.op(Op::Delete {
                    table: Table::Retained,
                    key: topic.to_bytes(),
                });
                continue;
            }
            if !self.may_receive(session, topic.as_str()) {
                self.stats.denied.delivery += 1;
                continue;
            }
            let Subscription {
                options,
                identifier,
            } = subscription;
            self.deliver_retained(session, &message, options.qos, identifier, now);
            self.cut_large_commit();
        }
    }

    /// Spec: [MQTT-3.10.4-4] to [MQTT-3.10.4-6]
    pub(super) fn unsubscribe(
        &mut self,
        connection: ConnectionId,
        session: SessionId,
        packet: &Unsubscribe,
        now: Instant,
    ) {
        let mut reasons = Vec::with_capacity(packet.filters.len());
        for filter in &packet.filters {
            let Some(it) = self.sessions.get_mut(&session) else {
                return;
            };
            if it.filters.remove(filter) {
                let key = persist::subscription_key(&it.client_id, filter);
                self.tree.remove(filter.as_str(), session);
                self.op(Op::Delete {
                    table: Table::Subscriptions,
                    key,
                });
                reasons.push(ReasonCode::SUCCESS);
            } else {
                reasons.push(ReasonCode::NO_SUBSCRIPTION_EXISTED);
            }
        }
        let properties = Properties::EMPTY;
        let unsuback = SubAck {
            packet_id: packet.packet_id,
            properties,
            reasons,
        };
        self.after_commit(
            Effect::Transmit(connection, Packet::UnsubAck(unsuback)),
            now,
        );
    }
}

const fn granted(qos: QoS) -> ReasonCode {
    match qos {
        QoS::AtMostOnce => ReasonCode::SUCCESS,
        QoS::AtLeastOnce => ReasonCode::GRANTED_QOS_1,
        QoS::ExactlyOnce => ReasonCode::GRANTED_QOS_2,
    }
}

/// Spec: [MQTT-3.3.1-9] to [MQTT-3.3.1-11]
const fn wants_retained(options: SubscriptionOptions, is_new: bool) -> bool {
    match options.retain_handling {
        RetainHandling::Send => true,
        RetainHandling::SendIfNew => is_new,
        RetainHandling::DontSend => false,
    }
}
