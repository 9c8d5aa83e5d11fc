//! The program as its users meet it: real processes, real files.

#![allow(clippy::unwrap_used, missing_docs, reason = "these are tests")]

mod colour;
mod fixture;
mod guard;
mod input;
mod interruption;
mod piped;
mod plugins;
mod replay;
mod safety;
mod terminal;
mod workspace;
