//! The exact bytes of every packet in every version.

use bytes::BytesMut;
use forebay_proto::{
    Ack, Auth, ConnAck, Connect, Disconnect, EncodeError, Packet, Properties, Property, Publish,
    QoS, ReasonCode, RetainHandling, Role, SubAck, Subscribe, SubscriptionOptions, Text,
    Unsubscribe, Version, WillMessage, encode, encoded_len,
};

use super::{blob, decode, decoder, encoded, hex, id, properties, text};

const V31: Version = Version::V3_1;
const V311: Version = Version::V3_1_1;
const V5: Version = Version::V5;

/// Encodes `packet` to exactly `bytes`, and decodes them to it at every split.
fn both_ways(role: Role, version: Version, packet: &Packet, bytes: &str) {
    let bytes = hex(bytes);
    assert_eq!(encoded(packet, version), bytes, "{version:?} {packet:?}");
    assert_eq!(encoded_len(packet, version), bytes.len(), "{packet:?}");
    for split in 0..=bytes.len() {
        let mut decoder = decoder(role, version, bytes[0]);
        let mut buf = BytesMut::from(&bytes[..split]);
        let early = decoder.decode(&mut buf).unwrap();
        if split < bytes.len() {
            assert_eq!(early, None, "{split} of {bytes:02x?}");
            buf.extend_from_slice(&bytes[split..]);
            assert_eq!(
                decoder.decode(&mut buf).unwrap().as_ref(),
                Some(packet),
                "{bytes:02x?}"
            );
        } else {
            assert_eq!(early.as_ref(), Some(packet), "{bytes:02x?}");
        }
        assert!(buf.is_empty());
    }
}

/// Decodes `bytes` to `packet`, which is written in another way.
fn reads(role: Role, version: Version, bytes: &str, packet: &Packet) {
    let read = decode(role, version, &hex(bytes)).unwrap();
    assert_eq!(read.as_ref(), Some(packet), "{version:?} {bytes}");
}

/// Encodes `packet` to `bytes`, which say less than it does.
fn writes(version: Version, packet: &Packet, bytes: &str) {
    assert_eq!(
        encoded(packet, version),
        hex(bytes),
        "{version:?} {packet:?}"
    );
    assert_eq!(encoded_len(packet, version), hex(bytes).len(), "{packet:?}");
}

fn connect(version: Version) -> Connect {
    Connect {
        version,
        clean_start: true,
        keep_alive_secs: 10,
        client_id: text("a"),
        will: None,
        username: None,
        password: None,
        properties: Properties::EMPTY,
    }
}

fn will() -> WillMessage {
    WillMessage {
        qos: QoS::AtLeastOnce,
        retain: true,
        topic: text("w"),
        payload: blob(b"bye"),
        properties: Properties::EMPTY,
    }
}

fn publish(qos: QoS) -> Publish {
    Publish {
        dup: false,
        qos,
        retain: false,
        topic: text("a/b"),
        packet_id: (qos != QoS::AtMostOnce).then(|| id(10)),
        properties: Properties::EMPTY,
        payload: blob(b"hi"),
    }
}

#[test]
fn connect_in_each_version() {
    let check = |connect: Connect, bytes| {
        both_ways(
            Role::Server,
            connect.version,
            &Packet::Connect(Box::new(connect)),
            bytes,
        );
    };
    check(connect(V5), "10 0E 00 04 'MQTT' 05 02 00 0A 00 00 01 'a'");
    check(connect(V311), "10 0D 00 04 'MQTT' 04 02 00 0A 00 01 'a'");
    check(connect(V31), "10 0F 00 06 'MQIsdp' 03 02 00 0A 00 01 'a'");
    check(
        Connect {
            clean_start: false,
            client_id: Text::EMPTY,
            keep_alive_secs: 0,
            ..connect(V311)
        },
        "10 0C 00 04 'MQTT' 04 00 00 00 00 00",
    );
    check(
        Connect {
            will: Some(will()),
            username: Some(text("u")),
            password: Some(blob(b"p\0")),
            ..connect(V311)
        },
        "10 1C 00 04 'MQTT' 04 EE 00 0A 00 01 'a' 00 01 'w' 00 03 'bye' 00 01 'u' 00 02 'p' 00",
    );
    check(
        Connect {
            will: Some(WillMessage {
                qos: QoS::ExactlyOnce,
                retain: false,
                properties: properties(&[Property::WillDelayInterval(5)]),
                ..will()
            }),
            password: Some(blob(b"p")),
            properties: properties(&[
                Property::SessionExpiryInterval(60),
                Property::ReceiveMaximum(20),
            ]),
            ..connect(V5)
        },
        "10 27 00 04 'MQTT' 05 56 00 0A 08 11 00 00 00 3C 21 00 14 00 01 'a' \
         05 18 00 00 00 05 00 01 'w' 00 03 'bye' 00 01 'p'",
    );
}

