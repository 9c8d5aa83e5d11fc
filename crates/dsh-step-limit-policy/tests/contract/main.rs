//! The contract of the limit of steps, on its public API.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod config;
mod fixture;
mod inbox;
mod last_step;
mod limit;
mod listeners;
mod turns;
