//! What the tests of lifecycles share: both runtime flavours, a log, recorders and counts.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends there")]

use cordis::{App, BoxError, Context, EffectNode, FiberNode, keys};
use std::{
    future::{Ready, ready},
    panic::resume_unwind,
    pin::Pin,
    sync::{
        Arc, Mutex,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};
use tokio::{runtime::Builder, sync::Semaphore, time::timeout};

pub(crate) type Boxed = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Runs a test on a current-thread runtime with a paused clock, then on a multi-thread one with the real clock. A test
/// that waits for ever fails, and so does one that blocks its thread.
pub(crate) fn both_flavours(test: impl AsyncFn() + Send + 'static) {
    unblocked(move || {
        on_current_thread(&test);
        eprintln!("on the multi-thread flavour");
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
        let ended = runtime.block_on(async { timeout(secs(120), test()).await });
        runtime.shutdown_timeout(secs(5));
        ended.expect("the test waited for ever on the multi-thread flavour");
    });
}

/// Runs a test on a current-thread runtime with a paused clock.
pub(crate) fn paused(test: impl AsyncFn() + Send + 'static) {
    unblocked(move || on_current_thread(&test));
}

fn on_current_thread(test: &impl AsyncFn()) {
    eprintln!("on the current-thread flavour");
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let ended = runtime.block_on(async { timeout(secs(36_000), test()).await });
    ended.expect("the test waited for ever on the current-thread flavour");
}

/// Runs a test on a thread of its own and fails when it does not come back.
pub(crate) fn unblocked(test: impl FnOnce() + Send + 'static) {
    let (ended, wait) = mpsc::channel::<()>();
    let thread = thread::spawn(move || {
        let _ended = ended;
        test();
    });
    let blocked = wait.recv_timeout(secs(300)) == Err(RecvTimeoutError::Timeout);
    assert!(!blocked, "the test blocks its thread");
    if let Err(panic) = thread.join() {
        resume_unwind(panic);
    }
}

pub(crate) fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub(crate) fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// What happened, in order.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn new() -> Self {
        Log::default()
    }

    pub(crate) fn add(&self, text: impl Into<String>) {
        self.0.lock().unwrap().push(text.into());
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    /// A disposer that says so at once.
    pub(crate) fn undo(&self, text: &'static str) -> impl FnOnce() -> Ready<()> + Send + use<> {
        let log = self.clone();
        move || {
            log.add(text);
            ready(())
        }
    }

    /// A disposer that says so when it starts and, `after` later, when it ends.
    pub(crate) fn slow_undo(
        &self,
        text: &'static str,
        after: Duration,
    ) -> impl FnOnce() -> Boxed + Send + use<> {
        let log = self.clone();
        move || {
            Box::pin(async move {
                log.add(format!("{text} start"));
                tokio::time::sleep(after).await;
                log.add(format!("{text} end"));
            })
        }
    }

    /// A disposer that says so when it starts and, once `go` has a permit for it, when it ends.
    pub(crate) fn held_undo(
        &self,
        text: &'static str,
        go: &Arc<Semaphore>,
    ) -> impl FnOnce() -> Boxed + Send + use<> {
        let (log, go) = (self.clone(), go.clone());
        move || {
            Box::pin(async move {
                log.add(format!("{text} start"));
                go.acquire().await.unwrap().forget();
                log.add(format!("{text} end"));
            })
        }
    }

    /// Waits until it has `count` lines.
    pub(crate) async fn until_len(&self, count: usize) {
        while self.len() < count {
            tokio::time::sleep(ms(1)).await;
        }
    }

    /// A value that says so when it is dropped.
    pub(crate) fn on_drop(&self, text: &'static str) -> Dropped {
        Dropped(self.clone(), text)
    }
}

pub(crate) struct Dropped(Log, &'static str);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.add(self.1);
    }
}

/// The failures without a caller, as `plugin#uid step: message`.
pub(crate) fn errors(app: &App) -> Log {
    let log = Log::new();
    let sink = log.clone();
    app.on(keys::ERROR)
        .run(move |report| sink.add(format!("{} {}: {}", report.plugin, report.step, report.message)))
        .unwrap();
    log
}

/// The changes of state, as `name from>to`.
pub(crate) fn statuses(app: &App) -> Log {
    let log = Log::new();
    let sink = log.clone();
    app.on(keys::STATUS)
        .run(move |change| sink.add(format!("{} {}>{}", change.fiber.name(), change.from, change.to)))
        .unwrap();
    log
}

/// The effects of a context's fiber as text: `label[child, child]`, in order of registration.
pub(crate) fn effects(ctx: &Context) -> Vec<String> {
    ctx.inspect().fiber.effects.iter().map(effect).collect()
}

fn effect(node: &EffectNode) -> String {
    let children: Vec<String> = node.children.iter().map(effect).collect();
    if children.is_empty() { node.label.clone() } else { format!("{}[{}]", node.label, children.join(", ")) }
}

/// How many fibers there are below a node, itself included, and how many effects they have.
pub(crate) fn counts(node: &FiberNode) -> (usize, usize) {
    let (mut fibers, mut effects) = (1, 0);
    let mut todo: Vec<&EffectNode> = node.effects.iter().collect();
    while let Some(effect) = todo.pop() {
        effects += 1;
        todo.extend(&effect.children);
        if let Some(fiber) = &effect.fiber {
            fibers += 1;
            todo.extend(&fiber.effects);
        }
    }
    (fibers, effects)
}

/// Ends well.
pub(crate) const fn fine() -> Result<(), BoxError> {
    Ok(())
}
