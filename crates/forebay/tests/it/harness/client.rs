//! A client that knows nothing but bytes and deadlines.

use std::{
    io::{ErrorKind, Read, Write},
    net::{Shutdown, SocketAddr, TcpStream},
    time::{Duration, Instant},
};

mod answer;
mod expect;

pub(crate) use answer::{ConnAck, Delivery};

use super::{
    PATIENCE, Version,
    wire::{Connect, DISCONNECT},
};

/// One connection.
pub(crate) struct Client {
    stream: TcpStream,
    version: Version,
    unread: Vec<u8>,
}

impl Client {
    /// Opens a connection and says nothing.
    #[track_caller]
    pub(crate) fn open(address: SocketAddr, version: Version) -> Self {
        let stream =
            TcpStream::connect(address).unwrap_or_else(|error| panic!("{address}: {error}"));
        stream.set_nodelay(true).expect("a socket option");
        stream
            .set_write_timeout(Some(PATIENCE))
            .expect("a socket option");
        Self {
            stream,
            version,
            unread: Vec::new(),
        }
    }

    /// Connects and requires success.
    #[track_caller]
    pub(crate) fn connect(address: SocketAddr, connect: &Connect) -> (Self, ConnAck) {
        let mut client = Self::open(address, connect.version);
        client.send(connect.bytes());
        let answer = client.connack();
        assert_eq!(answer.code, 0, "refused: {answer:02x?}");
        (client, answer)
    }

    /// The port of this end.
    #[track_caller]
    pub(crate) fn port(&self) -> u16 {
        self.stream
            .local_addr()
            .expect("a socket that is open")
            .port()
    }

