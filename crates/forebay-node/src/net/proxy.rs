//! The PROXY protocol, version 2: who is behind a load balancer.
//!
//! Owns [`read`]. The header is believed, so it is read only where it is configured, and there it
//! must come first. Its length is bounded.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use tokio::io::{AsyncRead, AsyncReadExt};

const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
/// Bytes behind the first sixteen at most: addresses and some additions.
const LENGTH_MAX: u16 = 4096;

/// Reads the header: the address of the client, or `None` where the balancer speaks for itself or
/// says nothing of it.
///
/// # Errors
/// What came is no header of version 2, or too long.
pub(crate) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<SocketAddr>> {
    let mut head = [0; 16];
    stream.read_exact(&mut head).await?;
    let length = check(head).ok_or_else(garbage)?;
    let mut rest = vec![0; usize::from(length)];
    stream.read_exact(&mut rest).await?;
    address(head, &rest)
}

fn garbage() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "no PROXY header of version 2")
}

/// The length of what follows, if the first bytes are those of a header.
fn check(head: [u8; 16]) -> Option<u16> {
    let [.., version, _, high, low] = head;
    let length = u16::from_be_bytes([high, low]);
    let known = head.starts_with(SIGNATURE) && matches!(version, 0x20 | 0x21);
    (known && length <= LENGTH_MAX).then_some(length)
}

/// The client's address; `None` where none is told.
fn address(head: [u8; 16], rest: &[u8]) -> io::Result<Option<SocketAddr>> {
    let [.., version, family, _, _] = head;
    // LOCAL: the balancer itself, asking how we are.
    if version == 0x20 {
        return Ok(None);
    }
    let address = match family {
        0x11 => {
            let (block, _) = rest.split_first_chunk::<12>().ok_or_else(garbage)?;
            let [a, b, c, d, _, _, _, _, high, low, _, _] = *block;
            let port = u16::from_be_bytes([high, low]);
            Some((IpAddr::V4(Ipv4Addr::new(a, b, c, d)), port).into())
        }
        0x21 => {
            let (block, _) = rest.split_first_chunk::<36>().ok_or_else(garbage)?;
            let mut source = [0; 16];
            source.copy_from_slice(block.split_at(16).0);
            let [.., high, low, _, _] = *block;
            let port = u16::from_be_bytes([high, low]);
            Some((IpAddr::V6(Ipv6Addr::from(source)), port).into())
        }
        // Unix sockets and what is not told.
        0x00 | 0x31 | 0x32 => None,
        _ => return Err(garbage()),
    };
    Ok(address)
}

#[cfg(test)]
mod tests;
