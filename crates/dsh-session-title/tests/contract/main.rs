//! The contract of the crate, one module per concept.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod config;
mod fallback;
mod fixture;
mod normal;
mod payload;
mod titles;
