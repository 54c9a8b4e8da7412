//! Sockets: what every role that speaks over TCP shares.
//!
//! Owns the listener ([`listener`]), the sending half of a connection with its bounded buffer
//! ([`Outgoing`]) and the reading of bytes into shared memory ([`Incoming`]). Never looks into
//! a packet and never decides what a connection means. Units: bytes, durations.

mod incoming;
pub(crate) mod listener;
mod outgoing;

pub(crate) use incoming::Incoming;
pub(crate) use outgoing::{BufferPool, Outgoing, Written};
