//! The plugin that starts processes on this machine.

use std::panic::catch_unwind;
use std::sync::Arc;
use std::time::Duration;

use cordis::{BoxError, Context, Plugin, define};
use dsh_subprocess::{SUBPROCESS, Subprocess};
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};

use crate::config::Config;
use crate::launch::Leads;
use crate::local::Local;
use crate::table::Table;

/// The plugin's name.
pub(crate) const NAME: &str = "subprocess-local";

/// How much longer than its grace time the end of everything may take.
const ENDING: Duration = Duration::from_secs(10);

/// Provides [`SUBPROCESS`]. When it is unloaded nothing starts any more; what still runs and what was left behind is told to
/// end, is killed after its grace time, and is waited for.
///
/// Files with long output are removed then.
pub fn plugin() -> impl Plugin<Config = Config> {
    define(NAME).provides(SUBPROCESS).run(apply)
}

async fn apply(ctx: &Context, (): (), config: &Config) -> Result<(), BoxError> {
    check_runtime()?;
    let leads = match config.own_session {
        Some(true) => Leads::Session,
        Some(false) => Leads::Group,
        None => Leads::of_host(),
    };
    let table = Arc::new(Table::new(config));
    let (ending, grace) = (Arc::clone(&table), config.unload_grace());
    let processes = ctx.effect("processes", move || async move {
        // Without a runtime nothing can be waited for: the table kills what there is.
        if Handle::try_current().is_ok() {
            ending.end(grace).await;
            ending.clear().await;
        }
    })?;
    let _ = processes.with_limit(grace + ENDING);
    let local: Arc<dyn Subprocess> = Arc::new(Local { table, leads, runtime: Handle::current() });
    ctx.provide(SUBPROCESS, local)?;
    Ok(())
}

/// Processes need the runtime's signals and pipes. That they are missing tokio tells only by a panic.
fn check_runtime() -> Result<(), BoxError> {
    let signals = catch_unwind(|| signal(SignalKind::child()))
        .map_err(|_| "processes need a runtime with IO: build it with `enable_all`")?;
    drop(signals?);
    Ok(())
}
