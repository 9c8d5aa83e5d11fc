//! The contract of the crate, one module per concept.

#![allow(clippy::unwrap_used, missing_docs, reason = "these are tests")]

mod arguments;
mod cancellation;
mod fixture;
mod guards;
mod pipeline;
mod registry;
mod workspace;
