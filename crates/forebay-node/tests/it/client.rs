//! A small MQTT 3.1.1 client on a blocking socket, byte by byte.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

/// Longer than anything a test waits for; reached only where the test fails.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) const PUBLISH: u8 = 3;
pub(crate) const PUBACK: u8 = 4;

pub(crate) struct Client {
    pub(crate) stream: TcpStream,
}

/// A packet: its first byte and what follows the length.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Packet {
    pub(crate) first: u8,
    pub(crate) body: Vec<u8>,
}

impl Packet {
    pub(crate) fn kind(&self) -> u8 {
        self.first >> 4
    }

    /// The packet identifier of an acknowledgement, or of a PUBLISH above QoS 0.
    pub(crate) fn id(&self) -> u16 {
        let at = if self.kind() == PUBLISH {
            2 + self.topic_len()
        } else {
            0
        };
        u16::from_be_bytes([self.body[at], self.body[at + 1]])
    }

    fn topic_len(&self) -> usize {
        usize::from(u16::from_be_bytes([self.body[0], self.body[1]]))
    }

    pub(crate) fn payload(&self) -> &[u8] {
        let id = if self.first & 0x06 == 0 { 0 } else { 2 };
        &self.body[2 + self.topic_len() + id..]
    }
}

pub(crate) fn packet(first: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    let mut length = body.len();
    loop {
        let more = if length > 0x7F { 0x80 } else { 0 };
        bytes.push((length & 0x7F) as u8 | more);
        length >>= 7;
        if more == 0 {
            break;
        }
    }
    bytes.extend_from_slice(body);
    bytes
}

pub(crate) fn string(text: &str) -> Vec<u8> {
    let mut bytes = (text.len() as u16).to_be_bytes().to_vec();
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

pub(crate) fn publish(topic: &str, qos: u8, id: u16, payload: &[u8]) -> Vec<u8> {
    let mut body = string(topic);
    if qos > 0 {
        body.extend_from_slice(&id.to_be_bytes());
    }
    body.extend_from_slice(payload);
    packet(0x30 | qos << 1, &body)
}

impl Client {
    /// A connection on which nothing was said.
    pub(crate) fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream }
    }

    /// Connects with MQTT 3.1.1; the second value is Session Present.
    pub(crate) fn connect(address: SocketAddr, id: &str, clean: bool) -> (Self, bool) {
        let mut client = Self::open(address);
        let mut body = string("MQTT");
        body.extend_from_slice(&[4, u8::from(clean) << 1, 0, 0]);
        body.extend_from_slice(&string(id));
        client.send(&packet(0x10, &body));
        let answer = client.receive();
        assert_eq!(
            (answer.first, answer.body[1]),
            (0x20, 0),
            "CONNACK {answer:?}"
        );
        (client, answer.body[0] == 1)
    }

    pub(crate) fn subscribe(&mut self, filter: &str, qos: u8) {
        let mut body = vec![0, 1];
        body.extend_from_slice(&string(filter));
        body.push(qos);
        self.send(&packet(0x82, &body));
        assert_eq!(
            self.receive(),
            Packet {
                first: 0x90,
                body: vec![0, 1, qos]
            }
        );
    }

    /// Publishes with QoS 1 and waits for the PUBACK.
    pub(crate) fn publish_acked(&mut self, topic: &str, id: u16, payload: &[u8]) {
        self.send(&publish(topic, 1, id, payload));
        let answer = self.receive();
        assert_eq!((answer.kind(), answer.id()), (PUBACK, id));
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    pub(crate) fn ack(&mut self, publish: &Packet) {
        self.send(&packet(0x40, &publish.id().to_be_bytes()));
    }

    pub(crate) fn try_receive(&mut self) -> io::Result<Packet> {
        let mut first = [0];
        self.stream.read_exact(&mut first)?;
        let (mut length, mut shift) = (0, 0);
        loop {
            let mut byte = [0];
            self.stream.read_exact(&mut byte)?;
            length |= usize::from(byte[0] & 0x7F) << shift;
            shift += 7;
            if byte[0] & 0x80 == 0 {
                break;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok(Packet {
            first: first[0],
            body,
        })
    }

    pub(crate) fn receive(&mut self) -> Packet {
        self.try_receive().unwrap()
    }

    /// Asserts that the broker hangs up without another packet.
    pub(crate) fn expect_end(&mut self) {
        let error = self.try_receive().unwrap_err();
        let ends = [io::ErrorKind::UnexpectedEof, io::ErrorKind::ConnectionReset];
        assert!(ends.contains(&error.kind()), "{error}");
    }
}
