use super::AlignedBuf;

#[test]
fn the_first_byte_stays_aligned_while_the_buffer_grows() {
    for alignment in [512, 4096] {
        let mut buf = AlignedBuf::with_capacity(0, alignment);
        for i in 0..20_000_usize {
            buf.push(i as u8);
            assert_eq!(buf.as_ptr().align_offset(alignment), 0);
        }
        assert!(buf.iter().enumerate().all(|(i, &b)| b == i as u8));
    }
}

#[test]
fn padding_fills_with_zeros_up_to_the_alignment() {
    let mut buf = AlignedBuf::with_capacity(10, 512);
    buf.extend_from_slice(&[7; 513]);
    buf.pad();
    assert_eq!(buf.len(), 1024);
    assert!(buf[513..].iter().all(|&b| b == 0));
    buf.clear();
    buf.resize(512);
    assert!(buf.iter().all(|&b| b == 0), "old bytes never come back");
}
