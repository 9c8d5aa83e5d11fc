//! The registry: who offers which tool to whom, who restricts it, and what a definition makes of its calls.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod fixture;

mod changes;
mod configuration;
mod definitions;
mod disposal;
mod order;
mod presentation;
mod refusals;
mod restrictions;
mod run_context;
mod scopes;
mod threads;
mod typed;
mod values;
mod view_shapes;
