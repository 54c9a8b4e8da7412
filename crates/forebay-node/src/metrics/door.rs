//! Who may ask for metrics at a time, and for how long.
//!
//! Owns [`Door`], a listener with a bound, and [`Visitor`], a connection that ends after a time in
//! which nothing came. Whoever can reach the metrics could else use up the file descriptors that
//! clients need. Units: connections, durations.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::serve::Listener;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, Sleep, sleep},
};

/// A listener that lets few in at a time.
#[derive(Debug)]
pub(crate) struct Door {
    listener: TcpListener,
    room: Arc<Semaphore>,
    idle: Duration,
}

impl Door {
    /// A door for `most` connections, each of which may be silent for `idle`.
    pub(crate) fn new(listener: TcpListener, most: usize, idle: Duration) -> Self {
        Self {
            listener,
            room: Arc::new(Semaphore::new(most)),
            idle,
        }
    }
}

impl Listener for Door {
    type Io = Visitor;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Visitor, SocketAddr) {
        // The semaphore is never closed; without a permit it would only not count.
        let permit = Arc::clone(&self.room).acquire_owned().await.ok();
        let (stream, address) = Listener::accept(&mut self.listener).await;
        let visitor = Visitor {
            stream,
            idle: self.idle,
            end: Box::pin(sleep(self.idle)),
            _permit: permit,
        };
        (visitor, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that ends after a time in which nothing came.
#[derive(Debug)]
pub(crate) struct Visitor {
    stream: TcpStream,
    idle: Duration,
    end: Pin<Box<Sleep>>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl AsyncRead for Visitor {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if let Poll::Ready(read) = Pin::new(&mut this.stream).poll_read(cx, into) {
            this.end.as_mut().reset(Instant::now() + this.idle);
            return Poll::Ready(read);
        }
        let ended = this.end.as_mut().poll(cx);
        ended.map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncWrite for Visitor {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
