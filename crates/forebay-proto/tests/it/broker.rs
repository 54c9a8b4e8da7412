//! The broker machine on virtual time with a model of the disk.

mod access;
mod alias;
mod anything;
mod bounds;
mod durability;
mod fan_out;
mod lossy;
mod redelivery;
mod sessions;
