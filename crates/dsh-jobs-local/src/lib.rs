//! Background jobs, kept in this process: who has how many, how they end, and who is told.
//!
//! The work of a job is its producer's; here are its state, its owner and those who wait for it. Nothing is stored: when the
//! process ends there are no jobs.
//!
//! Read `config`, `table` with `job` and `record` (what is known), `start` (the way of a start, from top to bottom), `service`
//! (what can be asked), `wait`, then `end` and `teardown` (how jobs end) and `code` (how the producer's side is run).
//!
//! **Architecture Invariant:** the code of a producer is lent by the producer's plugin, and is run in no other way. It runs
//! outside of all locks, its panics end nothing but the job, and it is gone when its plugin is.
//!
//! **Architecture Invariant:** an agent is kept by its live jobs alone. That it once had one keeps nothing of it.
//!
//! **Architecture Invariant:** an end is lost to nobody. Either one who waits for it has received it, or it is told as not
//! reported; a wait that was cancelled or dropped on the way counts as none.

mod bounded;
mod code;
mod config;
mod controllers;
mod end;
mod job;
mod record;
mod service;
mod start;
mod table;
mod teardown;
mod wait;

use std::sync::Arc;

use cordis::{BoxError, Context, Plugin, define};
use dsh_jobs::JOBS;

pub use config::Config;

use service::{LocalJobs, Service};

cordis::catalog!(plugin);

/// Provides [`JOBS`].
///
/// Owned jobs need a registry of agents ([`AGENTS`](dsh_agent::AGENTS)), which is looked up at each start; it may come and go. A
/// job is given up, and its teardown named in what disposing gives, when it has not ended within
/// [`DEFAULT_LIMIT`](cordis::DEFAULT_LIMIT) of being told to by the end of its owner, its plugin or this one.
///
/// Of each owner's jobs that have ended the last 64 are kept until the owner ends, and of what one said 512 KiB, half from the
/// beginning and half from the end.
///
/// Source: the reference's plugin `jobs-local`.
pub fn plugin() -> impl Plugin<Config = Config> {
    define("jobs-local").provides(JOBS).run(apply)
}

async fn apply(ctx: &Context, (): (), config: &Config) -> Result<(), BoxError> {
    let mut tasks = ctx.clone();
    ctx.effects("waiting for jobs", |inside| {
        tasks = inside.clone();
        Ok::<_, cordis::Inactive>(())
    })?;
    let service = Arc::new(Service::new(ctx, tasks, config));
    let ending = Arc::clone(&service);
    // Before the tasks are undone: until then they wait for the jobs that are told to stop here.
    ctx.effect("end of all jobs", async move || ending.end_all().await)?;
    ctx.provide(JOBS, Arc::new(LocalJobs(service)))?;
    Ok(())
}
