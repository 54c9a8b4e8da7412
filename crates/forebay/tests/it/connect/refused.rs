//! CONNECT packets that are refused, and how. Chapters 3.1.2, 3.1.4, 4.12 and 4.13.

use std::{net::Ipv4Addr, process::Command};

use crate::{
    cli,
    harness::{
        BOTH, Broker, Client, Version,
        wire::{
            DISCONNECT, PINGREQ, block, connect, hex, packet, prop_text, prop1, prop2, prop4, text,
        },
    },
};

/// [MQTT311-3.1.2-2] [MQTT-3.1.2-2]
#[test]
fn an_unknown_protocol_version_is_refused() {
    let broker = Broker::start();
    for level in ["00", "02", "06", "ff"] {
        let mut client = broker.open(Version::V311);
        client.send(hex(&format!(
            "10 0f 0004 'MQTT' {level} 02 003c 00 0002 'c1'"
        )));
        let answer = client.frame_or_end().unwrap_or_default();
        let refusals = [hex("20 02 00 01"), hex("20 03 00 84 00")];
        assert!(refusals.contains(&answer), "level {level}: {answer:02x?}");
        client.expect_closed();
    }
}

/// [MQTT-3.1.2-1]
#[test]
fn another_protocol_name_is_closed() {
    let broker = Broker::start();
    for name in ["MQTTX", "mqtt", "", "HTTP"] {
        let rest = [text(name), hex("04 02 003c 0002 'c1'")].concat();
        let mut client = broker.open(Version::V311);
        client.send(packet(0x10, &rest));
        refused_or_closed(&mut client, &[0x01, 0x84], name);
    }
}

/// [MQTT-3.1.0-1]
#[test]
fn a_first_packet_that_is_no_connect_is_closed() {
    let broker = Broker::start();
    let firsts = [
        PINGREQ.to_vec(),
        DISCONNECT.to_vec(),
        hex("20 02 00 00"),
        hex("30 03 0001 't'"),
        hex("82 06 0001 0001 't' 00"),
        hex("f0 02 00 00"),
        hex("'GET / HTTP/1.1' 0d0a 0d0a"),
    ];
    for first in firsts {
        let mut client = broker.open(Version::V311);
        client.send(first);
        client.expect_closed();
    }
}

/// [MQTT-3.1.0-2]
#[test]
fn a_second_connect_is_a_protocol_error() {
    let broker = Broker::start();
    for version in BOTH {
        let mut client = broker.connect(&connect(version, "c1"));
        client.send(connect(version, "c1").bytes());
        client.expect_disconnect(&[0x82]);
    }
}

/// [MQTT-3.1.2-3] [MQTT-3.1.2-11] to [MQTT-3.1.2-19], and their kin in 3.1.1.
///
/// No DISCONNECT may come before the CONNACK [MQTT-3.14.0-1]: what can come is a CONNACK that
/// refuses, in MQTT 5.
#[test]
fn a_connect_with_impossible_flags_is_refused() {
    let broker = Broker::start();
    let cases = [
        ("the reserved flag", "03", "0002 'c1'"),
        ("will QoS 3", "1e", "0002 'c1' [00] 0001 'w' 0001 'p'"),
        ("will QoS without a will", "0a", "0002 'c1'"),
        ("will retain without a will", "22", "0002 'c1'"),
        ("a user name that is missing", "82", "0002 'c1'"),
        ("a password that is missing", "c2", "0002 'c1' 0001 'u'"),
        ("a will that is missing", "06", "0002 'c1'"),
        ("bytes at the end", "02", "0002 'c1' 00"),
        ("a client id that is cut", "02", "0003 'c1'"),
        ("no client id", "02", ""),
        ("U+0000 in the client id", "02", "0001 00"),
        ("a client id that is no UTF-8", "02", "0002 c3 28"),
        ("a surrogate in the client id", "02", "0003 ed a0 80"),
        (
            "a will topic with a wildcard",
            "06",
            "0002 'c1' [00] 0003 'w/#' 0001 'p'",
        ),
        ("a user name that is no UTF-8", "82", "0002 'c1' 0001 ff"),
    ];
    for version in BOTH {
        for (name, flags, rest) in cases {
            let (level, none, will) = match version {
                Version::V311 => ("04", "", ""),
                Version::V5 => ("05", "00", "00"),
            };
            let rest = rest.replace("[00]", will);
            let rest = hex(&format!("0004 'MQTT' {level} {flags} 003c {none} {rest}"));
            let mut client = broker.open(version);
            client.send(packet(0x10, &rest));
            let codes: &[u8] = match version {
                // The identifier alone has a code of its own in 3.1.1.
                Version::V311 => &[0x02],
                Version::V5 => &[0x81, 0x82, 0x85, 0x90],
            };
            refused_or_closed(&mut client, codes, name);
        }
    }
}

