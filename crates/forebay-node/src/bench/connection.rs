//! One connection of the load client.
//!
//! Owns [`Connection`]: the socket and the bytes both ways, read and written as many at a time
//! as there are. Never decides what a packet means.

use std::{io, net::SocketAddr, time::Duration};

use bytes::{Bytes, BytesMut};
use forebay_proto::{
    Ack, Connect, Decoder, Packet, PacketId, Properties, PropertiesBuilder, Property, ReasonCode,
    Role, Text, Version, encode,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use super::BenchError;

/// The most bytes taken with one system call.
const READ_BYTES: usize = 128 * 1024;
/// The largest packet taken, bytes.
const PACKET_BYTES: u32 = 256 * 1024 * 1024;
/// How long a connection may take to be answered.
const CONNECT: Duration = Duration::from_secs(30);

/// Who connects.
#[derive(Clone, Debug)]
pub(super) struct Login {
    pub(super) client: String,
    pub(super) version: Version,
    pub(super) clean: bool,
    /// Whether the session outlives the connection (MQTT 5).
    pub(super) keep: bool,
}

impl Login {
    /// A client whose session begins and ends with its connection.
    pub(super) const fn passing(client: String, version: Version) -> Self {
        Self {
            client,
            version,
            clean: true,
            keep: false,
        }
    }
}

#[derive(Debug)]
pub(super) struct Connection {
    client: String,
    pub(super) version: Version,
    stream: TcpStream,
    decoder: Decoder,
    read: BytesMut,
    write: Vec<u8>,
    written: usize,
    /// QoS 1 and 2 messages that the broker takes at a time.
    pub(super) receive_maximum: u16,
}

impl Connection {
    /// Connects and waits for the CONNACK.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "whatever else comes ends the run"
    )]
    pub(super) async fn open(address: SocketAddr, login: &Login) -> Result<Self, BenchError> {
        let unreachable = |source| BenchError::Unreachable {
            peer: address.to_string(),
            source,
        };
        let connecting = timeout(CONNECT, TcpStream::connect(address)).await;
        let stream = connecting.map_err(|_| unreachable(io::ErrorKind::TimedOut.into()))?;
        let stream = stream.map_err(unreachable)?;
        stream.set_nodelay(true).map_err(unreachable)?;
        let mut decoder = Decoder::new(Role::Client, PACKET_BYTES);
        decoder.set_version(login.version);
        let mut connection = Self {
            client: login.client.clone(),
            version: login.version,
            stream,
            decoder,
            read: BytesMut::new(),
            write: Vec::new(),
            written: 0,
            receive_maximum: u16::MAX,
        };
        connection.push(&connect(login))?;
        match connection.answer().await? {
            Packet::ConnAck(connack) if connack.reason == ReasonCode::SUCCESS => {
                let maximum = connack.properties.receive_maximum();
                connection.receive_maximum = maximum.unwrap_or(u16::MAX);
                Ok(connection)
            }
            Packet::ConnAck(connack) => Err(connection.refused(connack.reason)),
            other => Err(connection.unexpected(&other)),
        }
    }

    /// Sends what waits, and waits for a packet.
    pub(super) async fn answer(&mut self) -> Result<Packet, BenchError> {
        let answer = async {
            loop {
                if let Some(packet) = self.packet()? {
                    return Ok(packet);
                }
                self.flush()?;
                self.wait().await?;
            }
        };
        match timeout(CONNECT, answer).await {
            Ok(packet) => packet,
            Err(_) => Err(self.lost("no answer in time")),
        }
    }

    /// Appends a packet to what waits to be sent.
    pub(super) fn push(&mut self, packet: &Packet) -> Result<(), BenchError> {
        encode(packet, self.version, &mut self.write).map_err(|error| self.lost(&error.to_string()))
    }

    /// Appends an acknowledgement of success.
    pub(super) fn acknowledge(
        &mut self,
        packet: fn(Ack) -> Packet,
        id: PacketId,
    ) -> Result<(), BenchError> {
        self.push(&packet(Ack::new(id, ReasonCode::SUCCESS)))
    }

    /// What waits to be sent, to append encoded packets to.
    pub(super) fn write(&mut self) -> &mut Vec<u8> {
        &mut self.write
    }

    /// Bytes that wait to be sent.
    pub(super) fn waiting(&self) -> usize {
        self.write.len() - self.written
    }

    /// Hands what waits to the kernel, as far as it takes it at once.
    pub(super) fn flush(&mut self) -> Result<(), BenchError> {
        while let Some(rest) = self
            .write
            .get(self.written..)
            .filter(|rest| !rest.is_empty())
        {
            match self.stream.try_write(rest) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(self.lost(&error.to_string())),
            }
        }
        self.write.clear();
        self.written = 0;
        Ok(())
    }

    /// Waits until something came or some of what waits was sent. Cancel safe.
    pub(super) async fn wait(&mut self) -> Result<(), BenchError> {
        if self.read.capacity() - self.read.len() < READ_BYTES / 4 {
            self.read.reserve(READ_BYTES);
        }
        let (mut reader, mut writer) = self.stream.split();
        let rest = self.write.get(self.written..).unwrap_or_default();
        let done = tokio::select! {
            biased;
            read = reader.read_buf(&mut self.read) => match read {
                Ok(0) => return Err(self.lost("closed by the broker")),
                read => read.map(|_| ()),
            },
            written = writer.write(rest), if !rest.is_empty() => {
                written.map(|count| self.written += count)
            }
        };
        done.map_err(|error| self.lost(&error.to_string()))
    }

    /// The next packet of what was taken.
    pub(super) fn packet(&mut self) -> Result<Option<Packet>, BenchError> {
        let packet = self.decoder.decode(&mut self.read);
        packet.map_err(|error| self.lost(&format!("no packet: {}", error.detail)))
    }

    pub(super) fn refused(&self, reason: ReasonCode) -> BenchError {
        BenchError::Refused {
            client: self.client.clone(),
            reason,
        }
    }

    pub(super) fn unexpected(&self, packet: &Packet) -> BenchError {
        if let Packet::Disconnect(disconnect) = packet {
            return self.lost(&format!("closed by the broker: {}", disconnect.reason));
        }
        self.lost(&format!("unexpected {packet:?}"))
    }

    fn lost(&self, what: &str) -> BenchError {
        BenchError::Lost {
            client: self.client.clone(),
            what: what.to_owned(),
        }
    }
}

fn connect(login: &Login) -> Packet {
    let mut properties = PropertiesBuilder::new();
    if login.keep && login.version == Version::V5 {
        properties.push(Property::SessionExpiryInterval(u32::MAX));
    }
    Packet::Connect(Box::new(Connect {
        version: login.version,
        clean_start: login.clean,
        keep_alive_secs: 0,
        client_id: text(&login.client),
        will: None,
        username: None,
        password: None,
        properties: if properties.is_empty() {
            Properties::EMPTY
        } else {
            properties.build()
        },
    }))
}

/// `text`, which is short and of our own making.
pub(super) fn text(text: &str) -> Text {
    Text::new(Bytes::copy_from_slice(text.as_bytes())).unwrap_or_default()
}
