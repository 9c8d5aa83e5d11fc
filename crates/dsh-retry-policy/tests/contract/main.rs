//! The contract of the retry policy, on its public API.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod config;
mod ends;
mod fixture;
mod judged;
mod leftovers;
mod order;
mod runs;
