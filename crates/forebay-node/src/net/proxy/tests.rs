use super::{LENGTH_MAX, read};

fn header(version: u8, family: u8, rest: &[u8]) -> Vec<u8> {
    let mut bytes = b"\r\n\r\n\0\r\nQUIT\n".to_vec();
    bytes.extend([version, family]);
    bytes.extend((rest.len() as u16).to_be_bytes());
    bytes.extend(rest);
    bytes
}

fn told(bytes: &[u8]) -> Result<Option<String>, std::io::ErrorKind> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let mut bytes = bytes;
    let read = runtime.block_on(read(&mut bytes));
    read.map(|it| it.map(|it| it.to_string()))
        .map_err(|it| it.kind())
}

#[test]
fn the_address_behind_a_balancer_is_read_and_additions_are_passed_over() {
    let v4 = [10, 1, 2, 3, 127, 0, 0, 1, 0x30, 0x39, 0x07, 0x5b];
    assert_eq!(
        told(&header(0x21, 0x11, &v4)),
        Ok(Some("10.1.2.3:12345".into()))
    );
    let long = [&v4[..], &[0x20, 0, 3, 1, 2, 3]].concat();
    assert_eq!(
        told(&header(0x21, 0x11, &long)),
        Ok(Some("10.1.2.3:12345".into()))
    );
    let mut v6 = [0; 36];
    (v6[0], v6[15], v6[32], v6[33]) = (0xfd, 7, 0x30, 0x39);
    assert_eq!(
        told(&header(0x21, 0x21, &v6)),
        Ok(Some("[fd00::7]:12345".into()))
    );
    assert_eq!(told(&header(0x20, 0x00, &[])), Ok(None));
    assert_eq!(told(&header(0x21, 0x00, &[])), Ok(None));
}

#[test]
fn garbage_what_is_cut_and_what_is_too_long_are_refused() {
    use std::io::ErrorKind::{InvalidData, UnexpectedEof};
    assert_eq!(
        told(b"PROXY TCP4 10.1.2.3 127.0.0.1 1 2\r\n"),
        Err(InvalidData)
    );
    assert_eq!(
        told(b"\x10\x10\0\x04MQTT\x05\x02\0\0\0\0\0\0"),
        Err(InvalidData)
    );
    assert_eq!(told(&header(0x11, 0x11, &[0; 12])), Err(InvalidData));
    assert_eq!(told(&header(0x21, 0x77, &[0; 12])), Err(InvalidData));
    assert_eq!(told(&header(0x21, 0x11, &[0; 11])), Err(InvalidData));
    let long = header(0x21, 0x11, &vec![0; usize::from(LENGTH_MAX) + 1]);
    assert_eq!(told(&long), Err(InvalidData));
    let whole = header(0x21, 0x11, &[0; 12]);
    for end in 0..whole.len() {
        assert_eq!(told(&whole[..end]), Err(UnexpectedEof), "{end}");
    }
}
