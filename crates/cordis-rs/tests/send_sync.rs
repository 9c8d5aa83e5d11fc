//! Which public types may cross threads, move while pinned and be seen after a panic; and which futures are `Send`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

use cordis::*;
use std::{marker::PhantomData, panic::UnwindSafe, sync::Arc, time::Duration};

/// What is known of a type. An inherent constant, which exists where the bound holds, hides that of a blanket trait.
struct Probe<T: ?Sized>(PhantomData<T>);

macro_rules! property {
    ($bound:ident, $name:ident, $absent:ident) => {
        #[allow(dead_code, reason = "unused while all probed types have the property")]
        trait $absent {
            const $name: bool = false;
        }
        impl<T: ?Sized> $absent for Probe<T> {}
        impl<T: ?Sized + $bound> Probe<T> {
            const $name: bool = true;
        }
    };
}

property!(Send, SEND, NotSend);
property!(Sync, SYNC, NotSync);
property!(Unpin, UNPIN, NotUnpin);
property!(UnwindSafe, UNWIND_SAFE, NotUnwindSafe);

macro_rules! assert_all {
    ($expected:literal: $($type:ty),* $(,)?) => {
        let rows = [$((stringify!($type), {
            let held = [
                (Probe::<$type>::SEND, "Send"),
                (Probe::<$type>::SYNC, "Sync"),
                (Probe::<$type>::UNPIN, "Unpin"),
                (Probe::<$type>::UNWIND_SAFE, "UnwindSafe"),
            ];
            held.iter().filter(|(holds, _)| *holds).map(|(_, name)| *name).collect::<Vec<_>>().join(" ")
        })),*];
        for (name, held) in rows {
            assert_eq!(held, $expected, "{name}");
        }
    };
}

/// Neither `Send` nor `Sync`.
type Local = std::rc::Rc<std::cell::Cell<u8>>;

struct Table;

impl Layer for Table {
    fn is_empty(&self) -> bool {
        true
    }
}

#[test]
fn keys_are_plain_data_whatever_they_name() {
    assert_all!("Send Sync Unpin UnwindSafe":
        Key<str>, Key<Local>, Optional<dyn Fn()>, Intercept<Local>, Mode, State, FiberId, PluginId,
        Emit<Local>, Announce<Local>, Bail<Local, Local>, Parallel<Local>, Serial<Local, Local>, Waterfall<Local, Local>,
    );
}

#[test]
fn what_a_plugin_holds_is_send_and_sync() {
    assert_all!("Send Sync Unpin":
        App, Context, Fiber, Effect, Scope, ScopeKey, ParentBinding, Realm, Registry, MountedPlugin,
        On<'static, Emit<u8>>, Next<'static, u8, u8>, At<'static>, Define, FnPlugin<(), u8, fn()>,
        Handle<str>, Lease<'static, str>, Handle<dyn Fn() + Send + Sync>, Lease<'static, dyn Fn() + Send + Sync>,
        Layers<Table>, NamedEntries<u8>, AnonymousEntries<u8>, EntryUndo, Ticks, Debounce<u8>, Throttle<u8>,
        Lent<u8>, Lent<Box<dyn Fn() + Send + Sync>>,
    );
    // The future of `next.run` lends a boxed future: it moves between threads and is not shared.
    assert_all!("Send Unpin": Run<'static, u8, u8>, BoxFuture<'static, u8>, LentCall<u8>, LentCall<Local>);
}

#[test]
fn what_is_looked_at_is_plain_data() {
    assert_all!("Send Sync Unpin UnwindSafe":
        Inspection, FiberNode, EffectNode, NeedNode, Disposed, StillRunning, HeldService, Unmet,
        meta::ServiceChange, meta::Dispatched, meta::Report,
    );
    assert_all!("Send Sync Unpin": meta::StatusChange, meta::Registration, meta::Configuring, meta::Updating);
}

#[test]
fn errors_cross_threads() {
    assert_all!("Send Sync Unpin UnwindSafe":
        ContextDisposed, Gone, Inactive, ListenError, ListenerPanic, NoRuntime, ProvideError, ScopeError, Duplicate,
        Refused,
    );
    assert_all!("Send Sync Unpin":
        BoxError, SharedError, EffectError, Failure, Failures, FiberError, MountError, UpdateError, LayerError<Gone>,
    );
}

#[cfg(feature = "catalog")]
#[test]
fn a_catalogued_plugin_crosses_threads() {
    assert_all!("Send Sync Unpin UnwindSafe": catalog::NeedInfo);
    assert_all!("Send Sync Unpin": catalog::DynPlugin);
}

const ALL: Parallel<u8> = Parallel::new("all");
const ASK: Serial<u8, u8> = Serial::new("ask");
const WORK: Waterfall<u8, u8> = Waterfall::new("work");

fn spawnable<T>(_future: impl Future<Output = T> + Send) {}

/// Compiling it is the test; the one below runs it.
async fn every_future(app: &App, fiber: &Fiber, effect: &Effect, scope: &Scope, ticks: &mut Ticks) {
    let (ctx, n) = (scope.context(), &mut 1);
    spawnable(ctx.parallel(ALL, &1));
    spawnable(ctx.serial(ASK, &1));
    spawnable(ctx.waterfall(WORK, n, &(), async |_, n| *n));
    spawnable(ctx.at(scope).parallel(ALL, &1));
    spawnable(ctx.at(scope).serial(ASK, &1));
    spawnable(ctx.at(scope).waterfall(WORK, n, &(), async |_, n| *n));
    spawnable(ctx.effect_with("effect", async |ctx| {
        ctx.on(ALL).run(async |_| Ok(()))?;
        Ok(async move || ())
    }));
    spawnable(ctx.sleep(Duration::ZERO));
    spawnable(ticks.next());
    spawnable(effect.dispose());
    spawnable(fiber.ready());
    spawnable(fiber.until(State::Active));
    spawnable(fiber.update(1u8));
    spawnable(fiber.restart());
    spawnable(fiber.dispose());
    spawnable(scope.close());
    if let Ok((_, lent)) = ctx.lend("code", |n: u8| n) {
        spawnable(async move { lent.start(|code| Box::pin(std::future::ready(code(1))))?.await });
    }
    spawnable(app.quiet());
    spawnable(app.shutdown());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_futures_of_the_host_run_on_any_thread() {
    let app = Arc::new(App::new().unwrap());
    let scope = app.scope().unwrap();
    let mut ticks = app.ticks(Duration::from_secs(1)).unwrap();
    let effect = app.effect("effect", async || ()).unwrap();
    every_future(&app, &app.fiber(), &effect, &scope, &mut ticks).await;
    app.on(WORK).run(async |n, next| next.run(n).await + 1).unwrap();
    let host = app.clone();
    let task = tokio::spawn(async move { host.waterfall(WORK, &mut 1, &(), async |_, n| *n).await });
    assert_eq!(task.await.unwrap(), Ok(2));
    assert!(tokio::spawn(async move { app.shutdown().await }).await.unwrap().is_clean());
}
