//! Listening for connections over TCP and Unix sockets.
//!
//! Owns [`bind`], [`bind_unix`], [`accept`] and [`Raw`], a connection as it was accepted. Never speaks to who connects.

use std::{
    fs, io,
    net::SocketAddr,
    os::unix::fs::{FileTypeExt, PermissionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::net::{TcpListener, TcpSocket, TcpStream, UnixListener, UnixStream};

use super::half::{self, Layered, ReadHalf, WriteHalf};

/// Connections that may wait to be accepted.
const BACKLOG: u32 = 1024;
/// How long to wait after the system ran out of file descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Listens at `address`; port 0 takes a free one.
pub(crate) fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    // A restart must not have to wait for the connections of the run before to time out.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// A connection as it was accepted.
#[derive(Debug)]
pub(crate) enum Raw {
    Tcp(TcpStream, SocketAddr),
    Unix(UnixStream),
}

impl Raw {
    /// Where it comes from; a Unix socket has no address.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(_, address) => Some(*address),
            Self::Unix(_) => None,
        }
    }

    pub(crate) fn split(self) -> (ReadHalf, WriteHalf) {
        match self {
            Self::Tcp(stream, _) => half::of_tcp(stream),
            Self::Unix(stream) => half::of_unix(stream),
        }
    }

    pub(crate) fn boxed(self) -> Layered {
        match self {
            Self::Tcp(stream, _) => Box::new(stream),
            Self::Unix(stream) => Box::new(stream),
        }
    }
}

/// What listens.
#[derive(Debug)]
pub(crate) enum Listening {
    Tcp(TcpListener),
    Unix {
        listener: UnixListener,
        /// Goes with the listener.
        _path: UnixPath,
    },
}

/// The file of a Unix socket, removed when nobody listens any more.
#[derive(Debug)]
pub(crate) struct UnixPath(PathBuf);

impl Drop for UnixPath {
    fn drop(&mut self) {
        // Somebody else may have removed it.
        let _ = fs::remove_file(&self.0);
    }
}

/// Listens at `path`, for its owner and group. A socket that nobody listens on is replaced.
pub(crate) fn bind_unix(path: &Path) -> io::Result<Listening> {
    if let Ok(found) = fs::symlink_metadata(path) {
        let is_left_over = found.file_type().is_socket()
            && std::os::unix::net::UnixStream::connect(path)
                .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
        if !is_left_over {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    let path = UnixPath(path.to_owned());
    fs::set_permissions(&path.0, fs::Permissions::from_mode(0o660))?;
    Ok(Listening::Unix {
        listener,
        _path: path,
    })
}

impl Listening {
    async fn accept(&self) -> io::Result<Raw> {
        match self {
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                // Small packets must leave at once; without it a connection is slow, not wrong.
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%peer, %error, "no TCP_NODELAY");
                }
                Ok(Raw::Tcp(stream, peer))
            }
            Self::Unix { listener, .. } => Ok(Raw::Unix(listener.accept().await?.0)),
        }
    }
}

/// Accepts for ever and hands each connection on. What goes wrong is said once, on the change.
pub(crate) async fn accept(listening: Listening, mut each: impl FnMut(Raw)) {
    let mut failing = false;
    loop {
        match listening.accept().await {
            Ok(raw) => {
                if std::mem::take(&mut failing) {
                    tracing::info!("accepting connections again");
                }
                each(raw);
            }
            // The peer gave up before it was accepted: nothing is wrong here.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::ConnectionAborted
                        | io::ErrorKind::ConnectionReset
                        | io::ErrorKind::Interrupted
                ) => {}
            Err(error) => {
                if !std::mem::replace(&mut failing, true) {
                    tracing::warn!(%error, "no connection can be accepted; trying on");
                }
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}
