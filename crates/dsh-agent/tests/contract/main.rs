//! What the types and keys of agents promise.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod agent;
mod consumed;
mod events;
mod inbox;
mod initiator;
mod loop_driver;
mod options;
mod registry;
