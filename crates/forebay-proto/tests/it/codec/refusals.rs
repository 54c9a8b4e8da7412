//! Every rule that the decoder holds a sender to: reason code and statement, in both versions.

use bytes::BytesMut;
use forebay_proto::{Decoder, ReasonCode, Role, Version};

use super::{decode, hex};

const V31: Version = Version::V3_1;
const V311: Version = Version::V3_1_1;
const V5: Version = Version::V5;

const MALFORMED: ReasonCode = ReasonCode::MALFORMED_PACKET;
const PROTOCOL: ReasonCode = ReasonCode::PROTOCOL_ERROR;
const TOPIC: ReasonCode = ReasonCode::TOPIC_NAME_INVALID;

fn refused(role: Role, table: &[(Version, &str, ReasonCode, &str)]) {
    for &(version, bytes, reason, statement) in table {
        let error = decode(role, version, &hex(bytes)).expect_err(bytes);
        assert_eq!(
            (error.reason, error.statement),
            (reason, statement),
            "{version:?} {bytes}"
        );
        assert_eq!(error.version, Some(version), "{bytes}");
    }
}

fn taken(role: Role, table: &[(Version, &str)]) {
    for &(version, bytes) in table {
        let packet = decode(role, version, &hex(bytes));
        assert!(
            matches!(packet, Ok(Some(_))),
            "{version:?} {bytes}: {packet:?}"
        );
    }
}

#[test]
fn reserved_types_and_flags() {
    refused(
        Role::Server,
        &[
            (V5, "00 00", MALFORMED, "2.1.2"),
            (V311, "00 00", MALFORMED, "2.2.1"),
            (V311, "F0 00", MALFORMED, "2.2.1"),
            (V31, "F0 00", MALFORMED, "2.2.1"),
            (V5, "41 02 00 01", MALFORMED, "MQTT-2.1.3-1"),
            (V5, "52 02 00 01", MALFORMED, "MQTT-2.1.3-1"),
            (V5, "60 02 00 01", MALFORMED, "MQTT-2.1.3-1"),
            (V5, "63 02 00 01", MALFORMED, "MQTT-2.1.3-1"),
            (V311, "6A 02 00 01", MALFORMED, "MQTT311-2.2.2-2"),
            (V5, "78 02 00 01", MALFORMED, "MQTT-2.1.3-1"),
            (V5, "80 07 00 01 00 00 01 'a' 00", MALFORMED, "MQTT-2.1.3-1"),
            (
                V311,
                "8A 06 00 01 00 01 'a' 00",
                MALFORMED,
                "MQTT311-2.2.2-2",
            ),
            (V5, "A0 06 00 01 00 00 01 'a'", MALFORMED, "MQTT-2.1.3-1"),
            (V5, "C1 00", MALFORMED, "MQTT-2.1.3-1"),
            (V5, "E1 00", MALFORMED, "MQTT-2.1.3-1"),
            (V5, "F1 00", MALFORMED, "MQTT-2.1.3-1"),
        ],
    );
    refused(
        Role::Client,
        &[
            (V5, "21 03 00 00 00", MALFORMED, "MQTT-2.1.3-1"),
            (V5, "92 04 00 01 00 00", MALFORMED, "MQTT-2.1.3-1"),
            (V311, "B2 02 00 01", MALFORMED, "MQTT311-2.2.2-2"),
            (V5, "D8 00", MALFORMED, "MQTT-2.1.3-1"),
        ],
    );
    let error = decode(
        Role::Server,
        V5,
        &hex("12 0C 00 04 'MQTT' 04 00 00 00 00 00"),
    );
    let error = error.unwrap_err();
    assert_eq!((error.reason, error.statement), (MALFORMED, "MQTT-2.1.3-1"));
}

#[test]
fn packets_that_go_the_other_way() {
    let server = [
        "20 03 00 00 00",
        "90 04 00 01 00 00",
        "B0 04 00 01 00 00",
        "D0 00",
    ];
    for bytes in server {
        refused(
            Role::Server,
            &[
                (V5, bytes, PROTOCOL, "2.1.2"),
                (V311, bytes, PROTOCOL, "2.2.1"),
            ],
        );
    }
    let client = [
        "82 07 00 01 00 00 01 'a' 00",
        "A2 06 00 01 00 00 01 'a'",
        "C0 00",
        "10 00",
    ];
    for bytes in client {
        let mut decoder = Decoder::new(Role::Client, 100);
        decoder.set_version(V5);
        let error = decoder
            .decode(&mut BytesMut::from(&hex(bytes)[..]))
            .unwrap_err();
        assert_eq!(
            (error.reason, error.statement),
            (PROTOCOL, "2.1.2"),
            "{bytes}"
        );
    }
    refused(Role::Client, &[(V311, "E0 00", PROTOCOL, "2.2.1")]);
}

