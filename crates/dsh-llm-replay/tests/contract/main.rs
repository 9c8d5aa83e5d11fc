//! Scripts and recordings, played.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod cancellation;
mod files;
mod fixture;
mod models;
mod overrides;
mod placeholders;
mod recordings;
mod scripts;
