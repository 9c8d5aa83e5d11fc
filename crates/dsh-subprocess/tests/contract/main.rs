//! The contract of the pure parts of processes, on the public API.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod environment;
mod fixture;
mod output;
mod process;
mod scripted;
mod spec;
mod text;
