//! Decodes a stream twice, at once and byte by byte, and encodes what came out.

use bytes::BytesMut;
use forebay_proto::{Decoder, Packet, Role, Version, encode, encoded_len};

pub fn run(role: Role, data: &[u8]) {
    let Some((&choice, stream)) = data.split_first() else {
        return;
    };
    let version = match choice & 3 {
        0 => None,
        1 => Some(Version::V3_1),
        2 => Some(Version::V3_1_1),
        _ => Some(Version::V5),
    };
    let whole = decode(role, version, stream, stream.len().max(1));
    let pieces = decode(role, version, stream, 1);
    assert_eq!(whole, pieces, "the split of a stream shows");
}

/// The packets of `stream`, and whether it was refused in the end.
fn decode(role: Role, version: Option<Version>, stream: &[u8], chunk: usize) -> (Vec<Packet>, bool) {
    let mut decoder = Decoder::new(role, 1 << 20);
    if let Some(version) = version {
        decoder.set_version(version);
    }
    let (mut buf, mut packets, mut out) = (BytesMut::new(), Vec::new(), Vec::new());
    for bytes in stream.chunks(chunk) {
        buf.extend_from_slice(bytes);
        loop {
            match decoder.decode(&mut buf) {
                Ok(Some(packet)) => {
                    let version = decoder.version().unwrap_or(Version::V5);
                    out.clear();
                    encode(&packet, version, &mut out).expect("what was read can be written");
                    assert_eq!(out.len(), encoded_len(&packet, version));
                    packets.push(packet);
                }
                Ok(None) => break,
                Err(_) => return (packets, true),
            }
        }
    }
    (packets, false)
}