#[test]
fn mqtt_3_1_lets_the_remaining_length_overrule_the_flags() {
    let with_user = Connect {
        username: Some(text("u")),
        ..connect(V31)
    };
    let bytes = "10 12 00 06 'MQIsdp' 03 C2 00 0A 00 01 'a' 00 01 'u'";
    reads(
        Role::Server,
        V31,
        bytes,
        &Packet::Connect(Box::new(with_user)),
    );
    let bare = Packet::Connect(Box::new(connect(V31)));
    reads(
        Role::Server,
        V31,
        "10 0F 00 06 'MQIsdp' 03 C2 00 0A 00 01 'a'",
        &bare,
    );
    // Unused flags are ignored.
    reads(
        Role::Server,
        V31,
        "10 0F 00 06 'MQIsdp' 03 2B 00 0A 00 01 'a'",
        &bare,
    );
}

#[test]
fn connack_in_each_version() {
    let connack = |session_present, reason, properties| {
        Packet::ConnAck(ConnAck {
            session_present,
            reason,
            properties,
        })
    };
    let none = Properties::EMPTY;
    let accepted = connack(true, ReasonCode::SUCCESS, none.clone());
    both_ways(Role::Client, V5, &accepted, "20 03 01 00 00");
    both_ways(Role::Client, V311, &accepted, "20 02 01 00");
    writes(V31, &accepted, "20 02 00 00");
    let maximum = properties(&[Property::TopicAliasMaximum(10)]);
    let refused = connack(false, ReasonCode::SERVER_BUSY, maximum);
    both_ways(Role::Client, V5, &refused, "20 06 00 89 03 22 00 0A");
    writes(V311, &refused, "20 02 00 03");
    let code = |reason| connack(false, reason, none.clone());
    for version in [V31, V311] {
        both_ways(
            Role::Client,
            version,
            &code(ReasonCode::SUCCESS),
            "20 02 00 00",
        );
        let wrong_version = code(ReasonCode::UNSUPPORTED_PROTOCOL_VERSION);
        both_ways(Role::Client, version, &wrong_version, "20 02 00 01");
        let identifier = code(ReasonCode::CLIENT_IDENTIFIER_NOT_VALID);
        both_ways(Role::Client, version, &identifier, "20 02 00 02");
        both_ways(
            Role::Client,
            version,
            &code(ReasonCode::SERVER_UNAVAILABLE),
            "20 02 00 03",
        );
        let password = code(ReasonCode::BAD_USER_NAME_OR_PASSWORD);
        both_ways(Role::Client, version, &password, "20 02 00 04");
        both_ways(
            Role::Client,
            version,
            &code(ReasonCode::NOT_AUTHORIZED),
            "20 02 00 05",
        );
        writes(version, &code(ReasonCode::BANNED), "20 02 00 05");
        writes(
            version,
            &code(ReasonCode::BAD_AUTHENTICATION_METHOD),
            "20 02 00 05",
        );
        writes(version, &code(ReasonCode::QUOTA_EXCEEDED), "20 02 00 03");
        reads(
            Role::Client,
            version,
            "20 02 00 06",
            &code(ReasonCode::UNSPECIFIED_ERROR),
        );
    }
}

