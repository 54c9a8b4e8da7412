//! The binary from outside: processes, sockets, signals and files, and nothing of its own crates.
//!
//! Every byte that is sent or expected is built by [`harness::wire`], independent of the
//! project's codec, so that a mistake in that codec can't hide. A test starts a broker on a
//! directory of its own and ends it by process id. Nothing sleeps to let something happen: every
//! wait ends at what it waits for, or fails at a deadline.
//!
//! `FOREBAY_TEST_PEER=mosquitto` runs the protocol tests against Debian's Mosquitto instead, to
//! judge the tests themselves; with `mosquitto-stopped` it is stopped in good order where ours is
//! killed.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::manual_assert,
    clippy::missing_panics_doc,
    reason = "a test may panic"
)]

mod access;
mod alias;
mod cli;
mod connect;
mod crash;
mod expiry;
mod full;
mod harness;
mod listeners;
mod malformed;
mod publish;
mod qos1;
mod qos2;
mod queue;
mod resume;
mod retain;
mod subscribe;
mod sync_order;
mod tidy;
mod will;
