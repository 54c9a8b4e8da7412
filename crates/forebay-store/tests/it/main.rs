//! Integration tests, through the public door.

mod crash;
mod disk;
mod queue;
