//! The contract of the crate, one module per concept.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod answerers;
mod cancellation;
mod fixture;
mod log;
mod plugin;
mod policy;
mod prompt;
mod request;
mod switch;
mod turn;
