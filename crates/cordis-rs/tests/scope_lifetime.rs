//! A scope owns what is registered through its context, and ends with it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support_scopes;

use cordis::{
    App, BoxError, Context, Emit, Handle, Key, ListenError, MountError, ProvideError, Realm, Scope,
    ScopeError, ScopeKey, State, define,
};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use support_scopes::Log;
use tokio::sync::Notify;

const PING: Emit<u32> = Emit::new("ping");
const NUMBER: Key<u32> = Key::new("number");

fn listen(ctx: &Context, log: &Log, name: &'static str) {
    let log = log.clone();
    ctx.on(PING).run(move |n| log.say(format!("{name} {n}"))).unwrap();
}

/// The plugin hands the scope that it opens to whoever mounted it.
type Slot = Arc<Mutex<Option<Scope>>>;

async fn opens_a_scope(ctx: &Context, _: (), slot: &Slot) -> Result<(), BoxError> {
    *slot.lock().unwrap() = Some(ctx.scope()?);
    Ok(())
}

async fn listens(ctx: &Context, _: (), log: &Log) -> Result<(), BoxError> {
    listen(ctx, log, "child");
    Ok(())
}

// spec: scope/S1
#[tokio::test]
async fn a_scope_is_an_empty_fiber_below_the_context_that_opened_it() {
    let app = App::new().unwrap();
    let scope = app.scope().unwrap();
    assert_ne!(scope.fiber(), app.fiber());
    assert_eq!(scope.context().scope_key(), Some(scope.key()));
    assert_eq!(app.scope_key(), None);
    let tree = app.inspect().fiber;
    assert_eq!(tree.effects.len(), 1);
    let below = tree.effects[0].fiber.as_ref().unwrap();
    assert_eq!((below.uid, below.state, below.effects.len()), (scope.fiber().uid(), State::Active, 0));
}

// spec: scope/S1
#[tokio::test]
async fn an_inactive_context_opens_no_scope() {
    let app = App::new().unwrap();
    let scope = app.scope().unwrap();
    scope.close().await;
    let refused = scope.context().scope().unwrap_err();
    assert_eq!((refused.action, refused.plugin), ("open a scope", format!("scope#{}", scope.fiber().uid())));
    assert!(scope.context().scope_for(&ScopeKey::new()).is_err());
    assert!(matches!(scope.context().scope_under(&ScopeKey::new()), Err(cordis::Inactive { .. })));
}

// spec: scope/S2
#[tokio::test]
async fn a_scope_is_usable_before_anything_is_awaited() {
    async fn body(ctx: &Context, _: (), log: &Log) -> Result<(), BoxError> {
        let scope = ctx.scope()?;
        assert_eq!(ctx.fiber().state(), State::Loading);
        listen(scope.context(), log, "scoped");
        ctx.at(scope.key()).emit(PING, &1);
        scope.close().await;
        Ok(())
    }
    let app = App::new().unwrap();
    let log = Log::default();
    app.plugin(define("early").run(body), log.clone()).unwrap().ready().await.unwrap();
    assert_eq!(log.take(), ["scoped 1"]);
}

// spec: scope/S3
#[tokio::test]
async fn a_parent_given_at_the_start_is_bound_already_and_for_good() {
    let app = App::new().unwrap();
    let (parent, other) = (ScopeKey::new(), ScopeKey::new());
    let scope = app.scope_under(&parent).unwrap();
    assert_eq!(scope.key().parent(), Some(parent.clone()));
    assert_eq!(scope.bind_parent(&other).unwrap_err(), ScopeError::Bound { scope: scope.id() });
    assert_eq!(scope.key().parent(), Some(parent));
}

// spec: scope/S4, scope/S39
#[tokio::test]
async fn closing_rolls_back_everything_registered_through_the_context() {
    let app = App::new().unwrap();
    let log = Log::default();
    let token = Arc::new(());
    let scope = app.scope().unwrap();
    let ctx = scope.context();
    listen(ctx, &log, "scoped");
    let held = token.clone();
    ctx.on(PING).run(move |_| drop(held.clone())).unwrap();
    let (said, held) = (log.clone(), token.clone());
    ctx.effect("bye", async move || {
        said.say("bye");
        drop(held);
    })
    .unwrap();
    let held = token.clone();
    ctx.spawn("idle", async move {
        let _held = held;
        std::future::pending().await
    })
    .unwrap();
    ctx.provide(NUMBER, Arc::new(7)).unwrap();
    let child = ctx.plugin(define("child").run(listens), log.clone()).unwrap();
    child.ready().await.unwrap();
    app.at(scope.key()).emit(PING, &1);
    app.emit(PING, &2);
    assert_eq!(log.take(), ["scoped 1", "child 1"]);

    assert!(scope.close().await.is_clean());
    assert_eq!(log.take(), ["bye"]);
    assert_eq!((child.state(), scope.fiber().state()), (State::Disposed, State::Disposed));
    assert_eq!(Arc::strong_count(&token), 1);
    assert_eq!(ctx.listeners(PING), 0);
    assert!(app.get(NUMBER).is_none());
    app.at(scope.key()).emit(PING, &3);
    assert_eq!(log.take(), [""; 0]);
    assert_eq!(app.inspect().fiber.effects, []);
}

