//! A way in: a socket that listens, and the layers that its connections come through.
//!
//! Owns [`Listener`], what is configured, and [`Door`], which greets who comes: the PROXY header,
//! then TLS, then WebSocket, as configured, within a time and a number. A connection without
//! layers is handed on at once. Never reads a packet.

use std::{
    cell::{Cell, RefCell},
    fmt, io,
    net::SocketAddr,
    path::PathBuf,
    rc::Rc,
    sync::Arc,
};

use forebay_proto::{Anonymous, Text};
use rustls::ServerConfig;
use tokio::{task::spawn_local, time::timeout};
use tokio_rustls::TlsAcceptor;

use super::{connection, shard::Shard};
use crate::net::{
    Identity, Layered, ReadHalf, Tls, WriteHalf, half,
    listener::Raw,
    proxy,
    tls::{self, TlsError},
    websocket,
};

/// Where a listener listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// At an address; port 0 takes a free one.
    Tcp(SocketAddr),
    /// At a path; a socket that nobody listens on any more is replaced.
    Unix(PathBuf),
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => path.display().fmt(f),
        }
    }
}

/// A way in, as configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Where it listens.
    pub at: At,
    /// How it speaks TLS, if it does.
    pub tls: Option<Tls>,
    /// Whether MQTT comes over WebSocket.
    pub websocket: bool,
    /// Whether every connection begins with a PROXY header of version 2.
    pub proxy_protocol: bool,
    /// Who may come without a name, where it has a rule of its own.
    pub anonymous: Option<Anonymous>,
}

impl Listener {
    /// Plain MQTT over TCP.
    pub const fn tcp(address: SocketAddr) -> Self {
        Self {
            at: At::Tcp(address),
            tls: None,
            websocket: false,
            proxy_protocol: false,
            anonymous: None,
        }
    }

    /// What speaks there: `mqtt`, `mqtts`, `ws`, `wss` or `unix`.
    pub const fn scheme(&self) -> &'static str {
        match (&self.at, &self.tls, self.websocket) {
            (At::Unix(_), _, _) => "unix",
            (At::Tcp(_), None, false) => "mqtt",
            (At::Tcp(_), Some(_), false) => "mqtts",
            (At::Tcp(_), None, true) => "ws",
            (At::Tcp(_), Some(_), true) => "wss",
        }
    }

    /// What its certificate and key make, if it speaks TLS.
    pub(crate) fn load(&self) -> Result<Option<Arc<ServerConfig>>, TlsError> {
        self.tls.as_ref().map(tls::load).transpose()
    }
}

/// Where a connection comes from, and what was found out about it below MQTT.
#[derive(Debug)]
pub(crate) struct Caller {
    /// Its address; a Unix socket has none.
    pub(crate) address: Option<SocketAddr>,
    /// Who may come without a name that way.
    pub(crate) anonymous: Option<Anonymous>,
    /// The user its certificate names.
    pub(crate) user: Option<Text>,
}

/// A way in that is open.
#[derive(Debug)]
pub(crate) struct Door {
    pub(crate) listener: Listener,
    /// What new connections are greeted with; those that are there keep theirs.
    pub(crate) tls: RefCell<Option<Arc<ServerConfig>>>,
    /// How many are being greeted, at all doors.
    greeting: Rc<Cell<usize>>,
}

impl Door {
    pub(crate) fn new(
        listener: Listener,
        tls: Option<Arc<ServerConfig>>,
        greeting: Rc<Cell<usize>>,
    ) -> Self {
        Self {
            listener,
            tls: RefCell::new(tls),
            greeting,
        }
    }

    /// Takes a connection in, after a greeting where it needs one.
    pub(crate) fn enter(self: &Rc<Self>, shard: &Rc<RefCell<Shard>>, raw: Raw) {
        let it = &self.listener;
        if it.tls.is_none() && !it.websocket && !it.proxy_protocol {
            let caller = self.caller(raw.address());
            connection::accept(shard, raw.split(), caller);
            return;
        }
        let limits = shard.borrow().limits;
        if self.greeting.get() >= limits.greetings {
            shard.borrow_mut().turned_away();
            return;
        }
        self.greeting.set(self.greeting.get() + 1);
        let (door, shard) = (Rc::clone(self), Rc::clone(shard));
        spawn_local(async move {
            let packet_bytes = shard.borrow().packet_bytes;
            let address = raw.address();
            let greeted = timeout(limits.greeting, door.greet(raw, packet_bytes)).await;
            door.greeting.set(door.greeting.get() - 1);
            match greeted {
                Ok(Ok((halves, caller))) => connection::accept(&shard, halves, caller),
                Ok(Err(error)) => {
                    tracing::debug!(peer = ?address, %error, "not let in");
                    shard.borrow_mut().turned_away();
                }
                Err(_) => {
                    tracing::debug!(peer = ?address, "not let in: it says nothing");
                    shard.borrow_mut().turned_away();
                }
            }
        });
    }

    fn caller(&self, address: Option<SocketAddr>) -> Caller {
        Caller {
            address,
            anonymous: self.listener.anonymous,
            user: None,
        }
    }

    async fn greet(
        &self,
        mut raw: Raw,
        packet_bytes: u32,
    ) -> io::Result<((ReadHalf, WriteHalf), Caller)> {
        let mut caller = self.caller(raw.address());
        if self.listener.proxy_protocol
            && let Some(address) = raw.proxied().await?
        {
            caller.address = Some(address);
        }
        let tls = self.tls.borrow().clone();
        if tls.is_none() && !self.listener.websocket {
            return Ok((raw.split(), caller));
        }
        let mut stream = raw.boxed();
        if let Some(config) = tls {
            let accepted = TlsAcceptor::from(config).accept(stream).await?;
            caller.user = self.user(accepted.get_ref().1.peer_certificates())?;
            stream = Box::new(accepted) as Layered;
        }
        if self.listener.websocket {
            stream = websocket::accept(stream, packet_bytes).await?;
        }
        Ok((half::of_layered(stream), caller))
    }

    /// The user that a certificate names. Who shows none is asked by MQTT.
    fn user(
        &self,
        certificates: Option<&[rustls::pki_types::CertificateDer<'_>]>,
    ) -> io::Result<Option<Text>> {
        let identity = self.listener.tls.as_ref().map(|tls| tls.identity);
        let identity = identity.unwrap_or(Identity::Nothing);
        let Some(first) = certificates.and_then(<[_]>::first) else {
            return Ok(None);
        };
        let name = tls::identity(first, identity)?;
        let name = name.map(Text::try_from).transpose();
        name.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "no name for MQTT"))
    }
}

impl Raw {
    /// Reads who is behind a balancer.
    async fn proxied(&mut self) -> io::Result<Option<SocketAddr>> {
        match self {
            Self::Tcp(stream, _) => proxy::read(stream).await,
            Self::Unix(stream) => proxy::read(stream).await,
        }
    }
}
