use super::*;

const HEADER: SegmentHeader = SegmentHeader {
    store: [7; 16],
    alignment: 4096,
    number: 3,
    len: 1 << 26,
};
const ROOT: Root = Root {
    store: [7; 16],
    generation: 9,
    start: Start {
        segment: 3,
        offset: 8192,
        seq: 77,
        epoch: 4,
        prev: 0xDEAD,
    },
};

#[test]
fn blocks_read_back_and_any_changed_byte_is_noticed() {
    assert_eq!(
        SegmentHeader::decode(&HEADER.encode()),
        Block::Valid(HEADER)
    );
    assert_eq!(Root::decode(&ROOT.encode()), Block::Valid(ROOT));
    for at in 0..BLOCK {
        let (mut header, mut root) = (HEADER.encode(), ROOT.encode());
        header[at] ^= 1;
        root[at] ^= 1;
        assert_eq!(SegmentHeader::decode(&header), Block::Invalid);
        assert_eq!(Root::decode(&root), Block::Invalid);
    }
    assert_eq!(SegmentHeader::decode(&[0; BLOCK]), Block::Invalid);
    assert_eq!(SegmentHeader::decode(&ROOT.encode()), Block::Invalid);
}

#[test]
fn a_newer_version_is_told_from_damage() {
    let mut bytes = HEADER.encode();
    bytes[8] = 2;
    let checksum = crc32c::crc32c(&bytes[..CHECKSUM_AT]);
    bytes[CHECKSUM_AT..].copy_from_slice(&checksum.to_le_bytes());
    assert_eq!(SegmentHeader::decode(&bytes), Block::Newer(2));
}
