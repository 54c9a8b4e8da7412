//! The client side of a connection, as a machine.
//!
//! Owns what a client knows: the connection's state, messages in flight both ways, keep alive.
//! Never opens a socket and never connects again by itself; exchanges outlive a connection where
//! the session does, in memory. One `handle_*` or command, then drain
//! [`poll_output`](Client::poll_output). Chapters 3 and 4 from the client's side.
//!
//! ```text
//! Idle ─handle_connected─▶ Connecting ─CONNACK─▶ Connected ─┐
//!  ▲                            └────────── end ◀───────────┘
//!  └─────────────────────────────────────────┘
//! ```

mod config;
mod event;
mod inbound;
mod incoming;
mod outbound;
#[cfg(test)]
mod tests;

use alloc::{collections::VecDeque, vec::Vec};
use core::time::Duration;

pub use config::ClientConfig;
pub use event::{
    ClientEvent, ClientOutput, Connected, Ending, PeerLimits, PublishError, PublishToken, Receipt,
    RequestError, RequestToken, Unsendable, Verdict,
};

use crate::{
    id::PacketId,
    packet::{
        DecodeError, Disconnect, Packet, Publish, QoS, Subscribe, SubscriptionOptions, Unsubscribe,
        Version,
    },
    property::{Properties, PropertiesBuilder, Property},
    reason::ReasonCode,
    text::Text,
    time::Instant,
};
use inbound::Inbound;
use outbound::{Next, Outbound, Use};

/// A client of one server.
#[derive(Debug)]
pub struct Client {
    config: ClientConfig,
    state: State,
    outbound: Outbound,
    inbound: Inbound,
    limits: PeerLimits,
    connected_before: bool,
    last_sent: Instant,
    last_received: Instant,
    /// When a PINGREQ without an answer ends the connection.
    ping_deadline: Option<Instant>,
    outputs: VecDeque<ClientOutput>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Connecting { deadline: Instant },
    Connected,
}

impl Client {
    /// A client without a connection.
    pub fn new(config: ClientConfig) -> Self {
        let limits = PeerLimits {
            receive_maximum: u16::MAX,
            maximum_qos: QoS::ExactlyOnce,
            retain_available: true,
            maximum_packet_size: None,
            keep_alive_secs: config.keep_alive_secs,
        };
        Self {
            config,
            state: State::Idle,
            outbound: Outbound::new(),
            inbound: Inbound::default(),
            limits,
            connected_before: false,
            last_sent: Instant::default(),
            last_received: Instant::default(),
            ping_deadline: None,
            outputs: VecDeque::new(),
        }
    }

    /// How the client was made.
    pub const fn config(&self) -> &ClientConfig {
        &self.config
    }

    /// Whether the server has taken the client in.
    pub fn is_connected(&self) -> bool {
        self.state == State::Connected
    }

    /// Publishes without a verdict.
    pub fn unanswered(&self) -> usize {
        self.outbound.unanswered()
    }

    /// Whether another publish would be taken.
    pub fn has_room(&self) -> bool {
        self.outbound.waiting() < self.config.max_waiting
    }

    /// A connection is there.
    pub fn handle_connected(&mut self, now: Instant) {
        self.handle_closed(now);
        self.state = State::Connecting {
            deadline: now.after(self.config.connect_timeout),
        };
        self.last_received = now;
        let connect = self.config.connect(!self.connected_before);
        self.transmit(connect, now);
    }

    /// The connection is gone.
    pub fn handle_closed(&mut self, _now: Instant) {
        if self.state != State::Idle {
            self.end(Ending::Lost);
        }
    }

    /// A packet came.
    pub fn handle_packet(&mut self, packet: Packet, now: Instant) {
        self.last_received = now;
        self.ping_deadline = None;
        match (self.state, packet) {
            (State::Idle, _) => {}
            (State::Connecting { .. }, Packet::ConnAck(connack)) => self.connack(&connack, now),
            (State::Connecting { .. }, _) => self.violation("a packet before CONNACK", now),
            (State::Connected, packet) => self.connected_packet(packet, now),
        }
    }

    /// What came is no packet.
    pub fn handle_malformed(&mut self, error: &DecodeError, now: Instant) {
        if self.state != State::Idle {
            self.refuse(error.reason, error.detail, now);
        }
    }

    /// The instant of [`poll_timeout`](Self::poll_timeout) has come; earlier calls do no harm.
    pub fn handle_timeout(&mut self, now: Instant) {
        match self.state {
            State::Idle => {}
            State::Connecting { deadline } => {
                if now >= deadline {
                    self.close(Ending::TimedOut);
                }
            }
            State::Connected => {
                if self.ping_deadline.is_some_and(|deadline| now >= deadline) {
                    self.close(Ending::TimedOut);
                } else if self.ping_due().is_some_and(|due| now >= due) {
                    self.ping_deadline = Some(now.after(self.config.ping_timeout));
                    self.transmit(Packet::PingReq, now);
                }
            }
        }
    }

    /// When to call [`handle_timeout`](Self::handle_timeout).
    pub fn poll_timeout(&self) -> Option<Instant> {
        match self.state {
            State::Idle => None,
            State::Connecting { deadline } => Some(deadline),
            State::Connected => self.ping_deadline.or_else(|| self.ping_due()),
        }
    }

    /// What to do next.
    pub fn poll_output(&mut self) -> Option<ClientOutput> {
        self.outputs.pop_front()
    }

    /// Publishes a message: at once where there is a connection and the server's quota allows,
    /// otherwise when its turn comes. `dup` and `packet_id` of `publish` count for nothing.
    ///
    /// # Errors
    /// [`PublishError::Full`] where too many wait: publish again after the next verdict.
    pub fn publish(
        &mut self,
        publish: Publish,
        now: Instant,
    ) -> Result<PublishToken, PublishError> {
        if !self.has_room() {
            return Err(PublishError::Full);
        }
        let token = self.outbound.push(Publish {
            dup: false,
            ..publish
        });
        self.send(now);
        Ok(token)
    }