#[test]
fn publish_in_each_version() {
    let zero = Packet::Publish(publish(QoS::AtMostOnce));
    let one = Packet::Publish(Publish {
        dup: true,
        ..publish(QoS::AtLeastOnce)
    });
    let two = Packet::Publish(Publish {
        retain: true,
        ..publish(QoS::ExactlyOnce)
    });
    for role in [Role::Server, Role::Client] {
        both_ways(role, V5, &zero, "30 08 00 03 'a/b' 00 'hi'");
        both_ways(role, V5, &one, "3A 0A 00 03 'a/b' 00 0A 00 'hi'");
        both_ways(role, V5, &two, "35 0A 00 03 'a/b' 00 0A 00 'hi'");
        for version in [V31, V311] {
            both_ways(role, version, &zero, "30 07 00 03 'a/b' 'hi'");
            both_ways(role, version, &one, "3A 09 00 03 'a/b' 00 0A 'hi'");
            both_ways(role, version, &two, "35 09 00 03 'a/b' 00 0A 'hi'");
        }
    }
    let alias = Packet::Publish(Publish {
        topic: Text::EMPTY,
        properties: properties(&[Property::TopicAlias(3), Property::UserProperty("k", "v")]),
        payload: blob(b""),
        ..publish(QoS::AtLeastOnce)
    });
    both_ways(
        Role::Server,
        V5,
        &alias,
        "32 0F 00 00 00 0A 0A 23 00 03 26 00 01 'k' 00 01 'v'",
    );
    let identified = Packet::Publish(Publish {
        properties: properties(&[
            Property::SubscriptionIdentifier(1),
            Property::SubscriptionIdentifier(200),
        ]),
        ..publish(QoS::AtMostOnce)
    });
    both_ways(
        Role::Client,
        V5,
        &identified,
        "30 0D 00 03 'a/b' 05 0B 01 0B C8 01 'hi'",
    );
}

#[test]
fn the_remaining_length_takes_one_to_four_bytes() {
    for (payload, header) in [
        (122, "30 7F"),
        (123, "30 80 01"),
        (16_378, "30 FF 7F"),
        (16_379, "30 80 80 01"),
        (2_097_146, "30 FF FF 7F"),
        (2_097_147, "30 80 80 80 01"),
    ] {
        let packet = Packet::Publish(Publish {
            payload: vec![7; payload].into(),
            ..publish(QoS::AtMostOnce)
        });
        let bytes = encoded(&packet, V311);
        let header = hex(header);
        assert_eq!(bytes[..header.len()], header);
        assert_eq!(bytes.len(), encoded_len(&packet, V311));
        let mut decoder = forebay_proto::Decoder::new(Role::Server, u32::MAX);
        decoder.set_version(V311);
        assert_eq!(
            decoder.decode(&mut BytesMut::from(&bytes[..])).unwrap(),
            Some(packet)
        );
    }
}

#[test]
fn mqtt_3_1_gives_dup_no_meaning_at_qos_0() {
    let zero = Packet::Publish(publish(QoS::AtMostOnce));
    reads(Role::Server, V31, "38 07 00 03 'a/b' 'hi'", &zero);
}

#[test]
fn acknowledgements_take_their_shortest_form() {
    type Kind = fn(Ack) -> Packet;
    let kinds: [(Kind, &str); 4] = [
        (Packet::PubAck, "40"),
        (Packet::PubRec, "50"),
        (Packet::PubRel, "62"),
        (Packet::PubComp, "70"),
    ];
    for (kind, first) in kinds {
        let success = kind(Ack::new(id(0x1234), ReasonCode::SUCCESS));
        let refusal = kind(Ack::new(id(0x1234), ReasonCode::QUOTA_EXCEEDED));
        let why = kind(Ack {
            properties: properties(&[Property::ReasonString("no")]),
            ..Ack::new(id(0x1234), ReasonCode::SUCCESS)
        });
        for role in [Role::Server, Role::Client] {
            for version in [V31, V311, V5] {
                both_ways(role, version, &success, &format!("{first} 02 12 34"));
            }
            both_ways(role, V5, &refusal, &format!("{first} 03 12 34 97"));
            both_ways(
                role,
                V5,
                &why,
                &format!("{first} 09 12 34 00 05 1F 00 02 'no'"),
            );
            // Longer forms than needed.
            reads(role, V5, &format!("{first} 03 12 34 00"), &success);
            reads(role, V5, &format!("{first} 04 12 34 00 00"), &success);
            reads(role, V5, &format!("{first} 04 12 34 97 00"), &refusal);
        }
        writes(V311, &refusal, &format!("{first} 02 12 34"));
        writes(V31, &why, &format!("{first} 02 12 34"));
    }
}

