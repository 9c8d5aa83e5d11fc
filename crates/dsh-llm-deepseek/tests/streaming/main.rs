//! Answers as servers send them, on a real socket: written in every way, cut anywhere, slow, or never over.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod calls;
mod cuts;
mod fixture;
mod framing;
mod limits;
