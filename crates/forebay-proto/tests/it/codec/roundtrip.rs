//! What is encoded decodes to itself, however the stream is cut.

use bytes::BytesMut;
use forebay_proto::{Packet, encoded_len};
use proptest::{prelude::ProptestConfig, prop_assert_eq, proptest};

use super::{arbitrary, decoder, encoded};

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn any_packet_survives_its_encoding_at_every_split(
        (version, role, packet) in arbitrary::packet(),
    ) {
        let bytes = encoded(&packet, version);
        prop_assert_eq!(encoded_len(&packet, version), bytes.len());
        for split in 0..bytes.len() {
            let mut decoder = decoder(role, version, bytes[0]);
            let mut buf = BytesMut::from(&bytes[..split]);
            prop_assert_eq!(decoder.decode(&mut buf), Ok(None), "split at {}", split);
            buf.extend_from_slice(&bytes[split..]);
            prop_assert_eq!(decoder.decode(&mut buf), Ok(Some(packet.clone())));
            prop_assert_eq!(decoder.version(), Some(version));
            prop_assert_eq!(buf.len(), 0);
        }
    }

    /// Whatever decodes has one encoding, and that decodes to the same.
    #[test]
    fn what_decodes_encodes_to_something_that_decodes_to_the_same(
        (version, role, packet) in arbitrary::packet(),
        at in proptest::prelude::any::<proptest::sample::Index>(),
        byte: u8,
    ) {
        let mut bytes = encoded(&packet, version);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let mut first = decoder(role, version, bytes[0]);
        let Ok(Some(read)) = first.decode(&mut BytesMut::from(&bytes[..])) else {
            return Ok(());
        };
        let version = first.version().unwrap_or(version);
        let again = encoded(&read, version);
        prop_assert_eq!(encoded_len(&read, version), again.len());
        let mut second = decoder(role, version, again[0]);
        let reread = second.decode(&mut BytesMut::from(&again[..]));
        if lossless(&read) {
            prop_assert_eq!(reread, Ok(Some(read)));
        } else {
            prop_assert_eq!(reread.map(|packet| packet.is_some()), Ok(true));
        }
    }
}

/// Whether every field of the packet has a place on the wire in every version.
fn lossless(packet: &Packet) -> bool {
    // The verdicts of MQTT 3 are few.
    !matches!(packet, Packet::ConnAck(_) | Packet::SubAck(_))
}
