//! Scopes that are closed, dropped, moved or filled by the very listeners that they hold.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support_scopes;

use cordis::{App, Emit, Layer, Layers, NamedEntries, Scope, ScopeKey, Serial, State, Waterfall};
use futures_util::FutureExt;
use std::{
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    time::Duration,
};
use support_scopes::Log;
use tokio::sync::Notify;

const PING: Emit<u32> = Emit::new("ping");
const ASK: Serial<u32, u32> = Serial::new("ask");
const WRAP: Waterfall<Log, u32> = Waterfall::new("wrap");

/// A scope that its own listeners can reach.
type Own = Arc<OnceLock<Arc<Scope>>>;

fn own(app: &App) -> (Own, Arc<Scope>) {
    let (slot, scope) = (Own::default(), Arc::new(app.scope().unwrap()));
    slot.set(scope.clone()).unwrap();
    (slot, scope)
}

// spec: design/P3, cases/L9
#[tokio::test]
async fn a_sync_listener_may_close_its_own_scope() {
    let app = App::new().unwrap();
    let log = Log::default();
    let (slot, scope) = own(&app);
    let (said, token) = (log.clone(), Arc::new(()));
    let held = token.clone();
    scope
        .context()
        .on(PING)
        .run(move |n| {
            let _held = &held;
            // It only requests: a listener cannot wait for itself.
            assert!(slot.get().unwrap().close().now_or_never().unwrap().requested);
            said.say(n);
        })
        .unwrap();
    app.at(scope.key()).emit(PING, &1);
    assert_eq!(log.take(), ["1"]);
    scope.close().await;
    app.at(scope.key()).emit(PING, &2);
    assert_eq!(log.take(), [""; 0]);
    assert_eq!((scope.fiber().state(), Arc::strong_count(&token)), (State::Disposed, 1));
}

async fn an_async_listener_closes_its_own_scope() {
    let app = App::new().unwrap();
    let (slot, scope) = own(&app);
    let listener = async |slot: &Own, n: &u32| {
        slot.get().unwrap().close().await;
        tokio::task::yield_now().await;
        Ok(Some(*n + 1))
    };
    scope.context().on(ASK).with(slot).run(listener).unwrap();
    assert_eq!(app.at(scope.key()).serial(ASK, &1).await.unwrap(), Some(2));
    assert!(scope.close().await.is_clean());
    assert_eq!(app.at(scope.key()).serial(ASK, &1).await.unwrap(), None);
}

// spec: design/P3, cases/L9
#[tokio::test]
async fn an_async_listener_may_close_its_own_scope() {
    an_async_listener_closes_its_own_scope().await;
}

// spec: design/P3, cases/L9
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_async_listener_may_close_its_own_scope_on_threads() {
    an_async_listener_closes_its_own_scope().await;
}

// spec: cases/L9
#[tokio::test]
async fn a_disposer_may_close_the_scope_that_it_belongs_to() {
    let app = App::new().unwrap();
    let log = Log::default();
    let (slot, scope) = own(&app);
    let said = log.clone();
    scope
        .context()
        .effect("closes", async move || {
            slot.get().unwrap().close().await;
            said.say("closed");
        })
        .unwrap();
    assert!(scope.close().await.is_clean());
    assert_eq!(log.take(), ["closed"]);
}

// spec: cases/L7
#[tokio::test(start_paused = true)]
async fn scopes_that_wait_for_each_other_end_by_the_limit_and_are_named() {
    let app = App::new().unwrap();
    let ((first_slot, first), (second_slot, second)) = (own(&app), own(&app));
    first.context().effect("waits", async move || drop(second_slot.get().unwrap().close().await)).unwrap();
    second.context().effect("waits", async move || drop(first_slot.get().unwrap().close().await)).unwrap();
    let began = tokio::time::Instant::now();
    let (one, two) = tokio::join!(first.close(), second.close());
    assert!(began.elapsed() <= 2 * cordis::DEFAULT_LIMIT);
    assert_eq!((first.fiber().state(), second.fiber().state()), (State::Disposed, State::Disposed));
    let late: Vec<_> = [one, two].into_iter().flat_map(|report| report.still_running).collect();
    assert!(!late.is_empty());
    let plugins = [&first, &second].map(|scope| format!("scope#{}", scope.fiber().uid()));
    assert!(late.iter().all(|late| late.step == "waits" && plugins.contains(&late.plugin)), "{late:?}");
}

