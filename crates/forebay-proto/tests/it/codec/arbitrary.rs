//! Any packet that the protocol allows.

use bytes::Bytes;
use forebay_proto::{
    Ack, Auth, ConnAck, Connect, Disconnect, Packet, PacketId, Properties, PropertiesBuilder,
    Property, PropertyId, Publish, QoS, ReasonCode, RetainHandling, Role, SubAck, Subscribe,
    SubscriptionOptions, Text, Unsubscribe, Version, WillMessage,
};
use proptest::{
    collection::vec,
    option,
    prelude::{Just, Strategy, any, prop_oneof},
    sample::{select, subsequence},
    strategy::BoxedStrategy,
};

use super::text;

use PropertyId as Id;

const WILL: &[Id] = &[
    Id::PayloadFormatIndicator,
    Id::MessageExpiryInterval,
    Id::ContentType,
    Id::ResponseTopic,
    Id::CorrelationData,
    Id::WillDelayInterval,
    Id::UserProperty,
    Id::UserProperty,
];
const CONNECT: &[Id] = &[
    Id::SessionExpiryInterval,
    Id::AuthenticationMethod,
    Id::RequestProblemInformation,
    Id::RequestResponseInformation,
    Id::ReceiveMaximum,
    Id::TopicAliasMaximum,
    Id::MaximumPacketSize,
    Id::UserProperty,
    Id::UserProperty,
];
const CONNACK: &[Id] = &[
    Id::SessionExpiryInterval,
    Id::AssignedClientIdentifier,
    Id::ServerKeepAlive,
    Id::AuthenticationMethod,
    Id::AuthenticationData,
    Id::ResponseInformation,
    Id::ServerReference,
    Id::ReasonString,
    Id::ReceiveMaximum,
    Id::TopicAliasMaximum,
    Id::MaximumQoS,
    Id::RetainAvailable,
    Id::UserProperty,
    Id::MaximumPacketSize,
    Id::WildcardSubscriptionAvailable,
    Id::SubscriptionIdentifierAvailable,
    Id::SharedSubscriptionAvailable,
];
const PUBLISH: &[Id] = &[
    Id::PayloadFormatIndicator,
    Id::MessageExpiryInterval,
    Id::ContentType,
    Id::ResponseTopic,
    Id::CorrelationData,
    Id::TopicAlias,
    Id::UserProperty,
    Id::UserProperty,
];
const PUBLISH_OF_SERVER: &[Id] = &[
    Id::MessageExpiryInterval,
    Id::SubscriptionIdentifier,
    Id::SubscriptionIdentifier,
    Id::SubscriptionIdentifier,
    Id::UserProperty,
];
const ACK: &[Id] = &[Id::ReasonString, Id::UserProperty, Id::UserProperty];
const SUBSCRIBE: &[Id] = &[
    Id::SubscriptionIdentifier,
    Id::UserProperty,
    Id::UserProperty,
];
const UNSUBSCRIBE: &[Id] = &[Id::UserProperty, Id::UserProperty];
const DISCONNECT: &[Id] = &[
    Id::SessionExpiryInterval,
    Id::ServerReference,
    Id::ReasonString,
    Id::UserProperty,
];
const AUTH: &[Id] = &[
    Id::AuthenticationMethod,
    Id::AuthenticationData,
    Id::ReasonString,
    Id::UserProperty,
];

fn string() -> impl Strategy<Value = String> {
    "[^\u{0}]{0,8}"
}

fn topic() -> impl Strategy<Value = Text> {
    "[^\u{0}+#]{1,8}".prop_map(|topic| text(&topic))
}

fn any_text() -> impl Strategy<Value = Text> {
    string().prop_map(|string| text(&string))
}

fn binary() -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 0..20).prop_map(Bytes::from)
}

fn packet_id() -> impl Strategy<Value = PacketId> {
    (1..=u16::MAX).prop_map(|id| PacketId::new(id).unwrap())
}

fn qos() -> impl Strategy<Value = QoS> {
    select(vec![QoS::AtMostOnce, QoS::AtLeastOnce, QoS::ExactlyOnce])
}

fn single(property: Property<'_>) -> Properties {
    let mut builder = PropertiesBuilder::new();
    builder.push(property);
    builder.build()
}

