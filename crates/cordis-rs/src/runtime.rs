//! The executor that the host works on.

use crate::NoRuntime;
use std::{panic::catch_unwind, time::Duration};

#[cfg(not(cordis_shuttle))]
#[derive(Clone)]
pub(crate) struct Runtime(tokio::runtime::Handle);

#[cfg(not(cordis_shuttle))]
impl Runtime {
    pub(crate) fn current() -> Result<Self, NoRuntime> {
        let handle = tokio::runtime::Handle::try_current().map_err(|_| NoRuntime::Outside)?;
        // tokio tells of missing timers only by a panic.
        catch_unwind(|| drop(tokio::time::sleep(Duration::ZERO))).map_err(|_| NoRuntime::NoTimers)?;
        Ok(Runtime(handle))
    }

    pub(crate) fn enter(&self) -> tokio::runtime::EnterGuard<'_> {
        self.0.enter()
    }

    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        drop(self.0.spawn(future));
    }

    /// Spawns a task; the result aborts it.
    pub(crate) fn spawn_abortable(
        &self,
        future: impl Future<Output = ()> + Send + 'static,
    ) -> Box<dyn FnOnce() + Send> {
        let task = self.0.spawn(future).abort_handle();
        Box::new(move || task.abort())
    }
}

/// `None` when the time is up before `future` ends.
#[cfg(not(cordis_shuttle))]
pub(crate) async fn within<F: Future>(limit: Duration, future: F) -> Option<F::Output> {
    tokio::time::timeout(limit, future).await.ok()
}

#[cfg(cordis_shuttle)]
#[derive(Clone)]
pub(crate) struct Runtime;

#[cfg(cordis_shuttle)]
impl Runtime {
    pub(crate) fn current() -> Result<Self, NoRuntime> {
        Ok(Runtime)
    }

    pub(crate) fn enter(&self) {}

    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        shuttle::future::spawn(future);
    }

    pub(crate) fn spawn_abortable(
        &self,
        future: impl Future<Output = ()> + Send + 'static,
    ) -> Box<dyn FnOnce() + Send> {
        let task = shuttle::future::spawn(future);
        Box::new(move || task.abort())
    }
}

/// Schedules have no time: nothing is ever late.
#[cfg(cordis_shuttle)]
pub(crate) async fn within<F: Future>(_limit: Duration, future: F) -> Option<F::Output> {
    Some(future.await)
}
