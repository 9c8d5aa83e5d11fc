//! The contract of the metrics policy, on its public API.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod bounds;
mod counting;
mod durations;
mod fixture;
mod service;
mod snapshot;
