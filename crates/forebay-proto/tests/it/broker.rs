//! The broker machine on virtual time with a model of the disk.

mod durability;
mod lossy;
mod redelivery;
mod sessions;
