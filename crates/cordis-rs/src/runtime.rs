//! The executor that the host works on.

use crate::NoRuntime;
use std::time::Duration;

#[cfg(not(cordis_shuttle))]
#[derive(Clone)]
pub(crate) struct Runtime(tokio::runtime::Handle, std::sync::Arc<crate::nudge::Watches>);

#[cfg(not(cordis_shuttle))]
impl Runtime {
    pub(crate) fn current() -> Result<Self, NoRuntime> {
        let handle = tokio::runtime::Handle::try_current().map_err(|_| NoRuntime::Outside)?;
        // tokio tells of missing timers only by a panic.
        std::panic::catch_unwind(|| drop(tokio::time::sleep(Duration::ZERO)))
            .map_err(|_| NoRuntime::NoTimers)?;
        Ok(Runtime(handle, std::sync::Arc::default()))
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

    /// `None` when the time is up before `future` ends, even if the runtime's own timers are held up.
    pub(crate) async fn within<F: Future>(&self, limit: Duration, future: F) -> Option<F::Output> {
        let _watching = crate::nudge::watch(&self.0, &self.1);
        tokio::time::timeout(limit, future).await.ok()
    }
}

/// Keeps its tasks attached while the app lives, so that one that never ends is a deadlock to the explorer.
#[cfg(cordis_shuttle)]
#[derive(Clone)]
pub(crate) struct Runtime(std::sync::Arc<std::sync::Mutex<Vec<shuttle::future::JoinHandle<()>>>>);

/// Tasks can be spawned from anywhere in a schedule.
#[cfg(cordis_shuttle)]
pub(crate) struct Entered;

#[cfg(cordis_shuttle)]
impl Runtime {
    pub(crate) fn current() -> Result<Self, NoRuntime> {
        Ok(Runtime(std::sync::Arc::default()))
    }

    pub(crate) fn enter(&self) -> Entered {
        Entered
    }

    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        let task = shuttle::future::spawn(future);
        self.0.lock().unwrap_or_else(|e| e.into_inner()).push(task);
    }

    /// The explorer's own `abort` lets the task run on; tokio's drops the future.
    pub(crate) fn spawn_abortable(
        &self,
        future: impl Future<Output = ()> + Send + 'static,
    ) -> Box<dyn FnOnce() + Send> {
        use std::{future::poll_fn, sync::Arc, task::Poll};

        let abort = Arc::new(crate::sync::Mutex::new((false, None::<std::task::Waker>)));
        let asked = abort.clone();
        let mut future = Some(Box::pin(future));
        self.spawn(poll_fn(move |cx| {
            {
                let mut state = asked.lock();
                if !state.0 {
                    state.1 = Some(cx.waker().clone());
                    drop(state);
                    let polled = future.as_mut().map_or(Poll::Ready(()), |future| future.as_mut().poll(cx));
                    if polled.is_pending() {
                        return Poll::Pending;
                    }
                }
            }
            drop(future.take());
            Poll::Ready(())
        }));
        Box::new(move || {
            let waker = {
                let mut state = abort.lock();
                state.0 = true;
                state.1.take()
            };
            if let Some(waker) = waker {
                waker.wake();
            }
        })
    }

    /// Schedules have no time: nothing is ever late.
    pub(crate) async fn within<F: Future>(&self, _limit: Duration, future: F) -> Option<F::Output> {
        Some(future.await)
    }
}
