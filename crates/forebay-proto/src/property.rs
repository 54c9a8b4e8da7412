//! Properties of MQTT 5 packets.
//!
//! Owns [`Properties`], a checked property block that shares the buffer it came in and is read
//! by walking it, and [`PropertiesBuilder`], which writes one. Chapter 2.2.2.

use bytes::Bytes;


/// A property block without its length prefix, checked when it was decoded or built.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Properties(pub(crate) Bytes);

impl Properties {
    /// No properties.
    pub const EMPTY: Self = Self(Bytes::new());
}