/// [MQTT311-3.1.2-22]: 3.1.1 forbids what MQTT 5 allows.
#[test]
fn a_password_without_a_user_name_is_for_mqtt_5_only() {
    let broker = Broker::start();
    let mut old = broker.open(Version::V311);
    old.send(connect(Version::V311, "c1").password(b"secret").bytes());
    refused_or_closed(&mut old, &[], "3.1.1");
    let new = connect(Version::V5, "c2").password(b"secret");
    let mut client = broker.open(Version::V5);
    client.send(new.bytes());
    assert!(
        matches!(client.connack().code, 0 | 0x86 | 0x87),
        "a verdict, not a parse error"
    );
}

/// Table 2-4 and chapters 3.1.2.11.2 to 3.1.2.11.9.
#[test]
fn a_connect_with_impossible_properties_is_refused() {
    let broker = Broker::start();
    let cases: [(&str, Vec<u8>); 13] = [
        (
            "session expiry twice",
            [prop4(0x11, 1), prop4(0x11, 1)].concat(),
        ),
        ("receive maximum 0", prop2(0x21, 0)),
        (
            "receive maximum twice",
            [prop2(0x21, 1), prop2(0x21, 1)].concat(),
        ),
        ("maximum packet size 0", prop4(0x27, 0)),
        (
            "topic alias maximum twice",
            [prop2(0x22, 1), prop2(0x22, 1)].concat(),
        ),
        ("request response information 2", prop1(0x19, 2)),
        ("request problem information 2", prop1(0x17, 2)),
        ("authentication data without a method", prop_text(0x16, "x")),
        ("a property of PUBLISH", prop1(0x01, 1)),
        ("a property of CONNACK", prop1(0x24, 1)),
        ("an unknown property", hex("7f 00")),
        ("a property that is cut", hex("11 00 00")),
        (
            "a user property that is no UTF-8",
            hex("26 0001 ff 0001 'v'"),
        ),
    ];
    for (name, properties) in cases {
        let mut client = broker.open(Version::V5);
        client.send(connect(Version::V5, "c1").property(properties).bytes());
        let answer = client.connack();
        assert!(
            matches!(answer.code, 0x81 | 0x82),
            "{name}: {:#04x}",
            answer.code
        );
        assert!(!answer.present);
        client.expect_closed();
    }
}

/// [MQTT-4.12.0-1]
#[test]
fn an_authentication_method_is_refused_with_its_code() {
    let broker = Broker::start();
    let mut client = broker.open(Version::V5);
    client.send(
        connect(Version::V5, "c1")
            .property(prop_text(0x15, "NOBODY-KNOWS"))
            .bytes(),
    );
    let answer = client.connack();
    assert_eq!((answer.present, answer.code), (false, 0x8C));
    client.expect_closed();
}

/// [MQTT-4.12.0-7]
#[test]
fn an_auth_packet_without_a_method_is_a_protocol_error() {
    let broker = Broker::start();
    let mut client = broker.connect(&connect(Version::V5, "c1"));
    client.send(packet(0xF0, &[&[0x19], block(&[]).as_slice()].concat()));
    client.expect_disconnect(&[0x82]);
}

/// Claim 23 of the broker: what comes from elsewhere needs a name.
#[test]
fn a_listener_for_anyone_takes_anonymous_clients_only_where_that_is_allowed() {
    let everywhere = ["--listen", "0.0.0.0:0"];
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut command = Command::new(env!("CARGO_BIN_EXE_forebay"));
    command.arg("broker").args(everywhere);
    let error = cli::refused(command.arg("--data-dir").arg(dir.path()), 78);
    assert!(error.contains("0.0.0.0"), "{error}");
    assert!(error.contains("allow-anonymous"), "{error}");

    let broker = Broker::with(&[everywhere[0], everywhere[1], "--allow-anonymous"]);
    for version in BOTH {
        let at = (Ipv4Addr::LOCALHOST, broker.address().port()).into();
        Client::connect(at, &connect(version, "c1"))
            .0
            .expect_nothing();
    }
}

/// Requires the end, with at most a CONNACK before that carries one of these codes.
#[track_caller]
fn refused_or_closed(client: &mut Client, codes: &[u8], name: &str) {
    let Some(answer) = client.frame_or_end() else {
        return;
    };
    assert_eq!(answer[0], 0x20, "{name}: {answer:02x?}");
    assert_eq!(
        answer[2], 0,
        "{name}: session present in a refusal [MQTT-3.2.2-6]"
    );
    assert!(codes.contains(&answer[3]), "{name}: {answer:02x?}");
    client.expect_closed();
}
