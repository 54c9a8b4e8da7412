//! The driver of [`forebay_proto::Client`]: one connection, run by whoever waits for its events.
//!
//! Owns the socket, the bytes under way and the clock. Never connects again by itself and never
//! decides what a packet means. Nothing happens between the calls of [`Link::next`] apart from
//! what the kernel buffers, so whoever holds a link keeps calling it.

#[cfg(test)]
mod tests;

use std::{collections::VecDeque, io, net::SocketAddr, time::Duration};

use bytes::BytesMut;
use forebay_proto::{Client, ClientOutput, Decoder, Role, encode};
pub use forebay_proto::{
    ClientConfig, ClientEvent, Connected, Ending, Properties, PropertiesBuilder, Property, Publish,
    PublishError, PublishToken, QoS, ReasonCode, Receipt, RequestError, RequestToken,
    RetainHandling, SubscriptionOptions, Text, Unsendable, Verdict, Version,
};
use thiserror::Error;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpStream, ToSocketAddrs},
    time::{sleep_until, timeout},
};

use crate::clock::Clock;

/// The most bytes taken with one system call.
const READ_BYTES: usize = 64 * 1024;
/// Bytes that wait to be sent, beyond which nothing is read: a peer that doesn't read our
/// acknowledgements is not listened to.
const WRITE_BYTES: usize = 1024 * 1024;
/// The largest packet taken where the application set no bound, bytes.
const PACKET_BYTES: u32 = 64 * 1024 * 1024;
/// How long a connection may take to send what is left and to be hung up.
const CLOSE: Duration = Duration::from_secs(2);

/// Why there is no link.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Nobody can be reached there: check the address, and whether the broker runs.
    #[error("can't connect")]
    Unreachable {
        /// What the system said.
        source: io::Error,
    },
    /// The broker did not take the client in.
    #[error("refused: {reason}{}", words(.text.as_ref()))]
    Refused {
        /// Why.
        reason: ReasonCode,
        /// The broker's words.
        text: Option<Text>,
    },
    /// The connection ended before the broker had answered: it may speak another version, or
    /// another protocol.
    #[error("the connection ended before the broker answered: {0}")]
    Ended(LostError),
}

/// Why a link is over, where nobody asked for it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LostError {
    /// The broker closed it with a reason.
    #[error("closed by the broker: {reason}{}", words(.text.as_ref()))]
    Closed {
        /// Why.
        reason: ReasonCode,
        /// The broker's words.
        text: Option<Text>,
    },
    /// The broker broke the protocol.
    #[error("the broker broke the protocol: {detail}")]
    Violation {
        /// What it did.
        detail: &'static str,
    },
    /// The broker gave no sign of life.
    #[error("no answer in time")]
    TimedOut,
    /// The connection broke, or the broker closed it without a word.
    #[error("connection lost")]
    Broken,
}

fn words(text: Option<&Text>) -> String {
    text.map(|text| format!(": {}", text.as_str()))
        .unwrap_or_default()
}

impl LostError {
    /// The error that an ending is, `None` where it was asked for.
    pub fn of(ending: Ending) -> Option<Self> {
        match ending {
            Ending::Asked => None,
            Ending::Refused { reason, text } | Ending::ByServer { reason, text } => {
                Some(Self::Closed { reason, text })
            }
            Ending::Violation { detail, .. } => Some(Self::Violation { detail }),
            Ending::TimedOut => Some(Self::TimedOut),
            Ending::Lost | _ => Some(Self::Broken),
        }
    }
}

/// A connection to a broker.
#[derive(Debug)]
pub struct Link {
    client: Client,
    version: Version,
    stream: TcpStream,
    decoder: Decoder,
    read: BytesMut,
    write: BytesMut,
    encoded: Vec<u8>,
    clock: Clock,
    events: VecDeque<ClientEvent>,
    /// The machine has closed: what is left is sent, then the socket is shut.
    closing: bool,
    /// It was shut.
    shut: bool,
}

impl Link {
    /// Connects to `address` and waits until the broker has taken the client in.
    ///
    /// # Errors
    /// [`OpenError`], by what there is to do about it.
    pub async fn open(
        address: impl ToSocketAddrs,
        config: ClientConfig,
    ) -> Result<(Self, Connected), OpenError> {
        let unreachable = |source| OpenError::Unreachable { source };
        let stream = timeout(config.connect_timeout, TcpStream::connect(address))
            .await
            .map_err(|_| unreachable(io::ErrorKind::TimedOut.into()))?
            .map_err(unreachable)?;
        stream.set_nodelay(true).map_err(unreachable)?;
        let version = config.version;
        let mut decoder = Decoder::new(
            Role::Client,
            config.maximum_packet_size.unwrap_or(PACKET_BYTES),
        );
        decoder.set_version(version);
        let mut link = Self {
            client: Client::new(config),
            version,
            stream,
            decoder,
            read: BytesMut::new(),
            write: BytesMut::new(),
            encoded: Vec::new(),
            clock: Clock::start(),
            events: VecDeque::new(),
            closing: false,
            shut: false,
        };
        link.client.handle_connected(link.clock.now());
        link.drain();
        loop {
            match link.next().await {
                ClientEvent::Connected(connected) => return Ok((link, connected)),
                ClientEvent::Closed(Ending::Refused { reason, text }) => {
                    return Err(OpenError::Refused { reason, text });
                }
                ClientEvent::Closed(ending) => {
                    let error = LostError::of(ending).unwrap_or(LostError::Broken);
                    return Err(OpenError::Ended(error));
                }
                ClientEvent::Published { .. }
                | ClientEvent::Message { .. }
                | ClientEvent::Subscribed { .. }
                | ClientEvent::Unsubscribed { .. }
                | _ => {}
            }
        }
    }

