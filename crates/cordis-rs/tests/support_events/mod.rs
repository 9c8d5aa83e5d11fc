//! What the tests of events share: the six modes behind one trait, and small recorders.
#![allow(dead_code, unused_macros, unused_imports, reason = "each test file uses a part of it")]

use cordis::{
    Announce, App, Bail, BoxError, BoxFuture, Context, Effect, Emit, Fiber, ListenError, Next, Parallel,
    ScopeKey, Serial, Waterfall, define, keys, meta::Report,
};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    task::{Context as Cx, Poll, Waker},
};

/// An ordered record that listeners write to.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn add(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

/// The failures that were reported.
#[derive(Clone, Default)]
pub(crate) struct Errors(Arc<Mutex<Vec<Report>>>);

impl Errors {
    /// As (plugin without its number, step, message).
    pub(crate) fn take(&self) -> Vec<(String, String, String)> {
        let reports = std::mem::take(&mut *self.0.lock().unwrap());
        let short = |plugin: &str| plugin.split('#').next().unwrap_or_default().to_owned();
        reports.into_iter().map(|r| (short(&r.plugin), r.step, r.message)).collect()
    }
}

/// A new app and what it reports.
pub(crate) fn host() -> (App, Errors) {
    let app = App::new().unwrap();
    let errors = Errors::default();
    let sink = errors.clone();
    app.on(keys::ERROR).run(move |report| sink.0.lock().unwrap().push(report.clone())).unwrap();
    (app, errors)
}

/// One expected report.
pub(crate) fn report(plugin: &str, step: &str, message: &str) -> (String, String, String) {
    (plugin.into(), step.into(), message.into())
}

/// Mounts a plugin whose body is `body`.
pub(crate) async fn plugin(
    ctx: &Context,
    name: &'static str,
    body: impl Fn(&Context) -> Result<(), BoxError> + Send + Sync + 'static,
) -> Fiber {
    let definition = define(name).run_boxed(move |ctx: &Context, (): (), (): &()| {
        let ended = body(ctx);
        Box::pin(async move { ended })
    });
    let fiber = ctx.plugin(definition, ()).unwrap();
    fiber.ready().await.unwrap();
    fiber
}

/// The output of a future that needs no waiting.
pub(crate) fn now<F: Future>(future: F) -> Option<F::Output> {
    let mut future = std::pin::pin!(future);
    match future.as_mut().poll(&mut Cx::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

/// Tells when it is dropped.
pub(crate) struct Canary(Arc<AtomicBool>);

impl Canary {
    /// The canary, and whether it is gone.
    pub(crate) fn new() -> (Canary, Arc<AtomicBool>) {
        let gone = Arc::new(AtomicBool::new(false));
        (Canary(gone.clone()), gone)
    }
}

impl Drop for Canary {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

/// What a listener does when it is called. In a synchronous mode it must be done at its first poll.
pub(crate) type Act = Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

/// An act without awaits.
pub(crate) fn act(f: impl Fn() + Send + Sync + 'static) -> Act {
    let f = Arc::new(f);
    Arc::new(move || {
        let f = f.clone();
        Box::pin(async move { f() })
    })
}

/// An act that notes `line`.
pub(crate) fn note(log: &Log, line: &'static str) -> Act {
    let log = log.clone();
    act(move || log.add(line))
}

/// How a listener is placed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct How {
    pub(crate) prepend: bool,
    pub(crate) once: bool,
    pub(crate) global: bool,
}

/// One dispatch mode: listeners do an [`Act`] and let the dispatch go on.
pub(crate) trait Mode: Send + Sync + 'static {
    const NAME: &'static str;
    const IS_ASYNC: bool;

    fn place(ctx: &Context, how: How, act: Act) -> Result<Effect, ListenError>;

    fn dispatch<'a>(ctx: &'a Context, scope: Option<&'a ScopeKey>) -> BoxFuture<'a, ()>;

    fn listeners(ctx: &Context) -> usize;

    fn on(ctx: &Context, act: Act) -> Effect {
        Self::place(ctx, How::default(), act).unwrap()
    }

    fn once(ctx: &Context, act: Act) -> Effect {
        Self::place(ctx, How { once: true, ..How::default() }, act).unwrap()
    }

    fn go(ctx: &Context) -> BoxFuture<'_, ()> {
        Self::dispatch(ctx, None)
    }
}

