//! The contract of the enrichment policy, on its public API.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod callers;
mod config;
mod fixture;
mod given;
mod hidden;
mod nested;
mod trace_id;
