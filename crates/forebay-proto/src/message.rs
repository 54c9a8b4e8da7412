//! An application message as it is held and stored: one buffer, read in place.
//!
//! Owns [`Message`]. The encoding is the content of a queue entry and of a retained row, so it is
//! a stored format: version 1 is laid down in `docs/format.md`.
