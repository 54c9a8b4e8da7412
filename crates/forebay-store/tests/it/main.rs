//! Integration tests, through the public door.
