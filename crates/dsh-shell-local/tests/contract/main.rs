//! The contract of the local shell, on its public API and with real processes.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod background;
mod characters;
mod config;
mod ending;
mod environment;
mod fixture;
mod long_commands;
mod output;
mod requests;
mod scripted;
mod told;
mod unloading;
