//! Integration tests, through the public door.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::wildcard_enum_match_arm,
    clippy::ignored_unit_patterns,
    reason = "a failed test says where"
)]

mod backpressure;
mod client;
mod disk;
mod lifecycle;
mod metrics;
mod server;
mod slow_reader;
mod store_lost;
