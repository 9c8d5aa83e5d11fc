//! The contract of the token meter, on its public API.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod bounded;
mod errors;
mod estimate;
mod fixture;
mod measure;
mod plugin;
mod projections;
