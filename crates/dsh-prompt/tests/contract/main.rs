//! The contract of the crate, one module per concept.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod changes;
mod complete;
mod config;
mod context;
mod evaluation;
mod failures;
mod fixture;
mod lending;
mod listeners;
mod registration;
mod rendering;
mod scopes;
mod suppression;
mod templates;
mod threads;
mod tool_order;
mod tools;
mod variables;
