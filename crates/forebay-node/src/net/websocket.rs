//! MQTT over WebSocket. Chapter 6.
//!
//! Owns [`accept`] and [`Binary`], the stream of bytes in binary messages: where one
//! message ends and the next begins means nothing. Pings are answered below it, and a text message
//! ends the connection. Everything that is kept has a bound: a message by the largest packet, what
//! is read ahead and what is yet to be written by constants.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes};
use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_tungstenite::{
    WebSocketStream, accept_hdr_async_with_config,
    tungstenite::{
        Error, Message,
        handshake::server::{ErrorResponse, Request, Response},
        http::{HeaderValue, StatusCode},
        protocol::WebSocketConfig,
    },
};

use super::half::Layered;

/// Bytes read ahead.
const READ_BYTES: usize = 8 * 1024;
/// Bytes kept before they are written.
const WRITE_BYTES: usize = 16 * 1024;
/// Bytes of a message that is sent.
const MESSAGE_BYTES: usize = 64 * 1024;
/// Bytes that may wait to be written: several messages, never reached since each waits for room.
const WRITE_BYTES_MAX: usize = 4 * (WRITE_BYTES + MESSAGE_BYTES);
/// Bytes of a message beyond the largest packet, for clients that gather small packets.
const GATHERED: usize = 64 * 1024;

/// The name of the protocol.
///
/// Spec: [MQTT-6.0.0-3], [MQTT-6.0.0-4]
const PROTOCOL: &str = "mqtt";
/// What clients of MQTT 3.1 say.
const PROTOCOL_3_1: &str = "mqttv3.1";
const HEADER: &str = "sec-websocket-protocol";

/// Greets a client that comes over HTTP, where packets are at most `packet_bytes` long.
///
/// # Errors
/// It does not speak WebSocket, or does not ask for `mqtt`.
pub(crate) async fn accept(stream: Layered, packet_bytes: u32) -> io::Result<Layered> {
    let most = packet_bytes as usize + GATHERED;
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BYTES)
        .write_buffer_size(WRITE_BYTES)
        .max_write_buffer_size(WRITE_BYTES_MAX)
        .max_message_size(Some(most))
        .max_frame_size(Some(most));
    let stream = accept_hdr_async_with_config(stream, choose, Some(config))
        .await
        .map_err(broken)?;
    Ok(Box::new(Binary {
        stream,
        unread: Bytes::new(),
    }))
}

#[expect(clippy::result_large_err, reason = "the library's own")]
fn choose(request: &Request, mut response: Response) -> Result<Response, ErrorResponse> {
    let offered = request.headers().get_all(HEADER).iter();
    let mut offered = offered
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(',').map(str::trim));
    let chosen = offered.find(|name| [PROTOCOL, PROTOCOL_3_1].contains(name));
    let Some(chosen) = chosen.and_then(|name| HeaderValue::from_str(name).ok()) else {
        let mut refusal = ErrorResponse::new(Some("the subprotocol is mqtt".to_owned()));
        *refusal.status_mut() = StatusCode::BAD_REQUEST;
        return Err(refusal);
    };
    response.headers_mut().insert(HEADER, chosen);
    Ok(response)
}

fn broken(error: Error) -> io::Error {
    if let Error::Io(error) = error {
        error
    } else if matches!(error, Error::ConnectionClosed | Error::AlreadyClosed) {
        io::ErrorKind::ConnectionAborted.into()
    } else {
        io::Error::new(io::ErrorKind::InvalidData, error)
    }
}

/// The bytes in the binary messages of a WebSocket.
struct Binary {
    stream: WebSocketStream<Layered>,
    /// What is left of the last message.
    unread: Bytes,
}

impl AsyncRead for Binary {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.unread.is_empty() {
            match ready!(self.stream.poll_next_unpin(cx)) {
                Some(Ok(Message::Binary(bytes))) => self.unread = bytes,
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                // [MQTT-6.0.0-1]
                Some(Ok(Message::Text(_))) => {
                    let error = io::Error::new(io::ErrorKind::InvalidData, "a text message");
                    return Poll::Ready(Err(error));
                }
                None | Some(Ok(Message::Close(_)) | Err(Error::ConnectionClosed)) => {
                    return Poll::Ready(Ok(()));
                }
                Some(Err(error)) => return Poll::Ready(Err(broken(error))),
            }
        }
        let count = self.unread.len().min(buffer.remaining());
        buffer.put_slice(self.unread.get(..count).unwrap_or_default());
        self.unread.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Binary {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.stream.poll_ready_unpin(cx)).map_err(broken)?;
        let part = bytes.get(..MESSAGE_BYTES).unwrap_or(bytes);
        let message = Message::Binary(Bytes::copy_from_slice(part));
        self.stream.start_send_unpin(message).map_err(broken)?;
        Poll::Ready(Ok(part.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.poll_flush_unpin(cx).map_err(broken)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match ready!(self.stream.poll_close_unpin(cx)) {
            Ok(()) | Err(Error::ConnectionClosed | Error::AlreadyClosed) => Poll::Ready(Ok(())),
            Err(error) => Poll::Ready(Err(broken(error))),
        }
    }
}
