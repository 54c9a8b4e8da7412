//! Forebay: durable MQTT from the edge to the control plane, in one binary.

fn main() {}
