#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]
//! The contract of the checker of jobs.

mod fixture;

mod plugin;
mod rules;
