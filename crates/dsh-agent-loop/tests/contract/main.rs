//! What the loop promises, by its public interface.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod fixture;
mod turns;
mod wake;
