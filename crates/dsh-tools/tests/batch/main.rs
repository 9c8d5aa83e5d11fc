//! The calls of one answer, and the calls of a program: what runs at once, and what the log says.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod world;

mod cancelled;
mod cut_off;
mod one_path;
mod property;
mod record;
mod refused_log;
mod schedule;

mod lane_answers;
mod lane_contexts;
mod lane_end;
mod lane_log;
mod lane_order;