// spec: design/P1
#[tokio::test]
async fn dropping_a_scope_lets_its_running_listener_end_and_starts_no_other() {
    let app = App::new().unwrap();
    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let scope = app.scope().unwrap();
    let (key, fiber) = (scope.key().clone(), scope.fiber());
    let listener = async |(begun, go): &(Arc<Notify>, Arc<Notify>), n: &u32| {
        begun.notify_one();
        go.notified().await;
        Ok(Some(*n))
    };
    scope.context().on(ASK).with((begun.clone(), go.clone())).run(listener).unwrap();
    let (ctx, at) = (app.root(), key.clone());
    let asking = tokio::spawn(async move { ctx.at(&at).serial(ASK, &7).await.unwrap() });
    begun.notified().await;
    drop(scope);
    let mut gone = Box::pin(fiber.dispose());
    for _ in 0..10 {
        assert!((&mut gone).now_or_never().is_none());
        tokio::task::yield_now().await;
    }
    assert_eq!(app.at(&key).serial(ASK, &8).await.unwrap(), None);
    go.notify_one();
    assert_eq!(asking.await.unwrap(), Some(7));
    assert!(gone.await.is_clean());
}

// spec: design/P1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_close_waits_for_a_sync_listener_on_another_thread() {
    let app = App::new().unwrap();
    let scope = app.scope().unwrap();
    let (tell_begun, begun) = mpsc::channel();
    let (go, wait) = mpsc::channel::<()>();
    let (wait, tell_begun) = (Mutex::new(wait), Mutex::new(tell_begun));
    let ended = Arc::new(AtomicBool::new(false));
    let end = ended.clone();
    scope
        .context()
        .on(PING)
        .run(move |_| {
            tell_begun.lock().unwrap().send(()).unwrap();
            wait.lock().unwrap().recv().unwrap();
            end.store(true, SeqCst);
        })
        .unwrap();
    let (ctx, key) = (app.root(), scope.key().clone());
    let emitting = std::thread::spawn(move || ctx.at(&key).emit(PING, &1));
    begun.recv().unwrap();
    let mut close = Box::pin(scope.close());
    assert!((&mut close).now_or_never().is_none());
    assert!(!ended.load(SeqCst));
    go.send(()).unwrap();
    assert!(close.await.is_clean());
    assert!(ended.load(SeqCst));
    emitting.join().unwrap();
}

// spec: scope/S15
#[tokio::test]
async fn a_running_dispatch_keeps_its_chain_when_the_scope_is_moved() {
    let app = App::new().unwrap();
    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (first, second) = (app.scope().unwrap(), app.scope().unwrap());
    let leaf = ScopeKey::new();
    let binding = leaf.bind_parent(first.key()).unwrap();
    let gate =
        async |(begun, go): &(Arc<Notify>, Arc<Notify>), log: &mut Log, next: cordis::Next<'_, Log, u32>| {
            begun.notify_one();
            go.notified().await;
            next.run(log).await
        };
    app.on(WRAP).with((begun.clone(), go.clone())).run(gate).unwrap();
    for (scope, name) in [(&first, "first"), (&second, "second")] {
        scope
            .context()
            .on(WRAP)
            .with(name)
            .run(async |name, log, next| {
                log.say(name);
                next.run(log).await
            })
            .unwrap();
    }
    let mut log = Log::default();
    let run = async |log: &mut Log| {
        app.at(&leaf).waterfall(WRAP, log, &(), async |_: &(), _: &mut Log| 0).await.unwrap();
        log.take()
    };
    let moves = async {
        begun.notified().await;
        binding.rebind(second.key()).unwrap();
        go.notify_one();
    };
    let (heard, ()) = tokio::join!(run(&mut log), moves);
    assert_eq!(heard, ["first"]);
    go.notify_one();
    assert_eq!(run(&mut log).await, ["second"]);
}

