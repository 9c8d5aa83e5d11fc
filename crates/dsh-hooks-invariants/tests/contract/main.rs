//! The contract of the crate, one module per concept.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod fixture;
mod plugin;
mod rules;
