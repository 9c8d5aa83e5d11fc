//! The contract of the timeout policy, on its public API.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod bodies;
mod config;
mod deadline;
mod fixture;
mod nesting;
mod reasons;
