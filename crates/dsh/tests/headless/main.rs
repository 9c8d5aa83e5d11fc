//! Headless runs beside those of the reference: the same scripts, on the same model server, with the same requests, events,
//! output and exit codes. What differs on purpose is one row each in [`known`]; how the recordings are made is told in
//! `xtask/peers/node/headless/README.md`.
//!
//! Read `recording` (what is kept of a run), `request` and `log` with `masked` (how it comes to that), `difference` with
//! `known` (how two are compared), `program` (our runs), then the tests.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod difference;
mod known;
mod log;
mod masked;
mod program;
mod record;
mod recording;
mod request;
mod resumed;
mod same;
mod table;
