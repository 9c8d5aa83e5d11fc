//! What the tests of contexts, services and configurations share.

#![allow(dead_code, unused_imports, unused_macros, reason = "no test crate uses all of it")]

use cordis::{App, BoxError, Context, Fiber, Handle, Key, State, define};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

/// The service that most tests are about.
pub(crate) const FOO: Key<u32> = Key::new("foo");

/// What happened, in order.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn add(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    /// What was added since the last call.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

/// Logs its load with the value of the service, and its unload with whether its handle still works then.
async fn consume(ctx: &Context, service: Handle<u32>, log: &Log) -> Result<(), BoxError> {
    let name = ctx.fiber().name().to_owned();
    log.add(format!("{name} loads with {}", *service.get()?));
    let log = log.clone();
    ctx.effect("farewell", async move || log.add(format!("{name} unloads with {:?}", service.get().ok())))?;
    Ok(())
}

/// Mounts a plugin that needs `FOO`.
pub(crate) fn consumer(ctx: &Context, name: &'static str, log: &Log) -> Fiber {
    ctx.plugin(define(name).needs(FOO).run(consume), log.clone()).unwrap()
}

async fn supply(ctx: &Context, (): (), value: &u32) -> Result<(), BoxError> {
    ctx.provide(FOO, Arc::new(*value))?;
    Ok(())
}

/// Mounts a plugin that provides `FOO`.
pub(crate) fn provider(ctx: &Context, name: &'static str, value: u32) -> Fiber {
    ctx.plugin(define(name).run(supply), value).unwrap()
}

/// The states of fibers when everything is quiet.
pub(crate) async fn states<const N: usize>(app: &App, fibers: [&Fiber; N]) -> [State; N] {
    within(app.quiet()).await;
    fibers.map(Fiber::state)
}

/// Fails a test that would wait for ever.
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), future).await.expect("it ends")
}

/// Runs each test on both flavours of the runtime, the first with a paused clock.
macro_rules! on_both_flavours {
    ($($(#[doc = $doc:literal])* #[test] async fn $name:ident() $body:block)*) => {$(
        async fn $name() $body

        mod $name {
            #[tokio::test(start_paused = true)]
            async fn current_thread() {
                crate::support_services::within(super::$name()).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn multi_thread() {
                crate::support_services::within(super::$name()).await;
            }
        }
    )*};
}
pub(crate) use on_both_flavours;