    /// Sends bytes as they are.
    #[track_caller]
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream
            .write_all(bytes.as_ref())
            .unwrap_or_else(|error| panic!("send: {error}"));
    }

    /// Sends bytes to a broker that may have closed meanwhile.
    pub(crate) fn send_anyway(&mut self, bytes: impl AsRef<[u8]>) {
        // A refused write shows in what is read next.
        let _ = self.stream.write_all(bytes.as_ref());
    }

    /// Reads more; 0 at the end of the stream, `None` at the deadline.
    #[track_caller]
    fn fill(&mut self, deadline: Instant) -> Option<usize> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return None;
        }
        self.stream
            .set_read_timeout(Some(left))
            .expect("a socket option");
        let mut chunk = [0; 16_384];
        match self.stream.read(&mut chunk) {
            Ok(count) => {
                self.unread.extend_from_slice(&chunk[..count]);
                Some(count)
            }
            Err(error) => {
                let kind = error.kind();
                if matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut) {
                    return None;
                }
                if kind == ErrorKind::Interrupted {
                    return self.fill(deadline);
                }
                let ended = matches!(kind, ErrorKind::ConnectionReset | ErrorKind::BrokenPipe);
                assert!(ended, "read: {error}");
                Some(0)
            }
        }
    }

    /// The next packet whole, or `None` if the connection ends first.
    #[track_caller]
    pub(crate) fn frame_or_end(&mut self) -> Option<Vec<u8>> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(size) = whole(&self.unread) {
                return Some(self.unread.drain(..size).collect());
            }
            match self.fill(deadline) {
                Some(0) => {
                    assert!(
                        self.unread.is_empty(),
                        "half a packet: {}",
                        show(&self.unread)
                    );
                    return None;
                }
                None => panic!("no packet in {PATIENCE:?}; unread: {}", show(&self.unread)),
                Some(_) => {}
            }
        }
    }

    /// The next packet, or `None` if the connection ends, even inside a packet.
    #[track_caller]
    pub(crate) fn frame_while_alive(&mut self) -> Option<Vec<u8>> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(frame) = self.frame_at_hand() {
                return Some(frame);
            }
            match self.fill(deadline) {
                Some(0) => return None,
                None => panic!("no packet in {PATIENCE:?}; unread: {}", show(&self.unread)),
                Some(_) => {}
            }
        }
    }

    /// The next packet, if it was read already.
    #[track_caller]
    pub(crate) fn frame_at_hand(&mut self) -> Option<Vec<u8>> {
        let size = whole(&self.unread)?;
        Some(self.unread.drain(..size).collect())
    }

    /// A CONNACK, or `None` if the connection ends before it.
    #[track_caller]
    pub(crate) fn connack_or_end(&mut self) -> Option<ConnAck> {
        let frame = self.frame_while_alive()?;
        Some(ConnAck::read(&frame, self.version))
    }

    /// The next packet, if one comes within `wait`.
    #[track_caller]
    pub(crate) fn frame_within(&mut self, wait: Duration) -> Option<Vec<u8>> {
        let deadline = Instant::now() + wait;
        loop {
            if let Some(size) = whole(&self.unread) {
                return Some(self.unread.drain(..size).collect());
            }
            match self.fill(deadline) {
                Some(0) => panic!("closed; unread: {}", show(&self.unread)),
                None => return None,
                Some(_) => {}
            }
        }
    }

    /// The next packet whole.
    #[track_caller]
    pub(crate) fn frame(&mut self) -> Vec<u8> {
        self.frame_or_end()
            .expect("a packet, but the connection was closed")
    }

    /// The next packet, a CONNACK.
    #[track_caller]
    pub(crate) fn connack(&mut self) -> ConnAck {
        let frame = self.frame();
        ConnAck::read(&frame, self.version)
    }

    /// The next packet, a PUBLISH.
    #[track_caller]
    pub(crate) fn delivery(&mut self) -> Delivery {
        let frame = self.frame();
        Delivery::read(&frame, self.version)
            .unwrap_or_else(|| panic!("no PUBLISH: {}", show(&frame)))
    }

    /// Leaves in good order and waits until the broker has closed.
    #[track_caller]
    pub(crate) fn leave(mut self) {
        self.send(DISCONNECT);
        self.expect_closed();
    }

    /// Closes the connection without a word and returns when the broker has taken note of it.
    ///
    /// The write side goes first, so that the broker's own close can be awaited.
    #[track_caller]
    pub(crate) fn vanish(mut self) {
        self.stream
            .shutdown(Shutdown::Write)
            .expect("a socket that is open");
        while self.frame_or_end().is_some() {}
    }

    /// Closes the write side and reads to the end, whatever comes.
    pub(crate) fn abandon(mut self) {
        let _ = self.stream.shutdown(Shutdown::Write);
        let deadline = Instant::now() + PATIENCE;
        while let Some(1..) = self.fill(deadline) {
            self.unread.clear();
        }
    }

    /// Resets the connection. Bytes must be unread in the socket: they turn the close into a RST.
    #[track_caller]
    pub(crate) fn reset(self) {
        self.stream
            .set_read_timeout(Some(PATIENCE))
            .expect("a socket option");
        let there = self.stream.peek(&mut [0]).expect("unread bytes");
        assert_eq!(there, 1, "the connection ended by itself");
        drop(self);
    }
}

/// The size of the first packet, once it is all there.
fn whole(bytes: &[u8]) -> Option<usize> {
    let mut length = 0;
    for place in 0..4 {
        let byte = *bytes.get(1 + place)?;
        length |= usize::from(byte & 0x7F) << (7 * place);
        if byte & 0x80 == 0 {
            let size = 2 + place + length;
            return (bytes.len() >= size).then_some(size);
        }
    }
    panic!("the remaining length is malformed: {}", show(bytes))
}

/// Bytes as hexadecimal, long ones cut, with the printable ones beside.
pub(crate) fn show(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut out = String::new();
    for byte in bytes.iter().take(120) {
        let _ = write!(out, "{byte:02x} ");
    }
    let ascii: String = bytes
        .iter()
        .take(120)
        .map(|&byte| {
            if (32..127).contains(&byte) {
                char::from(byte)
            } else {
                '.'
            }
        })
        .collect();
    format!("{out}|{ascii}| ({} bytes)", bytes.len())
}
