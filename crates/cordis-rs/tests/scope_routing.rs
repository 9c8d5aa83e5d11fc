//! Who hears a dispatch at a scope: unscoped listeners and those of the scope and its ancestors, in every mode.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support_scopes;

use cordis::{
    Announce, App, Bail, BoxError, Context, Emit, Parallel, ScopeKey, Serial, Waterfall, define,
    keys::LISTENER,
};
use support_scopes::Log;

/// What the routed keys carry: their subject, and who has heard of it.
#[derive(Clone)]
struct Call {
    scope: Option<ScopeKey>,
    log: Log,
}

impl Call {
    fn scope(&self) -> Option<&ScopeKey> {
        self.scope.as_ref()
    }
}

const PLAIN: Emit<Log> = Emit::new("plain");
const EMIT: Emit<Call> = Emit::new("emit").scoped_by(Call::scope);
const ANNOUNCE: Announce<Call> = Announce::new("announce").scoped_by(Call::scope);
const BAIL: Bail<Call, u32> = Bail::new("bail").scoped_by(Call::scope);
const PARALLEL: Parallel<Call> = Parallel::new("parallel").scoped_by(Call::scope);
const SERIAL: Serial<Call, u32> = Serial::new("serial").scoped_by(Call::scope);
const WATERFALL: Waterfall<Call, u32> = Waterfall::new("waterfall").scoped_by(Call::scope);

fn listen(ctx: &Context, name: &'static str) {
    ctx.on(PLAIN).run(move |log| log.say(name)).unwrap();
}

/// Listens in every mode; `parallel` and the like suspend once, so that they go through their slow path.
fn listen_to_all(ctx: &Context, name: &'static str) {
    ctx.on(EMIT).with(name).run(|name, call| call.log.say(name)).unwrap();
    ctx.on(ANNOUNCE)
        .with(name)
        .run(|name, call| {
            call.log.say(name);
            Ok(())
        })
        .unwrap();
    ctx.on(BAIL)
        .with(name)
        .run(|name, call| {
            call.log.say(name);
            None
        })
        .unwrap();
    ctx.on(PARALLEL)
        .with(name)
        .run(async |name, call| {
            tokio::task::yield_now().await;
            call.log.say(name);
            Ok(())
        })
        .unwrap();
    ctx.on(SERIAL)
        .with(name)
        .run(async |name, call| {
            tokio::task::yield_now().await;
            call.log.say(name);
            Ok(None)
        })
        .unwrap();
    ctx.on(WATERFALL)
        .with(name)
        .run(async |name, call, next| {
            tokio::task::yield_now().await;
            call.log.say(name);
            next.run(call).await + 1
        })
        .unwrap();
}

/// Dispatches in every mode, and gives who heard it, which must be the same in all.
async fn heard_by_all(ctx: &Context, scope: Option<&ScopeKey>) -> Vec<String> {
    let log = Log::default();
    let mut call = Call { scope: scope.cloned(), log: log.clone() };
    ctx.emit(EMIT, &call);
    let heard = log.take();
    ctx.announce(ANNOUNCE, &call).unwrap();
    assert_eq!(log.take(), heard, "announce");
    assert_eq!(ctx.bail(BAIL, &call), None);
    assert_eq!(log.take(), heard, "bail");
    ctx.parallel(PARALLEL, &call).await.unwrap();
    assert_eq!(log.take(), heard, "parallel");
    assert_eq!(ctx.serial(SERIAL, &call).await.unwrap(), None);
    assert_eq!(log.take(), heard, "serial");
    // Each listener that is in the chain counts itself.
    let count = ctx.waterfall(WATERFALL, &mut call, &(), async |_: &(), _: &mut Call| 0).await.unwrap();
    assert_eq!(log.take(), heard, "waterfall");
    assert_eq!(count as usize, heard.len());
    heard
}

fn heard(ctx: &Context, scope: Option<&ScopeKey>) -> Vec<String> {
    let log = Log::default();
    match scope {
        Some(scope) => ctx.at(scope).emit(PLAIN, &log),
        None => ctx.emit(PLAIN, &log),
    }
    log.take()
}

