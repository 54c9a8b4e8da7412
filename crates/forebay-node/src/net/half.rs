//! The two halves of a connection, whatever it runs over.
//!
//! Owns [`ReadHalf`] and [`WriteHalf`]: TCP and Unix sockets as they are, and everything that lies
//! over them (TLS, WebSocket) as a [`Layered`] stream. Never looks into the bytes.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf, split},
    net::{TcpStream, UnixStream, tcp, unix},
};

/// A stream of bytes over others.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin {}

impl<T: AsyncRead + AsyncWrite + Unpin> Stream for T {}

/// A stream of bytes over others, of any kind.
pub(crate) type Layered = Box<dyn Stream>;

/// What bytes are read from.
pub(crate) enum ReadHalf {
    Tcp(tcp::OwnedReadHalf),
    Unix(unix::OwnedReadHalf),
    Layered(tokio::io::ReadHalf<Layered>),
}

/// What bytes are written to.
pub(crate) enum WriteHalf {
    Tcp(tcp::OwnedWriteHalf),
    Unix(unix::OwnedWriteHalf),
    Layered(tokio::io::WriteHalf<Layered>),
}

/// The halves of a TCP connection.
pub(crate) fn of_tcp(stream: TcpStream) -> (ReadHalf, WriteHalf) {
    let (read, write) = stream.into_split();
    (ReadHalf::Tcp(read), WriteHalf::Tcp(write))
}

/// The halves of a connection over a Unix socket.
pub(crate) fn of_unix(stream: UnixStream) -> (ReadHalf, WriteHalf) {
    let (read, write) = stream.into_split();
    (ReadHalf::Unix(read), WriteHalf::Unix(write))
}

/// The halves of a layered connection.
pub(crate) fn of_layered(stream: Layered) -> (ReadHalf, WriteHalf) {
    let (read, write) = split(stream);
    (ReadHalf::Layered(read), WriteHalf::Layered(write))
}

impl WriteHalf {
    fn inner(&mut self) -> Pin<&mut (dyn AsyncWrite + Unpin)> {
        Pin::new(match self {
            Self::Tcp(half) => half as &mut (dyn AsyncWrite + Unpin),
            Self::Unix(half) => half,
            Self::Layered(half) => half,
        })
    }

    /// Writes what is taken at once. Nobody is woken when more would be:
    /// [`io::ErrorKind::WouldBlock`] is to be followed by a `poll_write`.
    pub(crate) fn try_write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(half) => half.try_write(bytes),
            Self::Unix(half) => half.try_write(bytes),
            Self::Layered(half) => {
                let mut cx = Context::from_waker(Waker::noop());
                at_once(Pin::new(half).poll_write(&mut cx, bytes))
            }
        }
    }

    /// Hands on what a layer has kept, as far as it is taken at once.
    pub(crate) fn try_flush(&mut self) -> io::Result<()> {
        match self {
            Self::Tcp(_) | Self::Unix(_) => Ok(()),
            Self::Layered(half) => {
                let mut cx = Context::from_waker(Waker::noop());
                at_once(Pin::new(half).poll_flush(&mut cx))
            }
        }
    }

    pub(crate) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.inner().poll_write(cx, bytes)
    }

    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner().poll_flush(cx)
    }

    pub(crate) fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner().poll_shutdown(cx)
    }
}

fn at_once<T>(polled: Poll<io::Result<T>>) -> io::Result<T> {
    match polled {
        Poll::Ready(done) => done,
        Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
    }
}

impl AsyncRead for ReadHalf {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(half) => Pin::new(half).poll_read(cx, buffer),
            Self::Unix(half) => Pin::new(half).poll_read(cx, buffer),
            Self::Layered(half) => Pin::new(half).poll_read(cx, buffer),
        }
    }
}

impl std::fmt::Debug for ReadHalf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ReadHalf")
    }
}

impl std::fmt::Debug for WriteHalf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WriteHalf")
    }
}
