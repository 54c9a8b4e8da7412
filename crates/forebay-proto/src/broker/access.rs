//! Who may do what, asked where it matters.
//!
//! Owns the questions of the broker machine to its [`Access`], and what a no leads to. The rules
//! can be replaced at any time: the next packet, and the next message handed on, are judged by
//! the new ones. What was acknowledged before stays acknowledged.

use alloc::vec::Vec;

use crate::{
    access::{Access, RefusedPublish, Who},
    broker::{Broker, Op, Session, Table, commit::Effect},
    id::{ConnectionId, SessionId},
    limits::Limits,
    packet::{Ack, Packet, Publish, QoS, Version},
    reason::ReasonCode,
    subscription::Match,
    text::Text,
    time::Instant,
};

impl Session {
    fn who(&self) -> Who<'_> {
        Who {
            user: self.user.as_ref().map(Text::as_str),
            client_id: self.client_id.as_str(),
        }
    }
}

impl Broker {
    /// Takes new rules. Nobody is disconnected by them.
    pub fn handle_access(&mut self, access: Access) {
        self.config.access = access;
    }

    /// Takes new bounds. What is there already may pass them; what is new is judged by them.
    /// Those that a client was told in its CONNACK hold for it until it comes again.
    pub fn handle_limits(&mut self, limits: Limits) {
        self.config.limits = limits;
    }

    /// Who and what is let in.
    pub const fn access(&self) -> &Access {
        &self.config.access
    }

    fn allows(&self, session: SessionId, judge: impl Fn(&Access, Who<'_>) -> bool) -> bool {
        let access = &self.config.access;
        !access.judges()
            || self
                .sessions
                .get(&session)
                .is_some_and(|it| judge(access, it.who()))
    }

    pub(super) fn may_publish(&self, session: SessionId, topic: &str) -> bool {
        self.allows(session, |access, who| access.may_publish(who, topic))
    }

    pub(super) fn may_receive(&self, session: SessionId, topic: &str) -> bool {
        self.allows(session, |access, who| access.may_receive(who, topic))
    }

    pub(super) fn may_subscribe(&self, session: SessionId, filter: &str) -> bool {
        self.allows(session, |access, who| access.may_subscribe(who, filter))
    }

    /// Whom a message of `topic` reaches: who subscribed and may read it.
    pub(super) fn receivers(&mut self, topic: &str, publisher: Option<SessionId>) -> Vec<Match> {
        let mut found = self.tree.matches(topic, publisher);
        if self.config.access.judges() {
            let matched = found.len();
            found.retain(|it| self.may_receive(it.session, topic));
            self.stats.denied.delivery += (matched - found.len()) as u64;
        }
        found
    }

    /// Answers a publish that its client may not make.
    ///
    /// Spec: [MQTT311-3.3.5-2]
    pub(super) fn deny_publish(
        &mut self,
        connection: ConnectionId,
        publish: &Publish,
        now: Instant,
    ) {
        self.stats.denied.publish += 1;
        let reason = ReasonCode::NOT_AUTHORIZED;
        let answer = match (publish.qos, publish.packet_id) {
            (QoS::AtLeastOnce, Some(id)) => Packet::PubAck(Ack::new(id, reason)),
            (QoS::ExactlyOnce, Some(id)) => Packet::PubRec(Ack::new(id, reason)),
            // Nobody waits for an answer.
            (QoS::AtMostOnce | QoS::AtLeastOnce | QoS::ExactlyOnce, _) => return,
        };
        let answers = self.version(connection) == Version::V5
            || self.config.access.refused_publish == RefusedPublish::Acknowledge;
        if answers {
            self.count_unacknowledged(connection);
            self.after_commit(Effect::Transmit(connection, answer), now);
        } else {
            self.close(connection, reason, now);
        }
    }

    /// Notes whose session it is from here on.
    pub(super) fn set_user(&mut self, session: SessionId, user: Option<Text>) {
        let Some(it) = self.sessions.get_mut(&session) else {
            return;
        };
        if it.user == user {
            return;
        }
        it.user = user.map(|user| user.detach());
        let key = it.client_id.to_bytes();
        let table = Table::Users;
        let op = match &it.user {
            Some(user) => Op::Put {
                table,
                key,
                value: user.to_bytes(),
            },
            None => Op::Delete { table, key },
        };
        self.op(op);
    }
}
