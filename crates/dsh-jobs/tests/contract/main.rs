#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]
//! The contract of the seam: what is written of a job, and what is said when something is not done.

mod errors;
mod snapshot;
