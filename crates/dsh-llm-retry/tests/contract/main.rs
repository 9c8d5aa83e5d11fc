//! The contract of the retries of requests, on its public API.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod always;
mod delays;
mod ends;
mod fixture;
mod invariants;
mod normal;
mod plugin;
mod records;
