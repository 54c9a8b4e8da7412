//! Bytes that nobody meant: the decoder neither panics nor loops, and never takes more than is
//! there. `FOREBAY_SEED` replays a run.

use bytes::BytesMut;
use forebay_proto::{Decoder, Role, Version, encode, encoded_len};

/// A small generator, the same on every machine (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

fn seed() -> u64 {
    let seed = std::env::var("FOREBAY_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(1);
    println!("FOREBAY_SEED={seed}");
    seed
}

/// Decodes until the bytes are used up or refused, and reads all that came out.
fn exhaust(decoder: &mut Decoder, bytes: &[u8]) -> usize {
    let mut buf = BytesMut::from(bytes);
    let mut packets = 0;
    loop {
        let before = buf.len();
        match decoder.decode(&mut buf) {
            Ok(Some(packet)) => {
                assert!(buf.len() < before, "a packet without bytes");
                packets += 1;
                let version = decoder.version().unwrap_or(Version::V5);
                let mut out = Vec::new();
                encode(&packet, version, &mut out).unwrap();
                assert_eq!(out.len(), encoded_len(&packet, version));
                assert!(!format!("{packet:?}").is_empty());
            }
            Ok(None) => {
                assert_eq!(buf.len(), before, "bytes lost");
                return packets;
            }
            Err(error) => {
                assert!(
                    error.reason.is_error() && !error.statement.is_empty(),
                    "{error:?}"
                );
                return packets;
            }
        }
    }
}

fn fresh(random: &mut Random) -> Decoder {
    let role = if random.below(2) == 0 {
        Role::Server
    } else {
        Role::Client
    };
    let mut decoder = Decoder::new(role, 1 << (4 + random.below(20)));
    match random.below(4) {
        0 => {}
        1 => decoder.set_version(Version::V3_1),
        2 => decoder.set_version(Version::V3_1_1),
        _ => decoder.set_version(Version::V5),
    }
    decoder
}

#[test]
fn random_bytes_never_panic() {
    let mut random = Random(seed());
    for _ in 0..200_000 {
        let len = random.below(64);
        let bytes: Vec<u8> = (0..len).map(|_| random.next() as u8).collect();
        exhaust(&mut fresh(&mut random), &bytes);
    }
}

#[test]
fn random_bodies_behind_a_sound_header_never_panic() {
    let mut random = Random(seed());
    let mut packets = 0;
    for _ in 0..400_000 {
        let len = random.below(40);
        let mut bytes = vec![(random.below(16) << 4) as u8, len as u8];
        if bytes[0] == 0x60 || bytes[0] == 0x80 || bytes[0] == 0xA0 {
            bytes[0] |= 2;
        }
        // Small numbers make lengths and property identifiers that hold.
        bytes.extend((0..len).map(|_| (random.next() % 48) as u8));
        packets += exhaust(&mut fresh(&mut random), &bytes);
    }
    assert!(
        packets > 10_000,
        "only {packets} got through: the test looks at nothing"
    );
}
