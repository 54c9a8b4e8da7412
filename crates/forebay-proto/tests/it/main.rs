//! Integration tests, through the public door.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::wildcard_enum_match_arm,
    reason = "a failed test says where"
)]

mod bed;
mod broker;
mod codec;
mod pair;
mod random;
