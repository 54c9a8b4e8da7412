//! What a broker is started with.
//!
//! Owns [`Config`] and [`Limits`], validated values only: where they come from is the binary's
//! matter. Units: bytes, durations.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use forebay_store::{Driver, OsOptions};

use super::{door::Listener, reload::Reload};
use crate::auth::Users;

/// What a broker is started with.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The directory of the store; made where it doesn't exist.
    pub dir: PathBuf,
    /// The fastest way to write that is tried; those after it follow where it is refused.
    pub driver: Driver,
    /// The ways in.
    pub listeners: Vec<Listener>,
    /// Where to serve metrics and health over HTTP.
    pub metrics: Option<SocketAddr>,
    /// What the broker machine allows.
    pub broker: forebay_proto::Config,
    /// Who may come with a name, where [`Access::users`](forebay_proto::Access) says so.
    pub users: Arc<Users>,
    /// What SIGHUP reads anew.
    pub reload: Option<Reload>,
    /// How the store is kept.
    pub store: forebay_store::Options,
    /// What the driver allows.
    pub limits: Limits,
}

impl Config {
    /// A broker on `dir` that listens at `listen`, with the default limits.
    pub fn new(dir: PathBuf, listen: Vec<SocketAddr>) -> Self {
        Self {
            dir,
            driver: OsOptions::default().driver,
            listeners: listen.into_iter().map(Listener::tcp).collect(),
            metrics: None,
            broker: forebay_proto::Config::default(),
            users: Arc::default(),
            reload: None,
            store: forebay_store::Options::default(),
            limits: Limits::default(),
        }
    }
}

/// What of the store's [`Options`](forebay_store::Options) an operator chooses. Sizes are bytes.
///
/// What an acknowledgement promises is not among it: that what it stands for is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Keeping {
    /// A new segment, a multiple of 4,096.
    pub segment_size: u32,
    /// Left free on the file system.
    pub low_water: u64,
    /// Of the log, between two checkpoints.
    pub checkpoint_after: u64,
    /// Messages that one queue is done with, at which the log is rotated; 0 for never.
    pub rotate_after: u32,
    /// Segments kept as backups.
    pub backups: u32,
}

impl Default for Keeping {
    fn default() -> Self {
        let options = forebay_store::Options::default();
        Self {
            segment_size: options.segment_size,
            low_water: options.low_water,
            checkpoint_after: options.checkpoint_after,
            rotate_after: options.rotate_after,
            backups: options.backups,
        }
    }
}

impl Keeping {
    /// Options that are these and else the defaults.
    pub fn options(&self) -> forebay_store::Options {
        forebay_store::Options {
            segment_size: self.segment_size,
            low_water: self.low_water,
            checkpoint_after: self.checkpoint_after,
            rotate_after: self.rotate_after,
            backups: self.backups,
            ..forebay_store::Options::default()
        }
    }
}

/// What the driver allows a client and itself.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Open connections; one more is closed before it is read from. Above the machine's limit, so
    /// that a client beyond that one can be told.
    pub connections: usize,
    /// Connections that may be on their way through TLS, WebSocket or the PROXY header at once;
    /// one more is closed.
    pub greetings: usize,
    /// How long that may take.
    pub greeting: Duration,
    /// Bytes that wait to be sent to one client, beyond which QoS 0 messages to it are dropped.
    pub outgoing_bytes: usize,
    /// Bytes that wait to be sent to one client, beyond which it is disconnected once it has read
    /// nothing for `overrun`; what it has not acknowledged is sent when it comes back. A window of
    /// large messages may be more than this at once, and is no fault of who reads it.
    pub outgoing_bytes_max: usize,
    /// How long a client for which more than `outgoing_bytes_max` waits may read nothing.
    pub overrun: Duration,
    /// How long a client may read nothing while something waits for it.
    pub write_stall: Duration,
    /// How long a connection that is being closed may take to send what is left and to hang up.
    pub close: Duration,
    /// Bytes of commits that are not durable yet, beyond which reading from the clients that
    /// cause them pauses.
    pub backlog_bytes: u64,
    /// Connections to the metrics at a time; further ones wait.
    pub metrics_connections: usize,
    /// How long a connection to the metrics may say nothing.
    pub metrics_idle: Duration,
    /// How long a stop may take to finish what was received.
    pub stop: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 101_000,
            greetings: 1024,
            greeting: Duration::from_secs(10),
            outgoing_bytes: 4 * 1024 * 1024,
            outgoing_bytes_max: 64 * 1024 * 1024,
            overrun: Duration::from_secs(2),
            write_stall: Duration::from_secs(30),
            close: Duration::from_secs(2),
            backlog_bytes: 32 * 1024 * 1024,
            metrics_connections: 64,
            metrics_idle: Duration::from_mins(1),
            stop: Duration::from_secs(10),
        }
    }
}
