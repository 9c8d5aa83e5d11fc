//! The contract of the reminder of repeated calls, on its public API.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod chain;
mod config;
mod delivery;
mod fixture;
mod patterns;
mod reset;
mod texts;