#[test]
fn acknowledgements_read_every_reason_byte() {
    for reason in 1..=255 {
        let bytes = [0x40, 3, 0, 1, reason];
        let expected = Packet::PubAck(Ack::new(id(1), ReasonCode(reason)));
        assert_eq!(decode(Role::Server, V5, &bytes), Ok(Some(expected.clone())));
        assert_eq!(encoded(&expected, V5), bytes);
    }
}

#[test]
fn subscribe_in_each_version() {
    let plain = SubscriptionOptions {
        qos: QoS::ExactlyOnce,
        ..SubscriptionOptions::default()
    };
    let rich = SubscriptionOptions {
        qos: QoS::AtLeastOnce,
        no_local: true,
        retain_as_published: true,
        retain_handling: RetainHandling::DontSend,
    };
    let subscribe = |options, properties| {
        Packet::Subscribe(Subscribe {
            packet_id: id(1),
            properties,
            filters: vec![
                (text("a/#"), options),
                (text("+"), SubscriptionOptions::default()),
            ],
        })
    };
    let simple = subscribe(plain, Properties::EMPTY);
    both_ways(
        Role::Server,
        V5,
        &simple,
        "82 0D 00 01 00 00 03 'a/#' 02 00 01 '+' 00",
    );
    both_ways(
        Role::Server,
        V311,
        &simple,
        "82 0C 00 01 00 03 'a/#' 02 00 01 '+' 00",
    );
    both_ways(
        Role::Server,
        V31,
        &simple,
        "82 0C 00 01 00 03 'a/#' 02 00 01 '+' 00",
    );
    let full = subscribe(rich, properties(&[Property::SubscriptionIdentifier(7)]));
    both_ways(
        Role::Server,
        V5,
        &full,
        "82 0F 00 01 02 0B 07 00 03 'a/#' 2D 00 01 '+' 00",
    );
    writes(V311, &full, "82 0C 00 01 00 03 'a/#' 01 00 01 '+' 00");
    // MQTT 3.1 uses neither the upper bits of the options nor the same flags.
    reads(
        Role::Server,
        V31,
        "8A 0C 00 01 00 03 'a/#' FE 00 01 '+' 00",
        &simple,
    );
}

#[test]
fn suback_and_unsuback_in_each_version() {
    let answer = |properties, reasons: &[u8]| SubAck {
        packet_id: id(1),
        properties,
        reasons: reasons.iter().copied().map(ReasonCode).collect(),
    };
    let granted = Packet::SubAck(answer(Properties::EMPTY, &[0, 1, 2, 0x80]));
    both_ways(Role::Client, V5, &granted, "90 07 00 01 00 00 01 02 80");
    both_ways(Role::Client, V311, &granted, "90 06 00 01 00 01 02 80");
    both_ways(Role::Client, V31, &granted, "90 06 00 01 00 01 02 80");
    let refused = Packet::SubAck(answer(Properties::EMPTY, &[1, 0x8F, 0x87]));
    both_ways(Role::Client, V5, &refused, "90 06 00 01 00 01 8F 87");
    writes(V311, &refused, "90 05 00 01 01 80 80");

    let why = properties(&[Property::ReasonString("x")]);
    let gone = Packet::UnsubAck(answer(why, &[0, 0x11]));
    both_ways(Role::Client, V5, &gone, "B0 09 00 01 04 1F 00 01 'x' 00 11");
    writes(V311, &gone, "B0 02 00 01");
    let plain = Packet::UnsubAck(answer(Properties::EMPTY, &[]));
    both_ways(Role::Client, V311, &plain, "B0 02 00 01");
}

#[test]
fn unsubscribe_in_each_version() {
    let unsubscribe = Packet::Unsubscribe(Unsubscribe {
        packet_id: id(300),
        properties: Properties::EMPTY,
        filters: vec![text("a"), text("b/+")],
    });
    both_ways(
        Role::Server,
        V5,
        &unsubscribe,
        "A2 0B 01 2C 00 00 01 'a' 00 03 'b/+'",
    );
    both_ways(
        Role::Server,
        V311,
        &unsubscribe,
        "A2 0A 01 2C 00 01 'a' 00 03 'b/+'",
    );
    both_ways(
        Role::Server,
        V31,
        &unsubscribe,
        "A2 0A 01 2C 00 01 'a' 00 03 'b/+'",
    );
}

#[test]
fn pings_are_two_bytes() {
    for version in [V31, V311, V5] {
        both_ways(Role::Server, version, &Packet::PingReq, "C0 00");
        both_ways(Role::Client, version, &Packet::PingResp, "D0 00");
    }
}

