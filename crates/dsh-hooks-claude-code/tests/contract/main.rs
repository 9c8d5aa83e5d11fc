#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]
//! The plugin, with real hooks that a real shell runs.

mod fixture;
mod hostile;
mod kinds;
mod loading;
mod payloads;
mod post_tool;
mod pre_tool;
mod prompts;
mod ran;
mod records;
mod rewrite;
mod sessions;
mod stop;
mod unload;