// spec: scope/S5
#[tokio::test]
async fn services_are_those_of_the_context_that_opened_the_scope() {
    async fn reads(_: &Context, number: Handle<u32>, log: &Log) -> Result<(), BoxError> {
        log.say(*number.get()?);
        Ok(())
    }
    let app = App::new().unwrap();
    let log = Log::default();
    let realm = Realm::new();
    let inside = app.isolate_with(NUMBER, &realm);
    app.provide(NUMBER, Arc::new(1)).unwrap();
    inside.provide(NUMBER, Arc::new(2)).unwrap();
    let scope = inside.scope().unwrap();
    assert_eq!(*scope.context().get(NUMBER).unwrap().get().unwrap(), 2);
    // Whoever holds the scope mounts there with the opener's view, not with its own.
    let fiber = scope.context().plugin(define("reads").needs(NUMBER).run(reads), log.clone()).unwrap();
    fiber.ready().await.unwrap();
    assert_eq!(log.take(), ["2"]);
}

async fn racing_closes_end_together() {
    let app = App::new().unwrap();
    let log = Log::default();
    let scope = Arc::new(app.scope().unwrap());
    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (said, tell, wait) = (log.clone(), begun.clone(), go.clone());
    scope
        .context()
        .effect("slow", async move || {
            tell.notify_one();
            wait.notified().await;
            said.say("slow over");
        })
        .unwrap();
    // The raw disposal comes first; closes join it.
    scope.fiber().cancel();
    let closes: Vec<_> = (0..3)
        .map(|i| {
            let (scope, log) = (scope.clone(), log.clone());
            tokio::spawn(async move {
                let report = scope.close().await;
                log.say(format!("close {i}"));
                report
            })
        })
        .collect();
    begun.notified().await;
    tokio::task::yield_now().await;
    assert_eq!(log.take(), [""; 0]);
    assert!(closes.iter().all(|close| !close.is_finished()));
    go.notify_one();
    for close in closes {
        assert!(close.await.unwrap().is_clean());
    }
    let mut lines = log.take();
    assert_eq!(lines.remove(0), "slow over");
    lines.sort();
    assert_eq!(lines, ["close 0", "close 1", "close 2"]);
    assert!(scope.close().await.is_clean());
    assert!(scope.fiber().dispose().await.is_clean());
    assert_eq!(log.take(), [""; 0]);
}

// spec: scope/S6, scope/S51
#[tokio::test]
async fn repeated_and_racing_closes_wait_for_the_same_end() {
    racing_closes_end_together().await;
}

// spec: scope/S6, scope/S51
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repeated_and_racing_closes_wait_for_the_same_end_on_threads() {
    racing_closes_end_together().await;
}

// spec: scope/S7
#[tokio::test]
async fn a_scope_is_torn_down_at_its_place_in_a_composite_effect() {
    let app = App::new().unwrap();
    let log = Log::default();
    let kept: Slot = Slot::default();
    let leaves = |log: &Log, what: &'static str| {
        let log = log.clone();
        async move || {
            log.say(format!("{what} begins"));
            tokio::task::yield_now().await;
            log.say(format!("{what} ends"));
        }
    };
    let (said, slot) = (log.clone(), kept.clone());
    let effect = app
        .effect_with("composite", async move |e| {
            e.effect("before", leaves(&said, "before"))?;
            let scope = e.scope()?;
            scope.context().effect("inside", leaves(&said, "inside"))?;
            e.effect("after", leaves(&said, "after"))?;
            *slot.lock().unwrap() = Some(scope);
            Ok(())
        })
        .await
        .unwrap();
    effect.dispose().await;
    let order =
        ["after begins", "after ends", "inside begins", "inside ends", "before begins", "before ends"];
    assert_eq!(log.take(), order);
}

// spec: scope/S8
#[tokio::test]
async fn nothing_is_registered_through_a_closed_scope() {
    let app = App::new().unwrap();
    let log = Log::default();
    let scope = app.scope().unwrap();
    let ctx = scope.context().clone();
    scope.close().await;
    assert!(matches!(ctx.on(PING).run(|_| ()), Err(ListenError::Inactive(_))));
    assert!(matches!(ctx.on(PING).global().run(|_| ()), Err(ListenError::Inactive(_))));
    assert!(matches!(ctx.provide(NUMBER, Arc::new(1)), Err(ProvideError::Inactive(_))));
    assert!(matches!(ctx.plugin(define("late").run(listens), log.clone()), Err(MountError::Inactive(_))));
    assert!(ctx.effect("late", async || ()).is_err());
    assert!(ctx.spawn("late", async {}).is_err());
    assert!(ctx.scope().is_err());
    assert!(ctx.get(NUMBER).is_none());
    // Dispatching still works: it registers nothing.
    app.at(scope.key()).emit(PING, &1);
    ctx.emit(PING, &1);
    assert_eq!((ctx.listeners(PING), app.listeners(PING)), (0, 0));
}

