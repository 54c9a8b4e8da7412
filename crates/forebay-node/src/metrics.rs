//! Metrics and health over HTTP.
//!
//! Owns the metrics of the broker role ([`Numbers`], one table that is both what is served and
//! what is documented) and the listener that serves them with `/healthz` and `/readyz`. Never
//! counts by itself: the threads that do the work keep plain numbers, and a scrape copies them.
//! Units: base units, named in the metric.

mod door;
mod histogram;
mod numbers;
mod server;
mod table;

pub(crate) use door::Door;
pub(crate) use histogram::Histogram;
pub(crate) use numbers::{Numbers, StoreNumbers};
pub(crate) use server::serve;
pub use table::document;
pub(crate) use table::text;