// spec: scope/S14, scope/S16, scope/S21, scope/S23, scope/S48
#[tokio::test]
async fn events_flow_up_and_never_down_or_sideways_in_every_mode() {
    let app = App::new().unwrap();
    let root = app.scope().unwrap();
    let middle = app.scope_under(root.key()).unwrap();
    let leaf = app.scope_under(middle.key()).unwrap();
    let sibling = app.scope_under(middle.key()).unwrap();
    listen_to_all(leaf.context(), "leaf");
    listen_to_all(&app, "unscoped");
    listen_to_all(root.context(), "root");
    listen_to_all(sibling.context(), "sibling");
    listen_to_all(middle.context(), "middle");
    assert_eq!(heard_by_all(&app, Some(leaf.key())).await, ["leaf", "unscoped", "root", "middle"]);
    assert_eq!(heard_by_all(&app, Some(sibling.key())).await, ["unscoped", "root", "sibling", "middle"]);
    assert_eq!(heard_by_all(&app, Some(middle.key())).await, ["unscoped", "root", "middle"]);
    assert_eq!(heard_by_all(&app, Some(root.key())).await, ["unscoped", "root"]);
    assert_eq!(heard_by_all(&app, Some(&ScopeKey::new())).await, ["unscoped"]);
    assert_eq!(heard_by_all(&app, None).await, ["unscoped"]);
}

// spec: scope/S22
#[tokio::test]
async fn order_is_that_of_registration_across_scopes() {
    let app = App::new().unwrap();
    let root = app.scope().unwrap();
    let leaf = app.scope_under(root.key()).unwrap();
    listen_to_all(root.context(), "1");
    listen_to_all(leaf.context(), "2");
    listen_to_all(&app, "3");
    listen_to_all(leaf.context(), "4");
    listen_to_all(root.context(), "5");
    listen_to_all(&app, "6");
    assert_eq!(heard_by_all(&app, Some(leaf.key())).await, ["1", "2", "3", "4", "5", "6"]);
}

// spec: scope/S22, cordis-core/C105
#[tokio::test]
async fn prepended_listeners_come_first_whatever_their_scope() {
    let app = App::new().unwrap();
    let root = app.scope().unwrap();
    let leaf = app.scope_under(root.key()).unwrap();
    let prepend = |ctx: &Context, name: &'static str| {
        ctx.on(PLAIN).prepend().run(move |log| log.say(name)).unwrap();
        ctx.on(WATERFALL)
            .prepend()
            .with(name)
            .run(async |name, call, next| {
                call.log.say(name);
                next.run(call).await
            })
            .unwrap();
    };
    listen(&app, "plain");
    prepend(leaf.context(), "leaf");
    prepend(&app, "unscoped");
    prepend(root.context(), "root");
    prepend(leaf.context(), "leaf again");
    let prepended = ["leaf again", "root", "unscoped", "leaf"];
    assert_eq!(heard(&app, Some(leaf.key())), [&prepended[..], &["plain"]].concat());
    assert_eq!(heard(&app, Some(root.key())), ["root", "unscoped", "plain"]);
    let mut call = Call { scope: Some(leaf.key().clone()), log: Log::default() };
    app.waterfall(WATERFALL, &mut call, &(), async |_: &(), _: &mut Call| 0).await.unwrap();
    assert_eq!(call.log.take(), prepended);
}

// spec: scope/S17, scope/S46
#[tokio::test]
async fn a_global_listener_hears_every_scope_and_ends_with_its_own() {
    let app = App::new().unwrap();
    let (scope, other) = (app.scope().unwrap(), app.scope().unwrap());
    listen(&app, "unscoped");
    scope.context().on(PLAIN).global().run(|log| log.say("global")).unwrap();
    listen(scope.context(), "scoped");
    scope.context().on(PLAIN).global().prepend().run(|log| log.say("first")).unwrap();
    assert_eq!(heard(&app, None), ["first", "unscoped", "global"]);
    assert_eq!(heard(&app, Some(other.key())), ["first", "unscoped", "global"]);
    assert_eq!(heard(&app, Some(scope.key())), ["first", "unscoped", "global", "scoped"]);
    scope.close().await;
    assert_eq!(heard(&app, None), ["unscoped"]);
    assert_eq!(heard(&app, Some(scope.key())), ["unscoped"]);
}

