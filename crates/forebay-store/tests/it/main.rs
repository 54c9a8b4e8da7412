//! Integration tests, through the public door.

mod disk;
