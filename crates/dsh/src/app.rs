//! What every command does that runs plugins: a runtime, the plugins, and the end of it all.

use std::pin::pin;
use std::time::Duration;

use anyhow::{Context as _, bail};
use cordis::{Context, Disposed, Fiber, Plugin, State};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use crate::exit::say;
use crate::interruption::{SILENCE, STOPPING};

/// How long a thread that waits for something outside is waited for.
pub(crate) const END_TIMEOUT: Duration = Duration::from_secs(3);

/// The runtime that plugins run on.
pub(crate) fn runtime() -> anyhow::Result<Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().context("cannot start the runtime")
}

/// A runtime without threads of its own, for what only waits.
pub(crate) fn small_runtime() -> anyhow::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start the runtime")
}

/// Mounts a plugin and waits until it runs.
pub(crate) async fn mount<P: Plugin>(ctx: &Context, plugin: P, config: P::Config) -> anyhow::Result<Fiber> {
    let fiber = ctx.plugin(plugin, config)?;
    let name = fiber.name().to_owned();
    match fiber.ready().await.with_context(|| format!("the plugin `{name}` did not start"))? {
        State::Active => Ok(fiber),
        state => bail!("the plugin `{name}` did not start: it is {state:?}"),
    }
}

/// Waits for the end of everything, tells who waits why, and says what would not end.
pub(crate) async fn end_of(stopping: impl Future<Output = Vec<Disposed>>, interrupted: &CancellationToken) {
    let mut stopping = pin!(stopping);
    let ended = tokio::select! {
        biased;
        disposed = &mut stopping => Some(disposed),
        () = tokio::time::sleep(SILENCE) => None,
    };
    let ended = match ended {
        Some(ended) => ended,
        None => {
            // Else it has been said.
            if !interrupted.is_cancelled() {
                say(STOPPING);
            }
            stopping.await
        }
    };
    for disposed in ended.iter().filter(|disposed| !disposed.is_clean()) {
        say(format_args!("not everything ended: {disposed:?}"));
    }
}
