#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]
//! The plugin, with real hooks that a real shell runs.

mod calls;
mod fixture;
mod loading;
mod payloads;
mod plain_text;
mod turns;