/// A block of one property.
fn property(id: Id) -> BoxedStrategy<Properties> {
    macro_rules! of {
        ($values:expr, $variant:ident) => {
            $values
                .prop_map(|value| single(Property::$variant(value)))
                .boxed()
        };
        (ref $values:expr, $variant:ident) => {
            $values
                .prop_map(|value| single(Property::$variant(&value)))
                .boxed()
        };
    }
    match id {
        Id::PayloadFormatIndicator => of!(any::<bool>(), PayloadFormatIndicator),
        Id::MessageExpiryInterval => of!(any::<u32>(), MessageExpiryInterval),
        Id::ContentType => of!(ref string(), ContentType),
        Id::ResponseTopic => topic()
            .prop_map(|topic| single(Property::ResponseTopic(topic.as_str())))
            .boxed(),
        Id::CorrelationData => of!(ref binary(), CorrelationData),
        Id::SubscriptionIdentifier => of!(
            prop_oneof![1..200_u32, 1..=268_435_455_u32],
            SubscriptionIdentifier
        ),
        Id::SessionExpiryInterval => of!(any::<u32>(), SessionExpiryInterval),
        Id::AssignedClientIdentifier => of!(ref string(), AssignedClientIdentifier),
        Id::ServerKeepAlive => of!(any::<u16>(), ServerKeepAlive),
        Id::AuthenticationMethod => of!(ref string(), AuthenticationMethod),
        Id::AuthenticationData => of!(ref binary(), AuthenticationData),
        Id::RequestProblemInformation => of!(any::<bool>(), RequestProblemInformation),
        Id::WillDelayInterval => of!(any::<u32>(), WillDelayInterval),
        Id::RequestResponseInformation => of!(any::<bool>(), RequestResponseInformation),
        Id::ResponseInformation => of!(ref string(), ResponseInformation),
        Id::ServerReference => of!(ref string(), ServerReference),
        Id::ReasonString => of!(ref string(), ReasonString),
        Id::ReceiveMaximum => of!(1..=u16::MAX, ReceiveMaximum),
        Id::TopicAliasMaximum => of!(any::<u16>(), TopicAliasMaximum),
        Id::TopicAlias => of!(1..=u16::MAX, TopicAlias),
        Id::MaximumQoS => of!(select(vec![QoS::AtMostOnce, QoS::AtLeastOnce]), MaximumQoS),
        Id::RetainAvailable => of!(any::<bool>(), RetainAvailable),
        Id::UserProperty => (string(), string())
            .prop_map(|(name, value)| single(Property::UserProperty(&name, &value)))
            .boxed(),
        Id::MaximumPacketSize => of!(1..=u32::MAX, MaximumPacketSize),
        Id::WildcardSubscriptionAvailable => of!(any::<bool>(), WildcardSubscriptionAvailable),
        Id::SubscriptionIdentifierAvailable => {
            of!(any::<bool>(), SubscriptionIdentifierAvailable)
        }
        Id::SharedSubscriptionAvailable => of!(any::<bool>(), SharedSubscriptionAvailable),
    }
}

/// A block of some of `ids`, in any order; empty below MQTT 5.
fn block(version: Version, ids: &'static [Id]) -> BoxedStrategy<Properties> {
    if version < Version::V5 {
        return Just(Properties::EMPTY).boxed();
    }
    subsequence(ids, 0..=ids.len())
        .prop_shuffle()
        .prop_flat_map(|ids| ids.into_iter().map(property).collect::<Vec<_>>())
        .prop_map(|blocks| {
            let mut builder = PropertiesBuilder::new();
            for block in &blocks {
                builder.extend_from(block, |_| true);
            }
            builder.build()
        })
        .boxed()
}

fn reason(version: Version) -> BoxedStrategy<ReasonCode> {
    if version < Version::V5 {
        Just(ReasonCode::SUCCESS).boxed()
    } else {
        prop_oneof![Just(0), any::<u8>()]
            .prop_map(ReasonCode)
            .boxed()
    }
}

pub(crate) fn connect(version: Version) -> impl Strategy<Value = Packet> {
    let will = (
        any::<bool>(),
        qos(),
        topic(),
        binary(),
        block(version, WILL),
    )
        .prop_map(|(retain, qos, topic, payload, properties)| WillMessage {
            qos,
            retain,
            topic,
            payload,
            properties,
        });
    (
        any::<bool>(),
        any::<u16>(),
        any_text(),
        option::of(will),
        option::of(any_text()),
        option::of(binary()),
        block(version, CONNECT),
    )
        .prop_map(
            move |(
                clean_start,
                keep_alive_secs,
                client_id,
                will,
                username,
                password,
                properties,
            )| {
                let password = password.filter(|_| username.is_some() || version == Version::V5);
                Packet::Connect(Box::new(Connect {
                    version,
                    clean_start,
                    keep_alive_secs,
                    client_id,
                    will,
                    username,
                    password,
                    properties,
                }))
            },
        )
}

fn connack(version: Version) -> impl Strategy<Value = Packet> {
    let reason = if version == Version::V5 {
        any::<u8>().boxed()
    } else {
        select(vec![0, 0x84, 0x85, 0x88, 0x86, 0x87]).boxed()
    };
    (any::<bool>(), reason, block(version, CONNACK)).prop_map(
        move |(present, reason, properties)| {
            Packet::ConnAck(ConnAck {
                session_present: present && version != Version::V3_1,
                reason: ReasonCode(reason),
                properties,
            })
        },
    )
}