#[test]
fn disconnect_takes_its_shortest_form() {
    let normal = Packet::Disconnect(Disconnect::default());
    let taken_over = Packet::Disconnect(Disconnect {
        reason: ReasonCode::SESSION_TAKEN_OVER,
        properties: Properties::EMPTY,
    });
    let expiry = Packet::Disconnect(Disconnect {
        reason: ReasonCode::DISCONNECT_WITH_WILL,
        properties: properties(&[Property::SessionExpiryInterval(0)]),
    });
    for version in [V31, V311, V5] {
        both_ways(Role::Server, version, &normal, "E0 00");
    }
    for role in [Role::Server, Role::Client] {
        both_ways(role, V5, &normal, "E0 00");
        both_ways(role, V5, &taken_over, "E0 01 8E");
        both_ways(role, V5, &expiry, "E0 07 04 05 11 00 00 00 00");
        reads(role, V5, "E0 01 00", &normal);
        reads(role, V5, "E0 02 8E 00", &taken_over);
    }
    writes(V311, &expiry, "E0 00");
}

#[test]
fn auth_exists_in_mqtt_5() {
    let auth = Packet::Auth(Auth {
        reason: ReasonCode::CONTINUE_AUTHENTICATION,
        properties: properties(&[
            Property::AuthenticationMethod("M"),
            Property::AuthenticationData(&[0, 1]),
        ]),
    });
    let success = Packet::Auth(Auth {
        reason: ReasonCode::SUCCESS,
        properties: Properties::EMPTY,
    });
    let bare = Packet::Auth(Auth {
        reason: ReasonCode::CONTINUE_AUTHENTICATION,
        properties: Properties::EMPTY,
    });
    for role in [Role::Server, Role::Client] {
        both_ways(role, V5, &auth, "F0 0B 18 09 15 00 01 'M' 16 00 02 00 01");
        both_ways(role, V5, &success, "F0 00");
        both_ways(role, V5, &bare, "F0 02 18 00");
        reads(role, V5, "F0 02 00 00", &success);
    }
    let mut out = vec![1];
    let refused = encode(&auth, V311, &mut out);
    assert_eq!(refused, Err(EncodeError::NotInVersion { what: "AUTH" }));
    assert_eq!(out, [1]);
}

#[test]
fn what_has_no_bytes_is_refused_and_nothing_is_written() {
    let connect = |connect| Packet::Connect(Box::new(connect));
    let long = vec![0; 65_536];
    let cases = [
        (
            connect(Connect {
                password: Some(blob(b"p")),
                ..self::connect(V311)
            }),
            EncodeError::NotInVersion {
                what: "a password without a user name",
            },
        ),
        (
            connect(Connect {
                password: Some(blob(&long)),
                ..self::connect(V5)
            }),
            EncodeError::FieldTooLong { field: "password" },
        ),
        (
            connect(Connect {
                will: Some(WillMessage {
                    payload: blob(&long),
                    ..will()
                }),
                ..self::connect(V5)
            }),
            EncodeError::FieldTooLong {
                field: "will payload",
            },
        ),
        (
            Packet::Publish(Publish {
                packet_id: None,
                ..publish(QoS::AtLeastOnce)
            }),
            EncodeError::PacketId,
        ),
        (
            Packet::Publish(Publish {
                packet_id: Some(id(1)),
                ..publish(QoS::AtMostOnce)
            }),
            EncodeError::PacketId,
        ),
        (
            Packet::Publish(Publish {
                payload: vec![0; 268_435_456].into(),
                ..publish(QoS::AtMostOnce)
            }),
            EncodeError::TooLarge,
        ),
        (
            Packet::Subscribe(Subscribe {
                packet_id: id(1),
                properties: Properties::EMPTY,
                filters: vec![],
            }),
            EncodeError::NoFilter,
        ),
        (
            Packet::Unsubscribe(Unsubscribe {
                packet_id: id(1),
                properties: Properties::EMPTY,
                filters: vec![],
            }),
            EncodeError::NoFilter,
        ),
    ];
    for (packet, error) in cases {
        let mut out = Vec::new();
        assert_eq!(encode(&packet, V5, &mut out), Err(error));
        assert!(out.is_empty());
    }
}
