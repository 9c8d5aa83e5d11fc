//! The contract of the checker of loops, on its public API.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod agents;
mod fixture;
mod loops;
mod requests;
mod scope;
mod steps;
