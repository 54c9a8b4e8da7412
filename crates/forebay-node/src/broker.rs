//! The broker role.
//!
//! Owns the driver of [`forebay_proto::Broker`]: one thread with the listeners, the
//! connections and the machine, and one disk thread with the store. The machine is borrowed for
//! one input and the outputs it made, never across a wait. Packets and commits go out together
//! once every connection that has something to read was served, so that a busy broker writes
//! each socket and wakes the disk thread once for many messages. Never decides what MQTT means
//! and never touches a file.

mod backlog;
mod config;
mod connection;
mod door;
mod error;
mod flag;
mod peer;
mod reload;
mod restore;
mod run;
mod shard;
mod translate;

pub use crate::net::{Identity, Tls, TlsError};
pub use config::{Config, Keeping, Limits};
pub use door::{At, Listener};
pub use error::RunError;
pub use reload::{Reload, Settings};
pub use run::{Ready, Stop, run, run_on};
pub(crate) use translate::{ApplyError, Queues};