// spec: scope/S19
#[tokio::test]
async fn one_dispatcher_serves_any_number_of_dispatches() {
    let app = App::new().unwrap();
    let scope = app.scope().unwrap();
    let log = Log::default();
    let at = app.at(scope.key());
    at.emit(PLAIN, &log);
    listen(scope.context(), "scoped");
    at.emit(PLAIN, &log);
    assert_eq!(log.take(), ["scoped"]);
    scope.close().await;
    at.emit(PLAIN, &log);
    assert_eq!(log.take(), [""; 0]);
}

// spec: scope/S20
#[tokio::test]
async fn where_a_dispatch_is_made_does_not_matter() {
    let app = App::new().unwrap();
    let (scope, other) = (app.scope().unwrap(), app.scope().unwrap());
    listen_to_all(scope.context(), "scoped");
    listen_to_all(&app, "unscoped");
    listen(scope.context(), "plain scoped");
    listen(&app, "plain unscoped");
    // Through the scope's own context, without naming the scope: not scoped.
    assert_eq!(heard(scope.context(), None), ["plain unscoped"]);
    assert_eq!(heard_by_all(scope.context(), None).await, ["unscoped"]);
    // Through another scope's context: the subject counts.
    assert_eq!(heard(other.context(), Some(scope.key())), ["plain scoped", "plain unscoped"]);
    assert_eq!(heard_by_all(other.context(), Some(scope.key())).await, ["scoped", "unscoped"]);
}

// spec: scope/S24, scope/S42
#[tokio::test]
async fn the_subject_of_the_key_decides_wherever_it_is_dispatched() {
    let app = App::new().unwrap();
    let (scope, other) = (app.scope().unwrap(), app.scope().unwrap());
    listen_to_all(scope.context(), "scoped");
    listen_to_all(other.context(), "other");
    listen_to_all(&app, "unscoped");
    let log = Log::default();
    let mut call = Call { scope: Some(scope.key().clone()), log: log.clone() };
    let wrong = app.at(other.key());
    wrong.emit(EMIT, &call);
    wrong.announce(ANNOUNCE, &call).unwrap();
    wrong.bail(BAIL, &call);
    wrong.parallel(PARALLEL, &call).await.unwrap();
    wrong.serial(SERIAL, &call).await.unwrap();
    wrong.waterfall(WATERFALL, &mut call, &(), async |_: &(), _: &mut Call| 0).await.unwrap();
    assert_eq!(log.take(), ["scoped", "unscoped"].repeat(6));
    // A payload without a subject is unscoped, even when dispatched at a scope.
    app.at(other.key()).emit(EMIT, &Call { scope: None, log: log.clone() });
    assert_eq!(log.take(), ["unscoped"]);
}

// spec: scope/S45
#[tokio::test]
async fn derived_contexts_and_plugins_below_a_scope_listen_for_it() {
    async fn nested(ctx: &Context, _: (), _: &()) -> Result<(), BoxError> {
        listen(ctx, "grandchild");
        Ok(())
    }
    async fn child(ctx: &Context, _: (), _: &()) -> Result<(), BoxError> {
        listen(ctx, "child");
        ctx.plugin(define("nested").run(nested), ())?.ready().await?;
        Ok(())
    }
    const NUMBER: cordis::Key<u32> = cordis::Key::new("number");
    let app = App::new().unwrap();
    let scope = app.scope().unwrap();
    listen(&scope.context().isolate(NUMBER), "derived");
    let fiber = scope.context().plugin(define("child").run(child), ()).unwrap();
    fiber.ready().await.unwrap();
    assert_eq!(heard(&app, Some(scope.key())), ["derived", "child", "grandchild"]);
    assert_eq!(heard(&app, None), [""; 0]);
    // A context that an observer takes from the fiber has the scope too.
    listen(&fiber.context(), "observer");
    assert_eq!(heard(&app, Some(scope.key())), ["derived", "child", "grandchild", "observer"]);
    fiber.dispose().await;
    assert_eq!(heard(&app, Some(scope.key())), ["derived"]);
}

