//! Hooks that nobody waits for.

use std::future::Future;

use tokio::runtime::Handle;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

/// Hooks that nobody waits for, until their plugin is unloaded. Dropping it ends them where they stand.
#[derive(Debug)]
pub(crate) struct Detached {
    runtime: Handle,
    running: TaskTracker,
    /// Tells the hooks to end.
    token: CancellationToken,
    /// Ends those that do not.
    end: DropGuard,
}

impl Detached {
    /// None yet. They will run in this runtime.
    pub(crate) fn new(runtime: Handle) -> Self {
        let (running, token) = (TaskTracker::new(), CancellationToken::new());
        Self { runtime, running, token, end: CancellationToken::new().drop_guard() }
    }

    /// Cancelled when the hooks are to end: for [`HookCommand::cancellation`](crate::HookCommand::cancellation).
    pub(crate) fn token(&self) -> CancellationToken {
        self.token.clone()
    }

    /// Runs a hook and what is done with its answer. A panic of it stays its own. After [`drain`](Self::drain) it is dropped
    /// instead.
    pub(crate) fn track(&self, run: impl Future<Output = ()> + Send + 'static) {
        let end = self.end.token().clone();
        self.running.spawn_on(end.run_until_cancelled_owned(run), &self.runtime);
    }

    /// Tells all of them to end, and waits until they have, those included that are tracked meanwhile.
    ///
    /// # Cancel safety
    /// Dropping the future ends them where they stand.
    pub(crate) async fn drain(&self) {
        let _end = self.end.token().clone().drop_guard();
        self.token.cancel();
        self.running.close();
        self.running.wait().await;
    }
}

#[cfg(test)]
mod tests;
