//! The tokio drivers of the Forebay roles.
//!
//! Sockets, threads, clocks and signals live here, around the machines of `forebay-proto` and the
//! store of `forebay-store`; nothing else sees both. A driver decides when something happens,
//! never what.

pub mod auth;
pub mod bench;
pub mod broker;
pub mod client;
mod clock;
mod disk_thread;
pub mod inspect;
mod kept;
mod metrics;
mod net;

/// The page `docs/metrics.md`.
pub use metrics::document as metrics_document;

/// What a broker is told.
pub use forebay_proto::{Access, Acl, Anonymous, Limits, RefusedPublish};
/// How its store writes.
pub use forebay_store::Driver;