// spec: scope/S15, scope/S49
#[tokio::test]
async fn the_next_dispatch_follows_a_rebinding() {
    let app = App::new().unwrap();
    let (first, second) = (app.scope().unwrap(), app.scope().unwrap());
    let leaf = ScopeKey::new();
    let scope = app.scope_for(&leaf).unwrap();
    listen_to_all(first.context(), "first");
    listen_to_all(second.context(), "second");
    listen_to_all(scope.context(), "leaf");
    assert_eq!(heard_by_all(&app, Some(&leaf)).await, ["leaf"]);
    let binding = leaf.bind_parent(first.key()).unwrap();
    assert_eq!(heard_by_all(&app, Some(&leaf)).await, ["first", "leaf"]);
    binding.rebind(second.key()).unwrap();
    assert_eq!(heard_by_all(&app, Some(&leaf)).await, ["second", "leaf"]);
    // An ancestor's own parent counts from the moment it is bound.
    let top = app.scope().unwrap();
    listen_to_all(top.context(), "top");
    drop(second.bind_parent(top.key()).unwrap());
    assert_eq!(heard_by_all(&app, Some(&leaf)).await, ["second", "leaf", "top"]);
}

// spec: scope/S40
#[tokio::test]
async fn an_owner_that_keeps_its_scope_routes_all_of_its_events_there() {
    struct Session {
        scope: Option<ScopeKey>,
        log: Log,
    }
    const EVENT: Emit<Session> = Emit::new("session/event").scoped_by(|session| session.scope.as_ref());
    let app = App::new().unwrap();
    let scope = app.scope().unwrap();
    app.on(EVENT).run(|session| session.log.say("unscoped")).unwrap();
    scope.context().on(EVENT).run(|session| session.log.say("scoped")).unwrap();
    // Entered through a scope's context, and through one without.
    let log = Log::default();
    let [inside, outside] = [scope.context().scope_key(), app.scope_key()]
        .map(|scope| Session { scope: scope.cloned(), log: log.clone() });
    app.emit(EVENT, &inside);
    assert_eq!(log.take(), ["unscoped", "scoped"]);
    scope.context().emit(EVENT, &outside);
    assert_eq!(log.take(), ["unscoped"]);
}

// spec: scope/S21
#[tokio::test]
async fn an_answer_of_an_inadmissible_listener_is_never_heard() {
    let app = App::new().unwrap();
    let (scope, other) = (app.scope().unwrap(), app.scope().unwrap());
    other.context().on(BAIL).run(|_| Some(1)).unwrap();
    other.context().on(SERIAL).run(async |_| Ok(Some(1))).unwrap();
    other.context().on(ANNOUNCE).run(|_| Err("refused".into())).unwrap();
    other.context().on(PARALLEL).run(async |_| Err("refused".into())).unwrap();
    other.context().on(WATERFALL).run(async |_, _| 1).unwrap();
    for subject in [Some(scope.key()), None] {
        let mut call = Call { scope: subject.cloned(), log: Log::default() };
        assert_eq!(app.bail(BAIL, &call), None);
        assert_eq!(app.serial(SERIAL, &call).await.unwrap(), None);
        assert!(app.announce(ANNOUNCE, &call).is_ok());
        assert!(app.parallel(PARALLEL, &call).await.is_ok());
        let inner = async |_: &(), _: &mut Call| 0;
        assert_eq!(app.waterfall(WATERFALL, &mut call, &(), inner).await.unwrap(), 0);
    }
    let call = Call { scope: Some(other.key().clone()), log: Log::default() };
    assert_eq!(app.bail(BAIL, &call), Some(1));
    assert_eq!(app.announce(ANNOUNCE, &call).unwrap_err().to_string(), "refused");
}

// spec: scope/S17
#[tokio::test]
async fn observers_are_told_that_a_registration_is_global() {
    let app = App::new().unwrap();
    let scope = app.scope().unwrap();
    let log = Log::default();
    let said = log.clone();
    app.on(LISTENER)
        .run(move |registration| {
            said.say(registration.global);
            None
        })
        .unwrap();
    listen(scope.context(), "scoped");
    scope.context().on(PLAIN).global().run(|log| log.say("global")).unwrap();
    assert_eq!(log.take(), ["false", "true"]);
}