macro_rules! placed {
    ($ctx:ident, $key:expr, $how:ident) => {{
        let mut on = $ctx.on($key);
        if $how.prepend {
            on = on.prepend();
        }
        if $how.once {
            on = on.once();
        }
        if $how.global {
            on = on.global();
        }
        on
    }};
}

macro_rules! mode {
    (
        $mode:ident, $key:ident: $type:ty = $new:expr, $is_async:literal,
        |$on:ident, $act:ident| $place:expr, |$at:ident| $dispatch:expr
    ) => {
        pub(crate) struct $mode;
        const $key: $type = $new;

        impl Mode for $mode {
            const NAME: &'static str = stringify!($mode);
            const IS_ASYNC: bool = $is_async;

            fn place(ctx: &Context, how: How, $act: Act) -> Result<Effect, ListenError> {
                let $on = placed!(ctx, $key, how);
                $place
            }

            fn dispatch<'a>(ctx: &'a Context, scope: Option<&'a ScopeKey>) -> BoxFuture<'a, ()> {
                Box::pin(async move {
                    match scope {
                        None => {
                            let $at = ctx;
                            $dispatch
                        }
                        Some(scope) => {
                            let $at = ctx.at(scope);
                            $dispatch
                        }
                    }
                })
            }

            fn listeners(ctx: &Context) -> usize {
                ctx.listeners($key)
            }
        }
    };
}

const SYNC: &str = "what a synchronous listener awaits is ready at once";

mode!(EmitMode, EMIT: Emit<u32> = Emit::new("test/emit"), false,
    |on, act| on.run(move |_| now(act()).expect(SYNC)),
    |at| at.emit(EMIT, &1));
mode!(AnnounceMode, ANNOUNCE: Announce<u32> = Announce::new("test/announce"), false,
    |on, act| on.run(move |_| {
        now(act()).expect(SYNC);
        Ok(())
    }),
    |at| at.announce(ANNOUNCE, &1).unwrap());
mode!(BailMode, BAIL: Bail<u32, u32> = Bail::new("test/bail"), false,
    |on, act| on.run(move |_| {
        now(act()).expect(SYNC);
        None
    }),
    |at| assert_eq!(at.bail(BAIL, &1), None));
mode!(ParallelMode, PARALLEL: Parallel<u32> = Parallel::new("test/parallel"), true,
    |on, act| on.with(act).run(async |act, _| {
        act().await;
        Ok(())
    }),
    |at| at.parallel(PARALLEL, &1).await.unwrap());
mode!(SerialMode, SERIAL: Serial<u32, u32> = Serial::new("test/serial"), true,
    |on, act| on.with(act).run(async |act, _| {
        act().await;
        Ok(None)
    }),
    |at| assert_eq!(at.serial(SERIAL, &1).await.unwrap(), None));
mode!(WaterfallMode, WATERFALL: Waterfall<u32, u32> = Waterfall::new("test/waterfall"), true,
    |on, act| on.with(act).run(async |act, n, next| {
        act().await;
        next.run(n).await
    }),
    |at| assert_eq!(at.waterfall(WATERFALL, &mut 1, &(), async |_, n| *n).await.unwrap(), 1));

/// Runs a generic test in all six modes, each on a current_thread runtime with a paused clock and on a
/// multi_thread one.
macro_rules! in_every_mode {
    ($(#[test] async fn $name:ident<$mode:ident>() $body:block)*) => {$(
        mod $name {
            use super::*;

            async fn body<$mode: Mode>() $body

            in_every_mode!(@ emit EmitMode);
            in_every_mode!(@ announce AnnounceMode);
            in_every_mode!(@ bail BailMode);
            in_every_mode!(@ parallel ParallelMode);
            in_every_mode!(@ serial SerialMode);
            in_every_mode!(@ waterfall WaterfallMode);
        }
    )*};
    (@ $name:ident $mode:ident) => {
        mod $name {
            use super::*;

            #[tokio::test(start_paused = true)]
            async fn current_thread() {
                body::<$mode>().await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn multi_thread() {
                tokio::spawn(body::<$mode>()).await.unwrap();
            }
        }
    };
}

/// Runs a test on both runtime flavours; the current_thread one has a paused clock.
macro_rules! on_both_flavours {
    ($(#[test] async fn $name:ident() $body:block)*) => {$(
        mod $name {
            use super::*;

            async fn body() $body

            #[tokio::test(start_paused = true)]
            async fn current_thread() {
                body().await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn multi_thread() {
                tokio::spawn(body()).await.unwrap();
            }
        }
    )*};
}

pub(crate) use {in_every_mode, on_both_flavours};
