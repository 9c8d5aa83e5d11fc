//! The tools of background jobs, and the notices that tell an agent that one has ended.
//!
//! While the plugin is mounted, the agents that it serves may have jobs: all of them, or those of the scope that it is mounted
//! in. They read (`job_output`), list (`job_list`) and stop (`job_kill`) what they see, and when a job of theirs has ended that
//! they do not know of, they are told: an idle agent begins a turn, a few times in a row until its user says something; any
//! other finds the notice before its next step.
//!
//! Read `config`, `public_job` (what a model sees of a job), `output`, `list` and `kill` (the tools), `bound` and `limit` (how
//! much is shown), then `notice`, `wakes` and `tell` (how an agent is told), and `prompt`.
//!
//! **Architecture Invariant:** a notice goes to the agent that started the job, the same instance, and to no other, whatever id
//! it has.
//!
//! **Architecture Invariant:** what is cut is cut for the reader alone. Values are whole, and the jobs service knows nothing of
//! it.

mod config;

mod given;
mod public_job;

mod kill;
mod list;
mod output;

mod bound;
mod limit;

mod notice;
mod tell;
mod wakes;

mod prompt;

use std::sync::Arc;

use cordis::{BoxError, Context, Handle, Plugin, define};
use dsh_agent::{DISPOSED, PRE_STEP, STATUS};
use dsh_jobs::{DONE, JOBS, Jobs};
use dsh_tools::{PRE_EXECUTE, TOOLS, ToolRuntime};

pub use config::{CompletionDelivery, Config, ConfigError};

use tell::Teller;

cordis::catalog!(plugin);

/// The plugin's name, which is also that of its controller and of the source of its messages.
pub(crate) const NAME: &str = "tool-jobs";

/// Lets agents have background jobs: all of them, or those of the scope that it is mounted in.
///
/// Unloading it ends no job: what runs then runs on, no new one starts, and until the plugin is back no tool lists or stops what
/// runs. Jobs end with their owner, with the plugin that started them, or with the jobs service.
///
/// Source: plugin `tool-jobs`.
pub fn plugin() -> impl Plugin<Config = Config> {
    define(NAME).needs((TOOLS, JOBS)).validate(|config: &Config| Ok(config.check()?)).run(apply)
}

async fn apply(
    ctx: &Context,
    (tools, jobs): (Handle<ToolRuntime>, Handle<dyn Jobs>),
    config: &Config,
) -> Result<(), BoxError> {
    // An agent is told of what it started, so the listeners come before the first job can, and go after the last.
    let teller = Arc::new(Teller::new(ctx, config));
    ctx.on(STATUS).with(teller.clone()).run(tell::status)?;
    ctx.on(DISPOSED).with(teller.clone()).run(tell::disposed)?;
    // Whoever rejects the step, what the user said was taken up.
    ctx.on(PRE_STEP).prepend().with(teller.clone()).run(tell::before_step)?;
    ctx.on(DONE).with(teller).run(tell::ended)?;

    // Before a listener can stop the call, and before the job can be gone.
    ctx.on(PRE_EXECUTE).prepend().with(jobs.clone()).run(limit::capture)?;
    let runtime = tools.get()?;
    runtime.register(ctx, output::job_output(&jobs, config))?;
    runtime.register(ctx, list::job_list(&jobs))?;
    runtime.register(ctx, kill::job_kill(&jobs))?;

    jobs.get()?.attach_controller(ctx, NAME)?;
    // Waits for a prompt; the tools themselves need none.
    ctx.plugin(prompt::plugin(), ())?;
    Ok(())
}
