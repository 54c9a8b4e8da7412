//! Integration tests, through the public door.

#![allow(
    clippy::indexing_slicing,
    clippy::needless_range_loop,
    reason = "helpers of tests may panic"
)]

mod crash;
mod damage;
mod disk;
mod faults;
mod format;
mod inspect;
mod lists;
mod lock;
mod model;
mod queue;
mod repair;
mod rotation;
mod scale;
mod space;
mod writer;
