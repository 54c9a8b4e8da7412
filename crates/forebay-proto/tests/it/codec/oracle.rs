//! The same bytes read by another codec of MQTT 5, intact and with a byte changed: both take them
//! or both refuse them, and what it writes of what it read is what we read.

use std::panic::catch_unwind;

use bytes::BytesMut;
use flowsdk::mqtt_serde::{
    control_packet::MqttPacket,
    parser::{ParseError, ParseOk},
};
use forebay_proto::{DecodeError, Decoder, Packet, PropertiesBuilder, PropertyId, Role, Version};
use proptest::{
    prelude::{ProptestConfig, TestCaseError, any},
    proptest,
    sample::Index,
};

use super::{arbitrary, encoded};

fn ours(role: Role, bytes: &[u8]) -> Result<Option<Packet>, DecodeError> {
    let mut decoder = Decoder::new(role, u32::MAX);
    if bytes.first().is_some_and(|first| first >> 4 != 1) {
        decoder.set_version(Version::V5);
    }
    decoder.decode(&mut BytesMut::from(bytes))
}

/// What the other codec reads, as it writes it again; `Err` is its complaint.
fn theirs(bytes: &[u8]) -> Result<Option<Vec<u8>>, String> {
    match catch_unwind(|| MqttPacket::from_bytes_v5(bytes)) {
        Ok(Ok(ParseOk::Packet(packet, _))) => match packet.to_bytes() {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) => Err(format!("can't write: {error:?}")),
        },
        Ok(Ok(ParseOk::Continue(..) | ParseOk::TopicName(..)) | Err(ParseError::More(..))) => {
            Ok(None)
        }
        Ok(Err(error)) => Err(format!("{error:?}")),
        Err(_) => Err("panic".into()),
    }
}

/// Where the other codec judges what isn't the decoder's to judge here, or asks for what the
/// specification doesn't.
const THEIR_OWN: &[&str] = &[
    // We read any reason, by design.
    "Invalid reason code for packet type",
    // Verdicts of the machines.
    "Failed CONNACK cannot set Session Present",
    "SUBACK payload must contain at least one reason code",
    "Topic filter cannot be empty",
    "wildcard (",
    // Zero-length fields that the specification allows.
    "Assigned Client Identifier cannot be empty",
    "Username cannot be empty",
    "Password cannot be empty",
    "Will topic or message cannot be empty",
    // Its faults.
    "panic",
];

/// What only we look at: who sent the packet, and in which version.
const OUR_OWN: &[&str] = &[
    "only the other side may send this packet",
    "unsupported protocol level",
    "subscription identifier in a PUBLISH of a client",
];

/// Whether both packets are the same but for the order of will properties, which the other codec
/// doesn't keep.
fn same(packet: &Packet, again: Result<Option<Packet>, DecodeError>) -> bool {
    again.is_ok_and(|again| again.map(sorted) == Some(sorted(packet.clone())))
}

fn sorted(mut packet: Packet) -> Packet {
    if let Packet::Connect(connect) = &mut packet
        && let Some(will) = &mut connect.will
    {
        let mut builder = PropertiesBuilder::new();
        for &wanted in PropertyId::ALL {
            builder.extend_from(&will.properties, |id| id == wanted);
        }
        will.properties = builder.build();
    }
    packet
}

fn agree(role: Role, bytes: &[u8]) -> Result<(), TestCaseError> {
    let ours = ours(role, bytes);
    let version = match &ours {
        Ok(Some(Packet::Connect(connect))) => connect.version,
        Err(error) => error.version.unwrap_or(Version::V5),
        Ok(_) => Version::V5,
    };
    if version != Version::V5 {
        return Ok(()); // The change made it a CONNECT of another version.
    }
    match (ours, theirs(bytes)) {
        // We refuse by the header where they wait for the rest.
        (Ok(None) | Err(_), Ok(None)) | (Err(_), Err(_)) => Ok(()),
        (Ok(Some(packet)), Ok(Some(again))) if same(&packet, self::ours(role, &again)) => Ok(()),
        // The length of a CONNECT is judged once its version is known.
        (Ok(None), Err(complaint)) if complaint.contains("not minimal") => Ok(()),
        (Err(error), _) if OUR_OWN.contains(&error.detail) => Ok(()),
        (Ok(_), Err(complaint)) if THEIR_OWN.iter().any(|own| complaint.contains(own)) => Ok(()),
        (ours, theirs) => Err(TestCaseError::fail(format!(
            "{bytes:02x?}: we say {ours:?}, they say {theirs:02x?}"
        ))),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn another_codec_reads_what_we_write((role, packet) in arbitrary::packet_of(Version::V5)) {
        agree(role, &encoded(&packet, Version::V5))?;
    }

    #[test]
    fn another_codec_refuses_what_we_refuse(
        (role, packet) in arbitrary::packet_of(Version::V5),
        changes in proptest::collection::vec((any::<Index>(), any::<u8>()), 1..3),
    ) {
        let mut bytes = encoded(&packet, Version::V5);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        agree(role, &bytes)?;
    }
}
