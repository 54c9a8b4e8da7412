//! The machine in virtual time: by hand, and in `cuts` with a server behind a lossy pipe.
#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "a test names what it looks for"
)]

mod cuts;
mod keep_alive;
mod publish;
mod receive;

use alloc::{string::String, vec, vec::Vec};

use super::*;
use crate::packet::{Ack, ConnAck, SubAck};

const NOW: Instant = Instant::from_millis(1_000_000);

fn text(text: &str) -> Text {
    Text::try_from(String::from(text)).expect("text")
}

fn config() -> ClientConfig {
    ClientConfig::new(Version::V5, text("c"))
}

fn message(qos: QoS, payload: &'static str) -> Publish {
    Publish {
        dup: false,
        qos,
        retain: false,
        topic: text("t"),
        packet_id: None,
        properties: Properties::EMPTY,
        payload: bytes::Bytes::from_static(payload.as_bytes()),
    }
}

fn incoming(qos: QoS, id: u16) -> Packet {
    Packet::Publish(Publish {
        packet_id: PacketId::new(id),
        ..message(qos, "m")
    })
}

fn ack(id: u16, reason: ReasonCode) -> Ack {
    Ack::new(PacketId::new(id).expect("an id"), reason)
}

fn connack(session_present: bool, properties: &[Property<'_>]) -> Packet {
    let mut builder = PropertiesBuilder::new();
    for property in properties {
        builder.push(*property);
    }
    let properties = builder.build();
    Packet::ConnAck(ConnAck {
        session_present,
        reason: ReasonCode::SUCCESS,
        properties,
    })
}

fn outputs(client: &mut Client) -> Vec<ClientOutput> {
    core::iter::from_fn(|| client.poll_output()).collect()
}

fn packets(client: &mut Client) -> Vec<Packet> {
    let packet = |output| match output {
        ClientOutput::Transmit(packet) => Some(packet),
        ClientOutput::Close | ClientOutput::Event(_) => None,
    };
    outputs(client).into_iter().filter_map(packet).collect()
}

fn events(client: &mut Client) -> Vec<ClientEvent> {
    let event = |output| match output {
        ClientOutput::Event(event) => Some(event),
        ClientOutput::Close | ClientOutput::Transmit(_) => None,
    };
    outputs(client).into_iter().filter_map(event).collect()
}

/// A client that the server took in.
fn connected(config: ClientConfig, properties: &[Property<'_>]) -> Client {
    let mut client = Client::new(config);
    client.handle_connected(NOW);
    client.handle_packet(connack(false, properties), NOW);
    outputs(&mut client);
    client
}

/// The identifiers of the publishes among `packets`.
fn published(packets: &[Packet]) -> Vec<u16> {
    let id = |packet: &Packet| match packet {
        Packet::Publish(publish) => publish.packet_id.map(PacketId::get),
        _ => None,
    };
    packets.iter().filter_map(id).collect()
}

fn disconnect(reason: ReasonCode) -> ClientOutput {
    ClientOutput::Transmit(Packet::Disconnect(Disconnect {
        reason,
        properties: Properties::EMPTY,
    }))
}

#[test]
fn a_connect_carries_what_was_asked_for() {
    let mut client = Client::new(ClientConfig {
        session_expiry_secs: 300,
        maximum_packet_size: Some(1000),
        receive_maximum: 7,
        username: Some(text("u")),
        ..config()
    });
    client.handle_connected(NOW);
    let packets = packets(&mut client);
    let [Packet::Connect(connect)] = packets.as_slice() else {
        panic!("{packets:?}")
    };
    assert!(connect.clean_start);
    assert_eq!(connect.username, Some(text("u")));
    assert_eq!(connect.properties.session_expiry_interval(), Some(300));
    assert_eq!(connect.properties.receive_maximum(), Some(7));
    assert_eq!(connect.properties.maximum_packet_size(), Some(1000));
}

#[test]
fn below_mqtt_5_a_connect_has_no_properties() {
    let mut client = Client::new(ClientConfig {
        version: Version::V3_1_1,
        session_expiry_secs: 300,
        ..config()
    });
    client.handle_connected(NOW);
    let packets = packets(&mut client);
    let [Packet::Connect(connect)] = packets.as_slice() else {
        panic!("{packets:?}")
    };
    assert!(connect.properties.is_empty());
}

#[test]
fn only_the_first_connection_starts_a_session_that_is_kept() {
    let clean = |version, session_expiry_secs, clean_start| {
        let config = ClientConfig {
            version,
            clean_start,
            session_expiry_secs,
            ..config()
        };
        let mut client = Client::new(config);
        let connect = |client: &mut Client| {
            client.handle_connected(NOW);
            let Some(Packet::Connect(connect)) = packets(client).pop() else {
                panic!("none")
            };
            client.handle_packet(connack(false, &[]), NOW);
            outputs(client);
            connect.clean_start
        };
        (connect(&mut client), connect(&mut client))
    };
    assert_eq!(clean(Version::V5, 300, true), (true, false));
    assert_eq!(clean(Version::V5, 300, false), (false, false));
    assert_eq!(clean(Version::V5, 0, false), (true, true));
    assert_eq!(clean(Version::V3_1_1, 0, false), (false, false));
    assert_eq!(clean(Version::V3_1_1, 0, true), (true, true));
}

#[test]
fn a_refused_connection_ends_with_the_code_and_the_words() {
    let mut client = Client::new(config());
    client.handle_connected(NOW);
    outputs(&mut client);
    let mut properties = PropertiesBuilder::new();
    properties.push(Property::ReasonString("not you"));
    let reason = ReasonCode::NOT_AUTHORIZED;
    let properties = properties.build();
    let connack = ConnAck {
        session_present: false,
        reason,
        properties,
    };
    client.handle_packet(Packet::ConnAck(connack), NOW);
    let refused = Ending::Refused {
        reason,
        text: Some(text("not you")),
    };
    assert_eq!(
        outputs(&mut client),
        [
            ClientOutput::Close,
            ClientOutput::Event(ClientEvent::Closed(refused))
        ]
    );
    client.handle_closed(NOW);
    assert_eq!(outputs(&mut client), [], "an ending is told once");
}

#[test]
fn the_connack_tells_what_the_server_takes() {
    let mut client = Client::new(config());
    client.handle_connected(NOW);
    outputs(&mut client);
    let properties = [
        Property::AssignedClientIdentifier("auto-1"),
        Property::ReceiveMaximum(3),
        Property::MaximumQoS(QoS::AtLeastOnce),
        Property::RetainAvailable(false),
        Property::MaximumPacketSize(99),
        Property::ServerKeepAlive(5),
    ];
    client.handle_packet(connack(false, &properties), NOW);
    let events = events(&mut client);
    let [ClientEvent::Connected(connected)] = events.as_slice() else {
        panic!("{events:?}")
    };
    assert_eq!(connected.assigned_client_id, Some(text("auto-1")));
    assert_eq!(
        connected.limits,
        PeerLimits {
            receive_maximum: 3,
            maximum_qos: QoS::AtLeastOnce,
            retain_available: false,
            maximum_packet_size: Some(99),
            keep_alive_secs: 5,
        }
    );
}

#[test]
fn a_packet_that_only_a_client_sends_ends_the_connection() {
    let mut client = connected(config(), &[]);
    client.handle_packet(Packet::PingReq, NOW);
    let outputs = outputs(&mut client);
    assert_eq!(outputs[0], disconnect(ReasonCode::PROTOCOL_ERROR));
    assert_eq!(outputs[1], ClientOutput::Close);
}

#[test]
fn a_disconnect_of_the_server_is_told_with_its_reason() {
    let mut client = connected(config(), &[]);
    let reason = ReasonCode::SERVER_SHUTTING_DOWN;
    let bye = Disconnect {
        reason,
        properties: Properties::EMPTY,
    };
    client.handle_packet(Packet::Disconnect(bye), NOW);
    let ending = Ending::ByServer { reason, text: None };
    assert_eq!(
        outputs(&mut client),
        [
            ClientOutput::Close,
            ClientOutput::Event(ClientEvent::Closed(ending))
        ]
    );
}

#[test]
fn a_subscription_is_answered_filter_by_filter() {
    let mut client = Client::new(config());
    let filters = vec![(text("a"), SubscriptionOptions::default())];
    let early = client.subscribe(filters.clone(), None, NOW);
    assert_eq!(early, Err(RequestError::NotConnected));
    client.handle_connected(NOW);
    client.handle_packet(connack(false, &[]), NOW);
    outputs(&mut client);
    assert_eq!(
        client.subscribe(vec![], None, NOW),
        Err(RequestError::NoFilter)
    );
    let token = client.subscribe(filters, Some(4), NOW).expect("a token");
    let sent = packets(&mut client);
    let [Packet::Subscribe(subscribe)] = sent.as_slice() else {
        panic!("{sent:?}")
    };
    assert_eq!(
        subscribe
            .properties
            .subscription_identifiers()
            .collect::<Vec<_>>(),
        [4]
    );
    let suback = SubAck {
        packet_id: subscribe.packet_id,
        properties: Properties::EMPTY,
        reasons: vec![ReasonCode::NOT_AUTHORIZED],
    };
    let unsuback = Packet::UnsubAck(suback.clone());
    client.handle_packet(unsuback, NOW);
    assert_eq!(events(&mut client), [], "the wrong kind of answer is none");
    client.handle_packet(Packet::SubAck(suback.clone()), NOW);
    let reasons = vec![ReasonCode::NOT_AUTHORIZED];
    let answer = ClientEvent::Subscribed {
        token,
        reasons,
        text: None,
    };
    assert_eq!(events(&mut client), [answer]);
    client.handle_packet(Packet::SubAck(suback), NOW);
    assert_eq!(events(&mut client), [], "an answer is told once");
}