#[test]
fn a_connection_has_one_connect_and_it_comes_first() {
    let connect = hex("10 0C 00 04 'MQTT' 04 02 00 00 00 00");
    for first in [0x00, 0x30, 0x40, 0x82, 0xC0, 0xE0, 0xF0] {
        // The first byte is enough to know.
        let mut decoder = Decoder::new(Role::Server, 100);
        let error = decoder
            .decode(&mut BytesMut::from(&[first][..]))
            .unwrap_err();
        assert_eq!(
            (error.reason, error.statement),
            (PROTOCOL, "MQTT-3.1.0-1"),
            "{first:02x}"
        );
        assert_eq!(error.version, None);
    }
    let mut decoder = Decoder::new(Role::Server, 100);
    let mut buf = BytesMut::from(&connect[..]);
    buf.extend_from_slice(&connect);
    assert!(decoder.decode(&mut buf).unwrap().is_some());
    assert_eq!(decoder.version(), Some(V311));
    let error = decoder.decode(&mut buf).unwrap_err();
    assert_eq!(
        (error.reason, error.statement),
        (PROTOCOL, "MQTT311-3.1.0-2")
    );
}

#[test]
fn remaining_lengths() {
    refused(
        Role::Server,
        &[
            (V5, "30 FF FF FF FF", MALFORMED, "1.5.5"),
            (V311, "30 80 80 80 80", MALFORMED, "2.2.3"),
            (V5, "C0 80 00", MALFORMED, "MQTT-1.5.5-1"),
            (V5, "40 82 00 00 01", MALFORMED, "MQTT-1.5.5-1"),
            (V5, "40 82 80 80 00 00 01", MALFORMED, "MQTT-1.5.5-1"),
            (
                V5,
                "10 8D 00 00 04 'MQTT' 05 02 00 00 00 00 00",
                MALFORMED,
                "MQTT-1.5.5-1",
            ),
            (V5, "C0 01 00", MALFORMED, "4.13.1"),
            (V311, "C0 01 00", MALFORMED, "MQTT311-4.8.0-1"),
        ],
    );
    // Below MQTT 5 nothing asks for the shortest form.
    taken(
        Role::Server,
        &[
            (V311, "40 82 00 00 01"),
            (V31, "C0 80 80 80 00"),
            (V311, "10 8C 00 00 04 'MQTT' 04 02 00 00 00 00"),
        ],
    );
}

#[test]
fn a_packet_above_the_limit_is_refused_by_its_header() {
    for (limit, fits) in [(100, true), (99, false)] {
        let mut decoder = Decoder::new(Role::Server, limit);
        decoder.set_version(V5);
        let verdict = decoder.decode(&mut BytesMut::from(&[0x30, 98][..]));
        if fits {
            assert_eq!(verdict, Ok(None));
        } else {
            let error = verdict.unwrap_err();
            assert_eq!(error.reason, ReasonCode::PACKET_TOO_LARGE);
            assert_eq!(error.statement, "MQTT-3.2.2-15");
        }
    }
    // The largest announcement that there is costs no memory.
    let mut decoder = Decoder::new(Role::Server, u32::MAX);
    decoder.set_version(V5);
    let mut buf = BytesMut::from(&hex("30 FF FF FF 7F")[..]);
    assert_eq!(decoder.decode(&mut buf), Ok(None));
    assert!(buf.capacity() < 100);
}

