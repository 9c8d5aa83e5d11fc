//! What the loop promises, by its public interface.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod answers;
mod fixture;
mod maintenance;
mod making;
mod pre_step;
mod requests;
mod snapshot;
mod turns;
mod wake;
