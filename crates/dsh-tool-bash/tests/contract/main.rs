//! The tool as agents meet it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod arguments;
mod background;
mod cards;
mod config;
mod environment;
mod fixture;
mod foreground;
mod limits;
mod prompt;
mod scripted;
mod unload;
mod value;
mod witness;
mod workdir;
