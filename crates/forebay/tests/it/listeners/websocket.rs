//! MQTT over WebSocket, from outside: frames built by hand.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use super::broker;
use crate::harness::{
    Broker, PATIENCE, Version,
    wire::{PUBACK, ack_with, connect, hex, publish},
};

const LISTENER: &str = "[[broker.listener]]\naddress = \"127.0.0.1:0\"\nwebsocket = true\n";
const BINARY: u8 = 2;
const TEXT: u8 = 1;
const PING: u8 = 9;

struct Socket(TcpStream);

/// Asks for WebSocket under `protocol` and gives the head of the answer.
fn ask(broker: &Broker, protocol: &str) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(broker.door("ws")).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("an option");
    let request = format!(
        "GET /mqtt HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{protocol}\r\n"
    );
    stream.write_all(request.as_bytes()).expect("sent");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte).expect("an answer") == 0 {
            break;
        }
        head.push(byte[0]);
    }
    (stream, String::from_utf8(head).expect("text"))
}

impl Socket {
    fn open(broker: &Broker) -> Self {
        let (stream, head) = ask(broker, "Sec-WebSocket-Protocol: chat, mqtt\r\n");
        assert!(head.starts_with("HTTP/1.1 101"), "{head}");
        assert!(
            head.to_lowercase()
                .contains("sec-websocket-protocol: mqtt\r\n"),
            "{head}"
        );
        Self(stream)
    }

    /// Sends a frame, masked as a client must.
    fn frame(&mut self, first: u8, payload: &[u8]) {
        let mask = [1, 2, 3, 4];
        let mut bytes = vec![first];
        match payload.len() {
            short @ 0..126 => bytes.push(0x80 | short as u8),
            middle @ 126..65_536 => {
                bytes.push(0x80 | 0x7E);
                bytes.extend((middle as u16).to_be_bytes());
            }
            long => {
                bytes.push(0x80 | 0x7F);
                bytes.extend((long as u64).to_be_bytes());
            }
        }
        bytes.extend(mask);
        bytes.extend(
            payload
                .iter()
                .zip(mask.iter().cycle())
                .map(|(byte, mask)| byte ^ mask),
        );
        // A broker that has seen enough closes.
        let _ = self.0.write_all(&bytes);
    }

    fn message(&mut self, kind: u8, payload: &[u8]) {
        self.frame(0x80 | kind, payload);
    }

    /// The next frame, or `None` at the end.
    fn next(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut head = [0; 2];
        self.0.read_exact(&mut head).ok()?;
        let length = match head[1] {
            126 => {
                let mut length = [0; 2];
                self.0.read_exact(&mut length).ok()?;
                usize::from(u16::from_be_bytes(length))
            }
            127 => {
                let mut length = [0; 8];
                self.0.read_exact(&mut length).ok()?;
                u64::from_be_bytes(length) as usize
            }
            short => usize::from(short),
        };
        let mut payload = vec![0; length];
        self.0.read_exact(&mut payload).ok()?;
        Some((head[0] & 0x0F, payload))
    }

    /// Bytes of binary messages, as many as are expected.
    #[track_caller]
    fn expect(&mut self, bytes: &[u8]) {
        let mut got = Vec::new();
        while got.len() < bytes.len() {
            let (kind, payload) = self.next().expect("a message");
            assert_eq!(kind, BINARY);
            got.extend(payload);
        }
        assert_eq!(got, bytes);
    }
}

fn connect_bytes() -> Vec<u8> {
    connect(Version::V311, "c").bytes()
}

#[test]
fn packets_pass_however_they_are_cut_into_messages_and_frames() {
    let dir = tempfile::tempdir().expect("a directory");
    let broker = broker(&dir, LISTENER);
    let both = [
        connect_bytes(),
        publish("t", "x").qos(1, 7).bytes(Version::V311),
    ]
    .concat();
    let answer = [hex("20 02 00 00"), ack_with(Version::V311, PUBACK, 7, 0)].concat();
    for size in [1, 2, 3, 7, both.len()] {
        let mut socket = Socket::open(&broker);
        for part in both.chunks(size) {
            socket.message(BINARY, part);
        }
        socket.expect(&answer);
        // As the frames of one message, with a ping between them that is answered.
        let mut socket = Socket::open(&broker);
        let (first, rest) = both.split_at(size);
        socket.frame(BINARY, first);
        socket.message(PING, b"here?");
        assert_eq!(socket.next(), Some((10, b"here?".to_vec())));
        socket.frame(0x80, rest);
        socket.expect(&answer);
    }
}

#[test]
fn large_messages_pass_both_ways_and_one_too_large_ends_the_connection() {
    let dir = tempfile::tempdir().expect("a directory");
    let broker = broker(&dir, LISTENER);
    let mut socket = Socket::open(&broker);
    socket.message(BINARY, &connect_bytes());
    socket.expect(&hex("20 02 00 00"));
    let wire = crate::harness::wire::subscribe(Version::V311, 1, &[("big", 0)]);
    socket.message(BINARY, &wire);
    socket.expect(&hex("90 03 00 01 00"));
    let sent = publish("big", vec![b'x'; 3_000_000]).bytes(Version::V311);
    socket.message(BINARY, &sent);
    socket.expect(&sent);
    socket.message(BINARY, &vec![0; 5_000_000]);
    while let Some((kind, _)) = socket.next() {
        assert_ne!(kind, BINARY);
    }
}

#[test]
fn text_ends_the_connection_and_no_byte_of_it_is_taken_for_mqtt() {
    let dir = tempfile::tempdir().expect("a directory");
    let broker = broker(&dir, LISTENER);
    let mut socket = Socket::open(&broker);
    socket.message(TEXT, &connect_bytes());
    while let Some((kind, _)) = socket.next() {
        assert_ne!(kind, BINARY);
    }
}

#[test]
fn who_does_not_ask_for_mqtt_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let broker = broker(&dir, LISTENER);
    for protocol in ["", "Sec-WebSocket-Protocol: chat\r\n"] {
        let (_, head) = ask(&broker, protocol);
        assert!(head.starts_with("HTTP/1.1 400"), "{head}");
    }
    Socket::open(&broker).message(BINARY, &connect_bytes());
}