#[test]
fn strings() {
    refused(
        Role::Server,
        &[
            (V5, "30 04 00 01 80 00", MALFORMED, "MQTT-1.5.4-1"),
            (V311, "30 03 00 01 FF", MALFORMED, "MQTT311-1.5.3-1"),
            (V5, "30 05 00 02 C0 80 00", MALFORMED, "MQTT-1.5.4-1"),
            (V5, "30 06 00 03 ED A0 80 00", MALFORMED, "MQTT-1.5.4-1"),
            (V5, "30 06 00 03 ED BF BF 00", MALFORMED, "MQTT-1.5.4-1"),
            (V5, "30 07 00 04 F4 90 80 80 00", MALFORMED, "MQTT-1.5.4-1"),
            (V5, "30 06 00 03 'a' 00 'b' 00", MALFORMED, "MQTT-1.5.4-2"),
            (V311, "30 03 00 01 00", MALFORMED, "MQTT311-1.5.3-2"),
            (V5, "82 07 00 01 00 00 01 00 00", MALFORMED, "MQTT-1.5.4-2"),
            (V5, "A2 06 00 01 00 00 01 FF", MALFORMED, "MQTT-1.5.4-1"),
            (
                V5,
                "10 0E 00 04 'MQTT' 05 02 00 00 00 00 01 FF",
                MALFORMED,
                "MQTT-1.5.4-1",
            ),
            (
                V311,
                "10 0D 00 04 'MQTT' 04 02 00 00 00 01 00",
                MALFORMED,
                "MQTT311-1.5.3-2",
            ),
            (
                V311,
                "10 0F 00 04 'MQTT' 04 82 00 00 00 00 00 01 FF",
                MALFORMED,
                "MQTT311-1.5.3-1",
            ),
        ],
    );
    // A byte order mark, a control character and a non-character stay as they are.
    taken(Role::Server, &[(V5, "30 0A 00 07 EF BB BF 01 EF BF BF 00")]);
}

#[test]
fn connect_fields() {
    refused(
        Role::Server,
        &[
            (
                V5,
                "10 0D 00 04 'MQTT' 05 03 00 00 00 00 00",
                MALFORMED,
                "MQTT-3.1.2-3",
            ),
            (
                V311,
                "10 0C 00 04 'MQTT' 04 03 00 00 00 00",
                MALFORMED,
                "MQTT311-3.1.2-3",
            ),
            (
                V5,
                "10 0D 00 04 'MQTT' 05 0A 00 00 00 00 00",
                MALFORMED,
                "MQTT-3.1.2-11",
            ),
            (
                V311,
                "10 0C 00 04 'MQTT' 04 12 00 00 00 00",
                MALFORMED,
                "MQTT311-3.1.2-13",
            ),
            (
                V5,
                "10 0D 00 04 'MQTT' 05 1E 00 00 00 00 00",
                MALFORMED,
                "MQTT-3.1.2-12",
            ),
            (
                V311,
                "10 0C 00 04 'MQTT' 04 1E 00 00 00 00",
                MALFORMED,
                "MQTT311-3.1.2-14",
            ),
            (
                V31,
                "10 0E 00 06 'MQIsdp' 03 1E 00 00 00 00",
                MALFORMED,
                "MQTT311-3.1.2-14",
            ),
            (
                V5,
                "10 0D 00 04 'MQTT' 05 22 00 00 00 00 00",
                MALFORMED,
                "MQTT-3.1.2-13",
            ),
            (
                V311,
                "10 0C 00 04 'MQTT' 04 22 00 00 00 00",
                MALFORMED,
                "MQTT311-3.1.2-15",
            ),
            (
                V311,
                "10 0E 00 04 'MQTT' 04 42 00 00 00 00 00 00",
                MALFORMED,
                "MQTT311-3.1.2-22",
            ),
            (
                V31,
                "10 10 00 06 'MQIsdp' 03 42 00 00 00 00 00 00",
                MALFORMED,
                "MQTT311-3.1.2-22",
            ),
            // Will topics.
            (
                V5,
                "10 12 00 04 'MQTT' 05 06 00 00 00 00 00 00 00 00 00 00",
                TOPIC,
                "MQTT-4.7.3-1",
            ),
            (
                V5,
                "10 13 00 04 'MQTT' 05 06 00 00 00 00 00 00 00 01 '#' 00 00",
                TOPIC,
                "MQTT-3.3.2-2",
            ),
            (
                V311,
                "10 11 00 04 'MQTT' 04 06 00 00 00 00 00 01 '+' 00 00",
                TOPIC,
                "MQTT311-3.3.2-2",
            ),
            (
                V311,
                "10 10 00 04 'MQTT' 04 06 00 00 00 00 00 00 00 00",
                TOPIC,
                "MQTT311-4.7.3-1",
            ),
            // Fields that the flags announce and that aren't there.
            (
                V5,
                "10 0D 00 04 'MQTT' 05 06 00 00 00 00 00",
                MALFORMED,
                "4.13.1",
            ),
            (
                V5,
                "10 0D 00 04 'MQTT' 05 82 00 00 00 00 00",
                MALFORMED,
                "4.13.1",
            ),
            (
                V5,
                "10 0D 00 04 'MQTT' 05 42 00 00 00 00 00",
                MALFORMED,
                "4.13.1",
            ),
            (
                V311,
                "10 0A 00 04 'MQTT' 04 02 00 00",
                MALFORMED,
                "MQTT311-4.8.0-1",
            ),
            // Fields that follow the last one.
            (
                V5,
                "10 0E 00 04 'MQTT' 05 02 00 00 00 00 00 00",
                MALFORMED,
                "4.13.1",
            ),
            (
                V311,
                "10 0D 00 04 'MQTT' 04 02 00 00 00 00 00",
                MALFORMED,
                "MQTT311-4.8.0-1",
            ),
            // Authentication data that belongs to no method.
            (
                V5,
                "10 10 00 04 'MQTT' 05 02 00 00 03 16 00 00 00 00",
                PROTOCOL,
                "3.1.2.11.10",
            ),
        ],
    );
    // MQTT 5 has passwords without user names.
    taken(
        Role::Server,
        &[(V5, "10 0F 00 04 'MQTT' 05 42 00 00 00 00 00 00 00")],
    );
}