fn publish(version: Version, ids: &'static [Id]) -> impl Strategy<Value = Packet> {
    (
        (any::<bool>(), qos(), any::<bool>(), topic(), any::<bool>()),
        (packet_id(), block(version, ids), binary()),
    )
        .prop_map(
            |((dup, qos, retain, topic, by_alias), (packet_id, properties, payload))| {
                let aliased = by_alias && properties.topic_alias().is_some();
                Packet::Publish(Publish {
                    dup: dup && qos != QoS::AtMostOnce,
                    qos,
                    retain,
                    topic: if aliased { Text::EMPTY } else { topic },
                    packet_id: (qos != QoS::AtMostOnce).then_some(packet_id),
                    properties,
                    payload,
                })
            },
        )
}

fn ack(version: Version) -> impl Strategy<Value = Packet> {
    let kinds: Vec<fn(Ack) -> Packet> = vec![
        Packet::PubAck,
        Packet::PubRec,
        Packet::PubRel,
        Packet::PubComp,
    ];
    (
        select(kinds),
        packet_id(),
        reason(version),
        block(version, ACK),
    )
        .prop_map(|(kind, packet_id, reason, properties)| {
            kind(Ack {
                packet_id,
                reason,
                properties,
            })
        })
}

fn options(version: Version) -> impl Strategy<Value = SubscriptionOptions> {
    let handling = select(vec![
        RetainHandling::Send,
        RetainHandling::SendIfNew,
        RetainHandling::DontSend,
    ]);
    (qos(), any::<bool>(), any::<bool>(), handling).prop_map(
        move |(qos, no_local, retain_as_published, retain_handling)| {
            if version < Version::V5 {
                SubscriptionOptions {
                    qos,
                    ..SubscriptionOptions::default()
                }
            } else {
                SubscriptionOptions {
                    qos,
                    no_local,
                    retain_as_published,
                    retain_handling,
                }
            }
        },
    )
}

fn subscribe(version: Version) -> impl Strategy<Value = Packet> {
    (
        packet_id(),
        block(version, SUBSCRIBE),
        vec((any_text(), options(version)), 1..4),
    )
        .prop_map(|(packet_id, properties, filters)| {
            Packet::Subscribe(Subscribe {
                packet_id,
                properties,
                filters,
            })
        })
}

fn unsubscribe(version: Version) -> impl Strategy<Value = Packet> {
    (
        packet_id(),
        block(version, UNSUBSCRIBE),
        vec(any_text(), 1..4),
    )
        .prop_map(|(packet_id, properties, filters)| {
            Packet::Unsubscribe(Unsubscribe {
                packet_id,
                properties,
                filters,
            })
        })
}

fn suback(version: Version) -> impl Strategy<Value = SubAck> {
    let reasons = if version == Version::V5 {
        any::<u8>().boxed()
    } else {
        select(vec![0, 1, 2, 0x80]).boxed()
    };
    (
        packet_id(),
        block(version, ACK),
        vec(reasons.prop_map(ReasonCode), 1..4),
    )
        .prop_map(|(packet_id, properties, reasons)| SubAck {
            packet_id,
            properties,
            reasons,
        })
}

fn unsuback(version: Version) -> impl Strategy<Value = Packet> {
    suback(version).prop_map(move |mut unsuback| {
        if version < Version::V5 {
            unsuback.reasons.clear();
        }
        Packet::UnsubAck(unsuback)
    })
}

fn disconnect(version: Version) -> impl Strategy<Value = Packet> {
    (reason(version), block(version, DISCONNECT))
        .prop_map(|(reason, properties)| Packet::Disconnect(Disconnect { reason, properties }))
}

fn auth() -> impl Strategy<Value = Packet> {
    (reason(Version::V5), block(Version::V5, AUTH))
        .prop_map(|(reason, properties)| Packet::Auth(Auth { reason, properties }))
}

/// Any version, a packet of it, and who reads it.
pub(super) fn packet() -> impl Strategy<Value = (Version, Role, Packet)> {
    select(vec![Version::V3_1, Version::V3_1_1, Version::V5]).prop_flat_map(|version| {
        packet_of(version).prop_map(move |(role, packet)| (version, role, packet))
    })
}

/// Any packet of `version`, and who reads it.
pub(crate) fn packet_of(version: Version) -> impl Strategy<Value = (Role, Packet)> {
    let server = prop_oneof![
        connect(version),
        publish(version, PUBLISH),
        ack(version),
        subscribe(version),
        unsubscribe(version),
        Just(Packet::PingReq),
        disconnect(version),
    ]
    .prop_map(|packet| (Role::Server, packet));
    let client = prop_oneof![
        connack(version),
        publish(version, PUBLISH_OF_SERVER),
        ack(version),
        suback(version).prop_map(Packet::SubAck),
        unsuback(version),
        Just(Packet::PingResp),
    ]
    .prop_map(|packet| (Role::Client, packet));
    let both = if version == Version::V5 {
        prop_oneof![auth(), disconnect(version)].boxed()
    } else {
        ack(version).boxed()
    };
    let role = select(vec![Role::Server, Role::Client]);
    prop_oneof![4 => server, 4 => client, 1 => (role, both)]
}
