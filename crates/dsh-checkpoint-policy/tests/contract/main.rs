//! The contract of the crate.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod barrier;
mod fixture;
