//! What the loop promises, by its public interface.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod answers;
mod batches;
mod configured;
mod fixture;
mod given_up;
mod hooks;
mod maintenance;
mod making;
mod many;
mod pre_step;
mod requests;
mod resume;
mod snapshot;
mod turns;
mod unloading;
mod wake;
