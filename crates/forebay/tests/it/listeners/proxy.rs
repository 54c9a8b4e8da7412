//! The PROXY protocol.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use super::{broker, speaks_mqtt};
use crate::harness::{Broker, PATIENCE, Version, wire::connect};

fn header(address: [u8; 4]) -> Vec<u8> {
    let mut bytes = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c".to_vec();
    bytes.extend(address);
    bytes.extend([127, 0, 0, 1, 0x30, 0x39, 7, 0x5b]);
    bytes
}

fn open(broker: &Broker) -> TcpStream {
    let stream = TcpStream::connect(broker.door("mqtt")).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("an option");
    stream
}

#[test]
fn who_is_behind_a_balancer_is_judged_by_its_own_address() {
    let dir = tempfile::tempdir().expect("a directory");
    let text = "[[broker.listener]]\naddress = \"127.0.0.1:0\"\nproxy_protocol = true\n";
    let broker = broker(&dir, text);
    let mut near = open(&broker);
    near.write_all(&header([127, 0, 0, 9])).expect("sent");
    speaks_mqtt(&mut near, "near");

    // Nobody from elsewhere comes in without a name.
    let mut far = open(&broker);
    far.write_all(&header([10, 0, 0, 9])).expect("sent");
    far.write_all(&connect(Version::V311, "far").bytes())
        .expect("sent");
    let mut answer = Vec::new();
    far.read_to_end(&mut answer).expect("an answer");
    assert_eq!(answer, [0x20, 2, 0, 5]);
}

#[test]
fn a_connection_without_the_header_is_closed_without_a_word() {
    let dir = tempfile::tempdir().expect("a directory");
    let text = "[[broker.listener]]\naddress = \"127.0.0.1:0\"\nproxy_protocol = true\n";
    let broker = broker(&dir, text);
    for bytes in [
        connect(Version::V5, "a client with a long name").bytes(),
        b"PROXY TCP4 10.0.0.1 10.0.0.2 1 2\r\n".to_vec(),
    ] {
        let mut stream = open(&broker);
        stream.write_all(&bytes).expect("sent");
        let mut answer = Vec::new();
        // Closed with bytes unread is a reset.
        let _ = stream.read_to_end(&mut answer);
        assert!(answer.is_empty(), "{answer:02x?}");
    }
}
