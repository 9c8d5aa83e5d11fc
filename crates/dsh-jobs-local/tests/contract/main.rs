#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]
//! The contract of the local provider of jobs.

mod fixture;

mod access;
mod capacity;
mod controllers;
mod end;
mod events;
mod kept;
mod kill;
mod late;
mod output;
mod owner;
mod plugin;
mod producer;
mod property;
mod race;
mod reentrant;
mod service;
mod start;
mod wait;