#[test]
fn protocol_names_and_levels() {
    let unsupported = ReasonCode::UNSUPPORTED_PROTOCOL_VERSION;
    let cases = [
        (
            "10 0C 00 04 'MQTT' 06 02 00 00 00 00",
            unsupported,
            "MQTT-3.1.2-2",
            Some(V5),
        ),
        (
            "10 0C 00 04 'MQTT' 03 02 00 00 00 00",
            unsupported,
            "MQTT311-3.1.2-2",
            Some(V311),
        ),
        (
            "10 0C 00 04 'MQTT' 00 02 00 00 00 00",
            unsupported,
            "MQTT311-3.1.2-2",
            Some(V311),
        ),
        // Bridges that ask for more, and understand the refusal of the old versions.
        (
            "10 0C 00 04 'MQTT' 84 02 00 00 00 00",
            unsupported,
            "MQTT311-3.1.2-2",
            Some(V311),
        ),
        (
            "10 0E 00 06 'MQIsdp' 83 02 00 00 00 00",
            unsupported,
            "MQTT311-3.1.2-2",
            Some(V311),
        ),
        (
            "10 0E 00 06 'MQIsdp' 04 02 00 00 00 00",
            unsupported,
            "MQTT311-3.1.2-2",
            Some(V311),
        ),
        (
            "10 0C 00 04 'mqtt' 04 02 00 00 00 00",
            PROTOCOL,
            "MQTT-3.1.2-1",
            None,
        ),
        (
            "10 0C 00 04 'HTTP' 05 02 00 00 00 00",
            PROTOCOL,
            "MQTT-3.1.2-1",
            None,
        ),
        (
            "10 08 00 00 04 02 00 00 00 00",
            PROTOCOL,
            "MQTT-3.1.2-1",
            None,
        ),
        ("10 06 00 04 'MQTT'", MALFORMED, "4.13.1", None),
        ("10 00", MALFORMED, "4.13.1", None),
    ];
    for (bytes, reason, statement, version) in cases {
        let error = decode(Role::Server, V5, &hex(bytes)).unwrap_err();
        let found = (error.reason, error.statement, error.version);
        assert_eq!(found, (reason, statement, version), "{bytes}");
    }
}

