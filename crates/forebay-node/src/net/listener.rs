//! Listening for TCP connections.
//!
//! Owns [`bind`] and [`accept`]. Never speaks to who connects.

use std::{io, net::SocketAddr, time::Duration};

use tokio::net::{TcpListener, TcpSocket, TcpStream};

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

/// Accepts for ever and hands each connection on. What goes wrong is said once, on the change.
pub(crate) async fn accept(listener: TcpListener, mut each: impl FnMut(TcpStream, SocketAddr)) {
    let mut failing = false;
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                if std::mem::take(&mut failing) {
                    tracing::info!("accepting connections again");
                }
                // Small packets must leave at once; without it a connection is slow, not wrong.
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%peer, %error, "no TCP_NODELAY");
                }
                each(stream, peer);
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
