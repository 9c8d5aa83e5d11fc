//! The contract of the crate, one module per concept.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "a test ends by panicking")]

mod approval;
mod arguments;
mod blocking;
mod cancellation;
mod contexts;
mod definition;
mod denied;
mod exits;
mod finalizer;
mod fixture;
mod guards;
mod nested;
mod output;
mod panics;
mod pipeline;
mod policies;
mod registry;
mod replaced;
mod unload;
mod values;
mod workspace;
mod wrappers;