    /// The address of the broker.
    ///
    /// # Errors
    /// The socket is closed.
    pub fn peer(&self) -> io::Result<SocketAddr> {
        self.stream.peer_addr()
    }

    /// Whether another publish would be taken.
    pub fn has_room(&self) -> bool {
        self.client.has_room() && self.write.len() < WRITE_BYTES
    }

    /// Publishes without a verdict.
    pub fn unanswered(&self) -> usize {
        self.client.unanswered()
    }

    /// Whether [`next`](Self::next) has an event without waiting.
    pub fn has_event(&self) -> bool {
        !self.events.is_empty()
    }

    /// Publishes a message; its verdict comes as [`ClientEvent::Published`]. It leaves with the
    /// next call of [`next`](Self::next).
    ///
    /// # Errors
    /// [`PublishError::Full`] where too many wait: publish again after the next event.
    pub fn publish(&mut self, publish: Publish) -> Result<PublishToken, PublishError> {
        let token = self.client.publish(publish, self.clock.now());
        self.drain();
        token
    }

    /// Subscribes; the answer comes as [`ClientEvent::Subscribed`].
    ///
    /// # Errors
    /// [`RequestError`]; all but [`RequestError::NoFilter`] pass.
    pub fn subscribe(
        &mut self,
        filters: Vec<(Text, SubscriptionOptions)>,
    ) -> Result<RequestToken, RequestError> {
        let token = self.client.subscribe(filters, None, self.clock.now());
        self.drain();
        token
    }

    /// Acknowledges a message of a client that does so by hand.
    pub fn acknowledge(&mut self, receipt: Receipt, reason: ReasonCode) {
        self.client.acknowledge(receipt, reason, self.clock.now());
        self.drain();
    }

    /// Takes leave of the broker; [`next`](Self::next) then sends what is left and ends with
    /// [`ClientEvent::Closed`].
    pub fn disconnect(&mut self) {
        self.client.disconnect(self.clock.now());
        self.drain();
    }

    /// The next event. Once it was [`ClientEvent::Closed`] there are no others: it comes again.
    ///
    /// Cancel safe: a call that is dropped has lost no event.
    pub async fn next(&mut self) -> ClientEvent {
        loop {
            if self.closing {
                return self.finish().await;
            }
            if let Some(event) = self.events.pop_front() {
                return event;
            }
            self.turn().await;
        }
    }

    /// Reads, writes or waits for time once, and lets the machine decide.
    async fn turn(&mut self) {
        let deadline = self
            .client
            .poll_timeout()
            .map(|instant| self.clock.deadline(instant));
        let readable = self.write.len() < WRITE_BYTES;
        let writable = !self.write.is_empty();
        if self.read.capacity() - self.read.len() < READ_BYTES / 2 {
            self.read.reserve(READ_BYTES);
        }
        let (mut reader, mut writer) = self.stream.split();
        tokio::select! {
            biased;
            written = writer.write_buf(&mut self.write), if writable => {
                if !matches!(written, Ok(1..)) {
                    self.client.handle_closed(self.clock.now());
                }
            }
            read = reader.read_buf(&mut self.read), if readable => match read {
                Ok(1..) => self.packets(),
                Ok(0) | Err(_) => self.client.handle_closed(self.clock.now()),
            },
            () = async {
                match deadline {
                    Some(deadline) => sleep_until(deadline).await,
                    None => std::future::pending().await,
                }
            } => self.client.handle_timeout(self.clock.now()),
        }
        self.drain();
    }

    fn packets(&mut self) {
        let now = self.clock.now();
        loop {
            match self.decoder.decode(&mut self.read) {
                Ok(Some(packet)) => self.client.handle_packet(packet, now),
                Ok(None) => return,
                Err(error) => return self.client.handle_malformed(&error, now),
            }
        }
    }

    /// Takes what the machine has decided.
    fn drain(&mut self) {
        while let Some(output) = self.client.poll_output() {
            match output {
                ClientOutput::Transmit(packet) => {
                    // The machine sends nothing that has no encoding.
                    if let Err(error) = encode(&packet, self.version, &mut self.encoded) {
                        tracing::error!(%error, "a packet is not sent");
                    }
                }
                ClientOutput::Close => {}
                ClientOutput::Event(event) => {
                    self.closing |= matches!(event, ClientEvent::Closed(_));
                    self.events.push_back(event);
                }
            }
        }
        self.write.extend_from_slice(&self.encoded);
        self.encoded.clear();
    }

    /// Hands out what is left after the end of the connection.
    async fn finish(&mut self) -> ClientEvent {
        if self.events.len() > 1
            && let Some(event) = self.events.pop_front()
        {
            return event;
        }
        let last = self
            .events
            .front()
            .cloned()
            .unwrap_or(ClientEvent::Closed(Ending::Lost));
        if self.shut || self.write.is_empty() || last == ClientEvent::Closed(Ending::Lost) {
            return last;
        }
        self.shut = true;
        let left = async {
            self.stream.write_all_buf(&mut self.write).await?;
            self.stream.shutdown().await?;
            // A socket that is closed with something unread takes back what it sent last.
            while self.stream.read_buf(&mut self.read).await? > 0 {
                self.read.clear();
            }
            io::Result::Ok(())
        };
        // A peer that neither reads nor hangs up is not waited for.
        if !matches!(timeout(CLOSE, left).await, Ok(Ok(()))) {
            tracing::debug!("the last packets may not have arrived");
        }
        last
    }
}
