//! Integration tests, through the public door.

#![allow(
    clippy::indexing_slicing,
    clippy::needless_range_loop,
    reason = "helpers of tests may panic"
)]

mod crash;
mod disk;
mod faults;
mod format;
mod inspect;
mod lock;
mod model;
mod queue;
mod repair;
mod space;
mod writer;
