//! What the service of models promises.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod cancellation;
mod directory;
mod discovery;
mod facts;
mod failures;
mod fixture;
mod listeners;
mod messages;
mod prepared;
mod pressure;
mod registry;
mod sink;
mod unload;
