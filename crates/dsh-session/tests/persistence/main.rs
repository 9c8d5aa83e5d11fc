//! Durable sessions: what the coordinator promises, on a storage in memory.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod ending;
mod host;
mod leaving;
mod memory;
mod owning;
mod pen;
mod reading;
mod resuming;
mod storage_only;
mod threads;
mod warnings;
mod windows;
