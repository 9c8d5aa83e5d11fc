//! The contract of the default model and of an agent's selection, on the public API.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod fixture;
mod plugin;
mod service;
mod switch;
