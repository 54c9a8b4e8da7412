//! A client machine and the application above it.

use bytes::Bytes;
use forebay_proto::{
    Client, ClientConfig, ClientEvent, ClientOutput, Instant, Packet, Properties,
    PropertiesBuilder, Property, Publish, PublishToken, QoS, ReasonCode, RequestToken,
    SubscriptionOptions, Text, Verdict, Version,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::bed::text;

/// A message that reached an application.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Received {
    pub(crate) payload: String,
    pub(crate) qos: QoS,
}

/// A client machine and the application above it.
pub(crate) struct End {
    pub(crate) client: Client,
    /// What is to be published, in order.
    pub(crate) outbox: VecDeque<Publish>,
    /// What was published, by QoS, and whether it may expire on the way.
    pub(crate) published: BTreeMap<String, (QoS, bool)>,
    pub(crate) acknowledged: BTreeSet<String>,
    /// What was under way when the session ended.
    pub(crate) lost: BTreeSet<String>,
    pub(crate) received: Vec<Received>,
    filter: Option<(Text, QoS)>,
    subscribed: bool,
    tokens: BTreeMap<PublishToken, String>,
    request: Option<RequestToken>,
}

impl End {
    pub(crate) fn new(version: Version, name: &'static str, window: u16) -> Self {
        let config = ClientConfig {
            // A CONNECT that starts clean would end the session though it arrives late.
            clean_start: false,
            session_expiry_secs: 3600,
            keep_alive_secs: 0,
            receive_maximum: window,
            max_inflight: window,
            max_waiting: 8,
            ..ClientConfig::new(version, text(name))
        };
        Self {
            client: Client::new(config),
            outbox: VecDeque::new(),
            published: BTreeMap::new(),
            acknowledged: BTreeSet::new(),
            lost: BTreeSet::new(),
            received: Vec::new(),
            filter: None,
            subscribed: true,
            tokens: BTreeMap::new(),
            request: None,
        }
    }

    pub(crate) fn with_keep_alive(self, keep_alive_secs: u16) -> Self {
        let config = ClientConfig {
            keep_alive_secs,
            ..self.client.config().clone()
        };
        self.with(config)
    }

    /// A client whose session ends with its connection.
    pub(crate) fn without_session(self) -> Self {
        let config = ClientConfig {
            clean_start: true,
            session_expiry_secs: 0,
            ..self.client.config().clone()
        };
        self.with(config)
    }

    fn with(self, config: ClientConfig) -> Self {
        let client = Client::new(config);
        Self { client, ..self }
    }

    pub(crate) fn subscribing(self, filter: &'static str, qos: QoS) -> Self {
        Self {
            filter: Some((text(filter), qos)),
            subscribed: false,
            ..self
        }
    }

    /// Puts a message into the outbox.
    pub(crate) fn will_publish(
        &mut self,
        topic: &'static str,
        payload: String,
        qos: QoS,
        expiry_secs: Option<u32>,
    ) {
        let mut properties = PropertiesBuilder::new();
        if let Some(secs) = expiry_secs.filter(|_| self.version() == Version::V5) {
            properties.push(Property::MessageExpiryInterval(secs));
        }
        let properties: Properties = properties.build();
        let expires = !properties.is_empty();
        self.outbox.push_back(Publish {
            dup: false,
            qos,
            retain: false,
            topic: text(topic),
            packet_id: None,
            properties,
            payload: Bytes::copy_from_slice(payload.as_bytes()),
        });
        self.published.insert(payload, (qos, expires));
    }

    pub(crate) fn version(&self) -> Version {
        self.client.config().version
    }

    /// QoS 1 and 2 messages that the broker may have unacknowledged here.
    pub(crate) fn receive_maximum(&self) -> u16 {
        match self.version() {
            Version::V5 => self.client.config().receive_maximum,
            Version::V3_1 | Version::V3_1_1 => u16::MAX,
        }
    }

    /// The QoS of its subscription.
    pub(crate) fn subscribed_qos(&self) -> Option<QoS> {
        self.filter.as_ref().map(|(_, qos)| *qos)
    }

    /// Whether the broker has told that the subscription stands, where there is to be one.
    pub(crate) fn is_ready(&self) -> bool {
        self.subscribed
    }

    /// Whether nothing is left to publish or unanswered.
    pub(crate) fn is_idle(&self) -> bool {
        self.outbox.is_empty() && self.client.unanswered() == 0 && self.client.is_connected()
    }

    /// Hands the client what it has room for.
    pub(super) fn publish(&mut self, now: Instant) {
        while self.client.has_room()
            && let Some(publish) = self.outbox.pop_front()
        {
            let payload = String::from_utf8(publish.payload.to_vec()).unwrap();
            let token = self.client.publish(publish, now).expect("there is room");
            self.tokens.insert(token, payload);
        }
    }

    /// Takes what the client puts out: packets to send, and whether it closes.
    pub(super) fn drain(&mut self, sent: &mut Vec<Packet>, closes: &mut bool, now: Instant) {
        while let Some(output) = self.client.poll_output() {
            match output {
                ClientOutput::Transmit(packet) => sent.push(packet),
                ClientOutput::Close => *closes = true,
                ClientOutput::Event(event) => self.event(event, now),
            }
        }
    }

    fn event(&mut self, event: ClientEvent, now: Instant) {
        match event {
            ClientEvent::Connected(_) if !self.subscribed => {
                let (filter, qos) = self.filter.clone().expect("it subscribes");
                let options = SubscriptionOptions {
                    qos,
                    ..SubscriptionOptions::default()
                };
                let token = self.client.subscribe(vec![(filter, options)], None, now);
                self.request = Some(token.expect("it is connected"));
            }
            ClientEvent::Connected(connected) => {
                let fresh = self.filter.is_some() && !connected.session_present;
                assert!(!fresh, "a session that was acknowledged is gone");
            }
            ClientEvent::Subscribed { token, reasons, .. } => {
                assert_eq!(self.request.take(), Some(token));
                assert!(!reasons[0].is_error());
                self.subscribed = true;
            }
            ClientEvent::Published { token, verdict } => {
                let payload = self.tokens.remove(&token).expect("one verdict a publish");
                let is_new = match verdict {
                    Verdict::Delivered(
                        ReasonCode::SUCCESS | ReasonCode::PACKET_IDENTIFIER_NOT_FOUND,
                    ) => self.acknowledged.insert(payload),
                    Verdict::LinkLost => self.lost.insert(payload),
                    other => panic!("{payload}: {other:?}"),
                };
                assert!(is_new);
            }
            ClientEvent::Message { publish, .. } => self.received.push(Received {
                payload: String::from_utf8(publish.payload.to_vec()).unwrap(),
                qos: publish.qos,
            }),
            ClientEvent::Closed(_) => self.request = None,
            other => panic!("{other:?}"),
        }
    }
}
