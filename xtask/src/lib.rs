//! The repository's own rules. Each rule is a function of a [`Workspace`] that returns what it found or an error that
//! says what to do next; `cargo xtask RULE` runs one, and `tests/rules.rs` runs them all under `cargo test --workspace`.
//!
//! Modules in reading order:
//!
//! - [`workspace`]: the root, its packages and their manifests.
//! - [`layers`]: dependencies point downward.
//! - [`targets`]: libraries say truly whether they have tests inside.
//! - [`spec`]: which numbered behaviours of `docs/spec` are covered.
//! - [`examples`]: examples print what `examples/expected` says.
//! - [`catalog`]: `docs/catalog` lists every key.
//! - [`readme`]: the commands of README.md work.
//! - [`links`] and [`leaks`]: documents point at files that exist, and at nothing outside the repository.
//! - [`ci`]: everything in order.
//! - [`mod@bench`]: how fast the host is, next to hand-written floors and to peers.
//! - [`cli`]: the command line.
//! - [`problems`], [`markdown`] and [`process`]: what the rules share.

pub mod workspace;

pub mod layers;

pub mod targets;

pub mod spec;

pub mod examples;

pub mod catalog;

pub mod readme;

pub mod links;

pub mod leaks;

pub mod ci;

pub mod bench;

pub mod cli;

pub mod problems;

pub mod markdown;

pub mod process;

#[cfg(test)]
mod fixture;

pub use workspace::Workspace;