// spec: scope/S9
#[tokio::test]
async fn a_scope_ends_with_the_plugin_that_opened_it() {
    let app = App::new().unwrap();
    let log = Log::default();
    let slot = Slot::default();
    let fiber = app.plugin(define("opens").run(opens_a_scope), slot.clone()).unwrap();
    fiber.ready().await.unwrap();
    let scope = slot.lock().unwrap().take().unwrap();
    listen(scope.context(), &log, "scoped");
    app.at(scope.key()).emit(PING, &1);
    fiber.dispose().await;
    assert_eq!(scope.fiber().state(), State::Disposed);
    app.at(scope.key()).emit(PING, &2);
    assert_eq!(log.take(), ["scoped 1"]);
}

// spec: scope/S10
#[tokio::test]
async fn two_scopes_of_one_key_share_visibility_and_not_lifetime() {
    let app = App::new().unwrap();
    let log = Log::default();
    let first = app.scope().unwrap();
    let second = app.scope_for(first.key()).unwrap();
    assert_eq!(first.key(), second.key());
    assert_ne!(first.fiber(), second.fiber());
    listen(first.context(), &log, "first");
    listen(second.context(), &log, "second");
    app.at(first.key()).emit(PING, &1);
    first.close().await;
    app.at(first.key()).emit(PING, &2);
    assert_eq!(log.take(), ["first 1", "second 1", "second 2"]);
    assert_eq!(second.fiber().state(), State::Active);
}

// spec: scope/S10, scope/S38
#[tokio::test]
async fn derived_contexts_inherit_the_scope_and_the_nearest_one_wins() {
    let app = App::new().unwrap();
    let outer = app.scope().unwrap();
    let inner = outer.context().scope().unwrap();
    assert_eq!(app.scope_key(), None);
    assert_eq!(outer.context().isolate(NUMBER).scope_key(), Some(outer.key()));
    assert_eq!(inner.context().scope_key(), Some(inner.key()));
    assert_eq!(inner.context().isolate(NUMBER).scope_key(), Some(inner.key()));
    assert_eq!(inner.context().root().scope_key(), None);
}

// spec: scope/S41
#[tokio::test]
async fn a_scope_opened_through_another_is_owned_by_it_and_not_linked_to_it() {
    let app = App::new().unwrap();
    let log = Log::default();
    let outer = app.scope().unwrap();
    let inner = outer.context().scope().unwrap();
    assert_eq!(inner.key().parent(), None);
    listen(outer.context(), &log, "outer");
    listen(inner.context(), &log, "inner");
    app.at(inner.key()).emit(PING, &1);
    assert_eq!(log.take(), ["inner 1"]);
    outer.close().await;
    assert_eq!(inner.fiber().state(), State::Disposed);
}

// spec: scope/S44
#[tokio::test]
async fn a_service_provided_through_a_scope_is_seen_everywhere() {
    let app = App::new().unwrap();
    let (scope, other) = (app.scope().unwrap(), app.scope().unwrap());
    scope.context().provide(NUMBER, Arc::new(3)).unwrap();
    assert_eq!(*app.get(NUMBER).unwrap().get().unwrap(), 3);
    assert_eq!(*other.context().get(NUMBER).unwrap().get().unwrap(), 3);
}

// spec: scope/S43
#[tokio::test]
async fn listeners_of_a_scope_hear_everything_until_its_teardown_reaches_them() {
    let app = App::new().unwrap();
    let log = Log::default();
    let scope = app.scope().unwrap();
    listen(scope.context(), &log, "scoped");
    // Registered after the listener, so undone before it.
    let (ctx, key) = (app.root(), scope.key().clone());
    scope.context().effect("last words", async move || ctx.at(&key).emit(PING, &1)).unwrap();
    scope.close().await;
    app.at(scope.key()).emit(PING, &2);
    assert_eq!(log.take(), ["scoped 1"]);
    // The identity is free again.
    let again = app.scope_for(scope.key()).unwrap();
    listen(again.context(), &log, "again");
    app.at(scope.key()).emit(PING, &3);
    assert_eq!(log.take(), ["again 3"]);
}

// spec: design/P1
#[tokio::test]
async fn dropping_a_scope_requests_its_close() {
    let app = App::new().unwrap();
    let log = Log::default();
    let scope = app.scope().unwrap();
    let (key, fiber) = (scope.key().clone(), scope.fiber());
    listen(scope.context(), &log, "scoped");
    let said = log.clone();
    scope.context().effect("bye", async move || said.say("bye")).unwrap();
    drop(scope);
    tokio::time::timeout(Duration::from_secs(60), fiber.until(State::Disposed)).await.unwrap();
    app.at(&key).emit(PING, &1);
    assert_eq!(log.take(), ["bye"]);
    assert_eq!(app.inspect().fiber.effects, []);
}
