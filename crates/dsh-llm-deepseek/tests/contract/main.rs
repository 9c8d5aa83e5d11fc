//! The contract of the adapter, on its public API and over real sockets.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod answers;
mod config;
mod connections;
mod credentials;
mod fixture;
mod identity;
mod messages;
mod models;
mod proxy;
mod redirects;
mod reference;
mod refusals;
mod request;
mod secrets;
mod server;
mod timeouts;
mod transport;
