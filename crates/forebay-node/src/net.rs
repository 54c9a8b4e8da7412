//! Sockets: what every role that speaks over TCP shares.
//!
//! Owns the listeners ([`listener`]), the layers that MQTT can come through ([`tls`],
//! [`websocket`], [`proxy`]), the sending half of a connection with its bounded buffer
//! ([`Outgoing`]) and the reading of bytes into shared memory ([`Incoming`]). Never looks into
//! a packet and never decides what a connection means. Units: bytes, durations.

pub(crate) mod half;
mod incoming;
pub(crate) mod listener;
mod outgoing;
pub(crate) mod proxy;
pub(crate) mod tls;
pub(crate) mod websocket;

pub(crate) use half::{Layered, ReadHalf, WriteHalf};
pub(crate) use incoming::Incoming;
pub(crate) use outgoing::{BufferPool, Outgoing, Written};
pub use tls::{Identity, Tls, TlsError};
