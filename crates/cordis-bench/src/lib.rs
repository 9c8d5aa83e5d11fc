//! What the benchmarks of the plugin host share. The works themselves are in `benches/`; `cargo xtask bench` runs them, and
//! `docs/performance.md` says what each is.
//!
//! Modules in reading order:
//!
//! - [`measure`]: a work next to its floor, by turns.
//! - [`floors`]: what one would write by hand instead of a dispatch.
//! - [`host`]: runtimes, and the plugins that are loaded and unloaded.
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot be set up has nothing to report")]

pub mod measure;

pub mod floors;

pub mod host;
