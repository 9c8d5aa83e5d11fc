//! The contract of the tools and notices of background jobs, on the public API.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod budget;
mod config;
mod controller;
mod delivery;
mod faults;
mod fixture;
mod kill;
mod limit;
mod list;
mod notices;
mod output;
mod owners;
mod prompt;
mod scripted;
mod silence;
mod wait;
