//! The house rules as tests: they read the workspace's own manifests, sources and pages.
//!
//! Owns what the compiler and its lints can't hold: which room may know which, what a file looks
//! like, and that a citation is of something real. A rule has no list of exceptions; where it
//! names what is allowed, that is the rule.

mod citations;
mod claims;
mod house;
mod source;
mod walls;
