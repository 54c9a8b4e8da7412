use super::*;

#[test]
fn a_header_reads_back_and_any_changed_byte_is_noticed() {
    let header = FrameHeader {
        seq: 7,
        epoch: 3,
        acked: 5,
        prev: 11,
        segment: 2,
        body_len: 100,
        body_crc: 99,
    };
    let (bytes, checksum) = header.encode(&[7; 16]);
    assert_eq!(
        FrameHeader::decode(&bytes, &[7; 16]),
        Some((header, checksum))
    );
    for at in 0..HEADER {
        let mut bad = bytes;
        bad[at] ^= 0x10;
        assert_eq!(FrameHeader::decode(&bad, &[7; 16]), None, "byte {at}");
    }
    assert_eq!(FrameHeader::decode(&bytes[..HEADER - 1], &[7; 16]), None);
    assert_eq!(
        FrameHeader::decode(&bytes, &[8; 16]),
        None,
        "of another store"
    );
    assert_eq!(header.padded_len(512), 512);
    assert_eq!(header.padded_len(64), 192);
}
