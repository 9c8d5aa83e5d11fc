//! The rules that background jobs keep, and a plugin that tells at once when one is broken.
//!
//! A service of jobs that is right needs no checker. Mounted next to one that is being written, the plugin reports each end that
//! contradicts itself, and does not load while a job of nobody does.
//!
//! Read `rule` (what there is to break), then `check` (what is looked at).

mod check;
mod rule;
#[cfg(feature = "testing")]
pub mod testing;

use std::sync::Arc;

use cordis::{BoxError, Context, Event, Handle, Plugin, define};
use dsh_jobs::{DONE, JOBS, JobDone, Jobs};

pub use check::{check, check_done};
pub use rule::{Rule, Violation};

cordis::catalog!(plugin);

/// Who is told of violations besides the trace.
type Tell = Arc<dyn Fn(&Violation) + Send + Sync>;

/// Checks the jobs of nobody when it loads, and every job when it ends.
///
/// An end that breaks a rule is reported ([`keys::ERROR`](cordis::keys::ERROR)) and told all the same. The plugin does not load
/// while a job of nobody breaks a rule.
pub fn plugin() -> impl Plugin<Config = ()> {
    define("jobs-invariants")
        .needs(JOBS)
        .run(async |ctx: &Context, jobs: Handle<dyn Jobs>, _config: &()| start(ctx, &jobs, Arc::new(|_| {})))
}

fn start(ctx: &Context, jobs: &Handle<dyn Jobs>, tell: Tell) -> Result<(), BoxError> {
    let state = (ctx.clone(), tell);
    ctx.on(DONE).global().with(state).run(|(ctx, tell): &(Context, Tell), done: &JobDone| {
        if let Err(violation) = check_done(done) {
            tell(&violation);
            ctx.report(DONE.name(), &violation);
        }
    })?;
    // After the listener: a job that ends meanwhile is looked at by one of the two.
    for job in jobs.get()?.list(None) {
        check(&job)?;
    }
    Ok(())
}
