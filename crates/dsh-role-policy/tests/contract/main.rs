//! The contract of the role policy, on its public API.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod config;
mod fixture;
mod nested;
mod overruled;
mod roles;
mod texts;