    /// Subscribes; `identifier` is the Subscription Identifier (MQTT 5).
    ///
    /// # Errors
    /// [`RequestError::NotConnected`] and [`RequestError::Busy`] pass: ask again later.
    pub fn subscribe(
        &mut self,
        filters: Vec<(Text, SubscriptionOptions)>,
        identifier: Option<u32>,
        now: Instant,
    ) -> Result<RequestToken, RequestError> {
        let (token, packet_id) = self.request(filters.is_empty(), Use::Subscribe)?;
        let mut properties = PropertiesBuilder::new();
        if let Some(identifier) = identifier.filter(|_| self.config.version == Version::V5) {
            properties.push(Property::SubscriptionIdentifier(identifier));
        }
        let properties = properties.build();
        self.transmit(
            Packet::Subscribe(Subscribe {
                packet_id,
                properties,
                filters,
            }),
            now,
        );
        Ok(token)
    }

    /// Ends subscriptions.
    ///
    /// # Errors
    /// As [`subscribe`](Self::subscribe).
    pub fn unsubscribe(
        &mut self,
        filters: Vec<Text>,
        now: Instant,
    ) -> Result<RequestToken, RequestError> {
        let (token, packet_id) = self.request(filters.is_empty(), Use::Unsubscribe)?;
        let properties = Properties::EMPTY;
        self.transmit(
            Packet::Unsubscribe(Unsubscribe {
                packet_id,
                properties,
                filters,
            }),
            now,
        );
        Ok(token)
    }

    /// Acknowledges a message with `reason`, which below MQTT 5 is always success. The packet
    /// leaves once every message before it is acknowledged. A void receipt is ignored.
    pub fn acknowledge(&mut self, receipt: Receipt, reason: ReasonCode, now: Instant) {
        self.inbound.decided(receipt, reason);
        while let Some(packet) = self.inbound.next() {
            self.transmit(packet, now);
        }
    }

    /// Takes leave of the server, which then publishes no will.
    pub fn disconnect(&mut self, now: Instant) {
        if self.state == State::Idle {
            return;
        }
        self.transmit(Packet::Disconnect(Disconnect::default()), now);
        self.close(Ending::Asked);
    }

    fn request(
        &mut self,
        empty: bool,
        purpose: fn(RequestToken) -> Use,
    ) -> Result<(RequestToken, PacketId), RequestError> {
        if self.state != State::Connected {
            return Err(RequestError::NotConnected);
        }
        if empty {
            return Err(RequestError::NoFilter);
        }
        let token = RequestToken(self.outbound.token());
        let packet_id = self
            .outbound
            .claim(purpose(token))
            .ok_or(RequestError::Busy)?;
        Ok((token, packet_id))
    }

    /// Sends what the quota allows.
    ///
    /// Spec: [MQTT-3.3.4-9], [MQTT-4.4.0-1], [MQTT-4.6.0-1]
    fn send(&mut self, now: Instant) {
        if self.state != State::Connected {
            return;
        }
        let quota = usize::from(self.limits.receive_maximum.min(self.config.max_inflight));
        while let Some(next) = self.outbound.next(self.config.version, &self.limits, quota) {
            match next {
                Next::Packet(packet) => self.transmit(packet, now),
                Next::Sent(token, packet) => {
                    self.transmit(packet, now);
                    self.event(ClientEvent::Published {
                        token,
                        verdict: Verdict::Sent,
                    });
                }
                Next::Verdict(token, verdict) => {
                    self.event(ClientEvent::Published { token, verdict });
                }
            }
        }
    }

    fn ping_due(&self) -> Option<Instant> {
        let keep_alive = Duration::from_secs(u64::from(self.limits.keep_alive_secs));
        // Also where only one side talks: what is sent into a dead link is no sign of life.
        let quiet_since = self.last_sent.min(self.last_received);
        (!keep_alive.is_zero()).then(|| quiet_since.after(keep_alive))
    }

    fn transmit(&mut self, packet: Packet, now: Instant) {
        self.last_sent = now;
        self.outputs.push_back(ClientOutput::Transmit(packet));
    }

    fn event(&mut self, event: ClientEvent) {
        self.outputs.push_back(ClientOutput::Event(event));
    }

    fn violation(&mut self, detail: &'static str, now: Instant) {
        self.refuse(ReasonCode::PROTOCOL_ERROR, detail, now);
    }

    /// Tells the server what it did wrong, where the version can, and closes.
    fn refuse(&mut self, reason: ReasonCode, detail: &'static str, now: Instant) {
        if self.state == State::Connected && self.config.version == Version::V5 {
            let properties = Properties::EMPTY;
            self.transmit(Packet::Disconnect(Disconnect { reason, properties }), now);
        }
        self.close(Ending::Violation { reason, detail });
    }

    fn close(&mut self, ending: Ending) {
        self.outputs.push_back(ClientOutput::Close);
        self.end(ending);
    }

    fn end(&mut self, ending: Ending) {
        self.state = State::Idle;
        self.ping_deadline = None;
        self.outbound.disconnected();
        self.inbound.disconnected();
        if !self.config.keeps_session() {
            self.session_lost();
        }
        self.event(ClientEvent::Closed(ending));
    }

    fn session_lost(&mut self) {
        self.inbound.forget();
        for token in self.outbound.forget() {
            let verdict = Verdict::LinkLost;
            self.outputs
                .push_back(ClientOutput::Event(ClientEvent::Published {
                    token,
                    verdict,
                }));
        }
    }
}
