//! How tools are presented to models, and the programs that call them; one module per concept.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod bindings;
mod collapse;
mod fixture;
mod presentation;
mod program;
mod prompt;
mod python;
mod rendering;
mod typescript;
