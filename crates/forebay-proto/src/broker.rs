//! The broker machine.