#[test]
fn publish_fields() {
    refused(
        Role::Server,
        &[
            (V5, "36 06 00 01 'a' 00 01 00", MALFORMED, "MQTT-3.3.1-4"),
            (V311, "36 05 00 01 'a' 00 01", MALFORMED, "MQTT311-3.3.1-4"),
            (V31, "36 05 00 01 'a' 00 01", MALFORMED, "MQTT311-3.3.1-4"),
            (V5, "38 04 00 01 'a' 00", MALFORMED, "MQTT-3.3.1-2"),
            (V311, "38 03 00 01 'a'", MALFORMED, "MQTT311-3.3.1-2"),
            (V5, "32 06 00 01 'a' 00 00 00", PROTOCOL, "MQTT-2.2.1-3"),
            (V311, "34 05 00 01 'a' 00 00", PROTOCOL, "MQTT311-2.3.1-1"),
            (V5, "30 04 00 01 '+' 00", TOPIC, "MQTT-3.3.2-2"),
            (V5, "30 06 00 03 'a/#' 00", TOPIC, "MQTT-3.3.2-2"),
            (V311, "30 03 00 01 '#'", TOPIC, "MQTT311-3.3.2-2"),
            (V5, "30 03 00 00 00", PROTOCOL, "3.3.2.1"),
            (V311, "30 02 00 00", PROTOCOL, "MQTT311-4.7.3-1"),
            (
                V5,
                "30 07 00 01 'a' 03 23 00 00",
                ReasonCode::TOPIC_ALIAS_INVALID,
                "MQTT-3.3.2-8",
            ),
            (V5, "30 06 00 01 'a' 02 0B 01", PROTOCOL, "MQTT-3.3.4-6"),
            (V5, "30 07 00 01 'a' 03 08 00 00", TOPIC, "MQTT-4.7.3-1"),
            (
                V5,
                "30 08 00 01 'a' 04 08 00 01 '#'",
                TOPIC,
                "MQTT-3.3.2-14",
            ),
            (V5, "30 06 00 01 'a' 02 01 02", PROTOCOL, "2.2.2.2"),
            (V5, "30 05 00 04 'abc'", MALFORMED, "4.13.1"),
            (V311, "32 04 00 01 'a' 00", MALFORMED, "MQTT311-4.8.0-1"),
            (V5, "30 03 00 01 'a'", MALFORMED, "4.13.1"),
            (V5, "30 00", MALFORMED, "4.13.1"),
        ],
    );
}

#[test]
fn property_blocks() {
    refused(
        Role::Server,
        &[
            (V5, "30 04 00 01 'a' 01", MALFORMED, "2.2.2.1"),
            (V5, "30 05 00 01 'a' 80 00", MALFORMED, "MQTT-1.5.5-1"),
            (V5, "30 08 00 01 'a' 80 80 80 80 00", MALFORMED, "1.5.5"),
            (V5, "30 04 00 01 'a' 80", MALFORMED, "4.13.1"),
            (V5, "30 05 00 01 'a' 01 01", MALFORMED, "2.2.2.2"),
            (V5, "30 06 00 01 'a' 02 7F 00", MALFORMED, "2.2.2.2"),
            (V5, "30 07 00 01 'a' 03 21 00 01", MALFORMED, "2.2.2.2"),
            (V5, "30 08 00 01 'a' 04 01 00 01 00", PROTOCOL, "2.2.2.2"),
            (V5, "40 06 00 01 00 02 01 00", MALFORMED, "2.2.2.2"),
            (
                V5,
                "10 10 00 04 'MQTT' 05 02 00 00 03 21 00 00 00 00",
                PROTOCOL,
                "3.1.2.11.3",
            ),
            (
                V5,
                "10 12 00 04 'MQTT' 05 02 00 00 05 27 00 00 00 00 00 00",
                PROTOCOL,
                "3.1.2.11.4",
            ),
            (
                V5,
                "10 0F 00 04 'MQTT' 05 02 00 00 02 17 02 00 00",
                PROTOCOL,
                "2.2.2.2",
            ),
            (
                V5,
                "82 09 00 01 02 0B 00 00 01 'a' 00",
                PROTOCOL,
                "3.8.2.1.2",
            ),
            (
                V5,
                "82 0B 00 01 04 0B 01 0B 02 00 01 'a' 00",
                PROTOCOL,
                "2.2.2.2",
            ),
        ],
    );
    refused(
        Role::Client,
        &[
            (V5, "20 05 00 00 02 24 02", PROTOCOL, "2.2.2.2"),
            (V5, "20 06 00 00 03 21 00 00", PROTOCOL, "3.1.2.11.3"),
            (V5, "20 04 00 00 01 00", MALFORMED, "2.2.2.2"),
        ],
    );
}

