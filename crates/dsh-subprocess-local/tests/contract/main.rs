//! The contract of processes on this machine, on the public API.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod ending;
mod environment;
mod fixture;
mod leftovers;
mod output;
mod resolve;
mod spawning;
mod spill;
mod streams;
mod unload;
mod watchdog;
