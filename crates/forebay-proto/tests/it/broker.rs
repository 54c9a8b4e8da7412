//! The broker machine on virtual time with a model of the disk.

mod anything;
mod bounds;
mod durability;
mod lossy;
mod redelivery;
mod sessions;
