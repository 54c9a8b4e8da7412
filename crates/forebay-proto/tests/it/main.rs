//! Integration tests, through the public door.

mod bed;
mod broker;
