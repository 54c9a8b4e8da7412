use super::{Reader, Small};

#[test]
fn a_varint_reads_back_and_a_cut_or_overlong_one_does_not() {
    for shift in 0..64 {
        for value in [1_u64 << shift, (1_u64 << shift) - 1, u64::MAX >> shift] {
            let mut small = Small::new(9);
            small.varint(value);
            let mut reader = Reader::new(small.bytes());
            assert_eq!(reader.u8(), Some(9));
            assert_eq!(reader.clone().varint(), Some(value));
            let cut = &small.bytes()[1..small.bytes().len() - 1];
            assert_eq!(Reader::new(cut).varint(), None);
        }
    }
    assert_eq!(Reader::new(&[0x80; 10]).varint(), None);
    assert_eq!(
        Reader::new(&[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2]).varint(),
        None
    );
}

#[test]
fn a_string_longer_than_what_is_left_is_refused() {
    assert_eq!(Reader::new(&[3, 1, 2]).string(), None);
    assert_eq!(Reader::new(&[2, 1, 2]).string(), Some(&[1, 2][..]));
    assert_eq!(
        Reader::new(&[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1]).string(),
        None
    );
}
