//! The contract of the shell's definition, on its public API.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod contributors;
mod fixture;
mod harness;
mod lending;
mod scopes;
mod threads;