// spec: cordis-core/C104, design/P1
#[tokio::test]
async fn a_scope_closed_while_a_dispatch_is_suspended_is_not_reached_by_it() {
    let app = App::new().unwrap();
    let log = Log::default();
    let (_, scope) = own(&app);
    app.on(ASK)
        .with(scope.clone())
        .run(async |scope, _| {
            // Not its own scope, so it really waits.
            scope.close().await;
            Ok(None)
        })
        .unwrap();
    scope
        .context()
        .on(ASK)
        .with(log.clone())
        .run(async |log, n| {
            log.say("reached");
            Ok(Some(*n))
        })
        .unwrap();
    assert_eq!(app.at(scope.key()).serial(ASK, &1).await.unwrap(), None);
    assert_eq!(log.take(), [""; 0]);
}

// spec: cases/D2
#[tokio::test]
async fn once_in_a_scope_runs_once_for_that_scope_and_its_descendants() {
    let app = App::new().unwrap();
    let log = Log::default();
    let parent = app.scope().unwrap();
    let (leaf, other) = (app.scope_under(parent.key()).unwrap(), app.scope().unwrap());
    let (said, ctx, key) = (log.clone(), app.root(), leaf.key().clone());
    parent
        .context()
        .on(PING)
        .once()
        .run(move |n| {
            said.say(n);
            ctx.at(&key).emit(PING, &(n + 100));
        })
        .unwrap();
    app.emit(PING, &1);
    app.at(other.key()).emit(PING, &2);
    assert_eq!((log.take(), parent.context().listeners(PING)), (vec![], 1));
    app.at(leaf.key()).emit(PING, &3);
    app.at(parent.key()).emit(PING, &4);
    assert_eq!((log.take(), parent.context().listeners(PING)), (vec!["3".to_owned()], 0));
}

// spec: cases/D1
#[tokio::test]
async fn a_listener_may_open_fill_and_address_a_scope() {
    let app = App::new().unwrap();
    let log = Log::default();
    let scopes: Arc<Mutex<Vec<Scope>>> = Arc::default();
    let (said, ctx, opened) = (log.clone(), app.root(), scopes.clone());
    app.on(PING)
        .run(move |n| {
            if *n > 2 {
                return;
            }
            let scope = ctx.scope().unwrap();
            let said = said.clone();
            scope.context().on(PING).run(move |n| said.say(format!("scoped {n}"))).unwrap();
            ctx.at(scope.key()).emit(PING, &(n + 1));
            opened.lock().unwrap().push(scope);
        })
        .unwrap();
    app.emit(PING, &1);
    assert_eq!(log.take(), ["scoped 3", "scoped 2"]);
    assert_eq!(scopes.lock().unwrap().len(), 2);
}

// spec: design/P1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_close_no_thread_calls_into_the_scope() {
    let app = App::new().unwrap();
    for _ in 0..200 {
        let scope = app.scope().unwrap();
        let (closed, late) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (see, count) = (closed.clone(), late.clone());
        scope
            .context()
            .on(PING)
            .run(move |_| {
                count.fetch_add(usize::from(see.load(SeqCst)), SeqCst);
            })
            .unwrap();
        let (ctx, key) = (app.root(), scope.key().clone());
        let emitting = std::thread::spawn(move || {
            for n in 0..200 {
                ctx.at(&key).emit(PING, &n);
            }
        });
        scope.close().await;
        // The listener's captures are dropped, so its clone of `closed` is too.
        assert_eq!(Arc::strong_count(&closed), 1);
        closed.store(true, SeqCst);
        emitting.join().unwrap();
        assert_eq!(late.load(SeqCst), 0);
    }
}

struct Names(NamedEntries<u32>);

impl Layer for Names {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

// spec: design/P3
#[tokio::test]
async fn a_change_of_a_layer_may_close_the_scope_that_it_was_made_in() {
    let app = App::new().unwrap();
    let (slot, scope) = own(&app);
    let layers = Layers::new(
        |_| Names(NamedEntries::new()),
        move |_| {
            slot.get().unwrap().fiber().cancel();
            Ok(())
        },
    );
    layers.effect(scope.context(), "names", |names| names.0.insert("a", 1)).unwrap();
    scope.close().await;
    assert!(layers.peek(scope.key()).is_none());
    tokio::time::timeout(Duration::from_secs(60), app.quiet()).await.unwrap();
}
