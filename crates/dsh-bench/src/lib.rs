//! What the benchmarks of sessions and of tool calls share. The works themselves are in `benches/`; `cargo xtask bench` runs them, and
//! `docs/performance.md` says what each is.
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot be set up has nothing to report")]

pub mod by_hand;
pub mod calls;
pub mod logs;