#[test]
fn acknowledgements() {
    for first in ["40", "50", "62", "70"] {
        let cases = [
            (V5, " 02 00 00", PROTOCOL, "MQTT-2.2.1-3"),
            (V311, " 02 00 00", PROTOCOL, "MQTT311-2.3.1-1"),
            (V5, " 01 00", MALFORMED, "4.13.1"),
            (V5, " 00", MALFORMED, "4.13.1"),
            (V5, " 05 00 01 00 00 00", MALFORMED, "4.13.1"),
            (V5, " 04 00 01 00 01", MALFORMED, "2.2.2.1"),
            (V311, " 03 00 01 00", MALFORMED, "MQTT311-4.8.0-1"),
            (V31, " 03 00 01 00", MALFORMED, "MQTT311-4.8.0-1"),
            (V311, " 01 00", MALFORMED, "MQTT311-4.8.0-1"),
        ];
        for (version, rest, reason, statement) in cases {
            let bytes = format!("{first}{rest}");
            for role in [Role::Server, Role::Client] {
                refused(role, &[(version, &bytes, reason, statement)]);
            }
        }
    }
    refused(
        Role::Client,
        &[
            (V5, "20 03 02 00 00", MALFORMED, "MQTT-3.2.2-1"),
            (V311, "20 02 80 00", MALFORMED, "3.2.2.1"),
            (V5, "20 02 00 00", MALFORMED, "4.13.1"),
            (V5, "20 04 00 00 00 00", MALFORMED, "4.13.1"),
            (V311, "20 03 00 00 00", MALFORMED, "MQTT311-4.8.0-1"),
            (V5, "90 04 00 00 00 00", PROTOCOL, "MQTT-2.2.1-3"),
            (V311, "B0 02 00 00", PROTOCOL, "MQTT311-2.3.1-1"),
            (V311, "B0 03 00 01 00", MALFORMED, "MQTT311-4.8.0-1"),
        ],
    );
}

#[test]
fn subscribe_and_unsubscribe_fields() {
    refused(
        Role::Server,
        &[
            (V5, "82 03 00 01 00", PROTOCOL, "MQTT-3.8.3-2"),
            (V311, "82 02 00 01", PROTOCOL, "MQTT311-3.8.3-3"),
            (V5, "A2 03 00 01 00", PROTOCOL, "MQTT-3.10.3-2"),
            (V311, "A2 02 00 01", PROTOCOL, "MQTT311-3.10.3-2"),
            (V5, "82 07 00 00 00 00 01 'a' 00", PROTOCOL, "MQTT-2.2.1-3"),
            (V311, "A2 05 00 00 00 01 'a'", PROTOCOL, "MQTT311-2.3.1-1"),
            (V5, "82 07 00 01 00 00 01 'a' 40", MALFORMED, "MQTT-3.8.3-5"),
            (V5, "82 07 00 01 00 00 01 'a' 80", MALFORMED, "MQTT-3.8.3-5"),
            (V5, "82 07 00 01 00 00 01 'a' 03", PROTOCOL, "3.8.3.1"),
            (V5, "82 07 00 01 00 00 01 'a' 30", PROTOCOL, "3.8.3.1"),
            (
                V311,
                "82 06 00 01 00 01 'a' 03",
                MALFORMED,
                "MQTT311-3.8.3-4",
            ),
            (
                V311,
                "82 06 00 01 00 01 'a' 04",
                MALFORMED,
                "MQTT311-3.8.3-4",
            ),
            (
                V31,
                "82 06 00 01 00 01 'a' 03",
                MALFORMED,
                "MQTT311-3.8.3-4",
            ),
            (
                V5,
                "82 10 00 01 00 00 0A '$share/g/a' 05",
                PROTOCOL,
                "MQTT-3.8.3-4",
            ),
            (V5, "82 06 00 01 00 00 01 'a'", MALFORMED, "4.13.1"),
            (V5, "A2 07 00 01 00 00 01 'a' 00", MALFORMED, "4.13.1"),
        ],
    );
    taken(
        Role::Server,
        &[(V5, "82 10 00 01 00 00 0A '$share/g/a' 2A")],
    );
}

#[test]
fn disconnect_and_auth_fields() {
    refused(
        Role::Server,
        &[
            (V311, "E0 01 00", MALFORMED, "MQTT311-4.8.0-1"),
            (V5, "E0 03 00 00 00", MALFORMED, "4.13.1"),
            (V5, "E0 02 00 05", MALFORMED, "2.2.2.1"),
            (V5, "E0 05 00 03 15 00 00", MALFORMED, "2.2.2.2"),
            (V5, "F0 01 18", MALFORMED, "4.13.1"),
            (V5, "F0 03 18 00 00", MALFORMED, "4.13.1"),
            (V5, "F0 07 18 05 11 00 00 00 00", MALFORMED, "2.2.2.2"),
        ],
    );
}

#[test]
fn an_error_says_what_is_wrong() {
    let error = decode(Role::Server, V5, &hex("36 06 00 01 'a' 00 01 00")).unwrap_err();
    assert_eq!(error.detail, "QoS 3");
    assert_eq!(error.to_string(), "QoS 3 (malformed_packet (0x81))");
}
