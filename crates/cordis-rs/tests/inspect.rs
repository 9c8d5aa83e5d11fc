//! What can be seen of an app: the tree of fibers and effects, unmet needs, quiet, and the helpers for tests.

#![cfg(feature = "testing")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support_scopes;

use cordis::{
    App, BoxError, Context, EffectNode, Emit, Handle, Key, State, define,
    testing::{Recorder, TestApp},
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};
use support_scopes::Log;
use tokio::sync::Notify;

const PING: Emit<u32> = Emit::new("ping");
const NUMBER: Key<u32> = Key::new("number");
const OTHER: Key<u32> = Key::new("other");

/// Labels with the labels of their parts, as `a[b, c]`.
fn outline(effects: &[EffectNode]) -> String {
    let of = |effect: &EffectNode| match outline(&effect.children) {
        children if children.is_empty() => effect.label.clone(),
        children => format!("{}[{children}]", effect.label),
    };
    effects.iter().map(of).collect::<Vec<_>>().join(", ")
}

fn leaves(log: &Log, what: &'static str) -> impl FnOnce() -> std::future::Ready<()> + Send + use<> {
    let log = log.clone();
    move || {
        log.say(what);
        std::future::ready(())
    }
}

async fn needs_number(_: &Context, _: Handle<u32>, _: &()) -> Result<(), BoxError> {
    Ok(())
}

async fn provides_number(ctx: &Context, _: (), _: &()) -> Result<(), BoxError> {
    ctx.provide(NUMBER, Arc::new(1))?;
    Ok(())
}

// spec: cordis-core/C71, cordis-core/C67
#[tokio::test]
async fn nested_effects_are_a_tree_and_go_newest_first() {
    let app = App::new().unwrap();
    let log = Log::default();
    let said = log.clone();
    let outer = app
        .effect_with("outer", async move |e| {
            e.effect("one", leaves(&said, "1"))?;
            e.on(PING).run(|_| ())?;
            e.effect("two", leaves(&said, "2"))?;
            let inner = said.clone();
            e.effect_with("inner", async move |e| {
                e.on(PING).run(|_| ())?;
                e.effect("three", leaves(&inner, "3"))?;
                Ok(())
            })
            .await?;
            Ok(())
        })
        .await
        .unwrap();
    app.effect("after", async || ()).unwrap();
    let expected = r#"outer[one, ctx.on("ping"), two, inner[ctx.on("ping"), three]], after"#;
    assert_eq!(outline(&app.inspect().fiber.effects), expected);
    outer.dispose().await;
    assert_eq!(log.take(), ["3", "2", "1"]);
    assert_eq!(outline(&app.inspect().fiber.effects), "after");
}

// spec: cordis-core/C72
#[tokio::test]
async fn effects_of_the_host_have_the_standard_labels() {
    let app = App::new().unwrap();
    let hour = Duration::from_secs(3_600);
    app.on(PING).run(|_| ()).unwrap();
    app.provide(NUMBER, Arc::new(1)).unwrap();
    app.plugin(define("child").run(async |_: &Context, _: (), _: &()| Ok(())), ()).unwrap();
    app.timeout(hour, || ()).unwrap();
    app.interval(hour, || ()).unwrap();
    app.throttle(hour, |_: u32| ()).call(1);
    app.debounce(hour, |_: u32| ()).call(1);
    app.spawn("my task", std::future::pending()).unwrap();
    let expected = r#"ctx.on("ping"), ctx.provide("number"), ctx.plugin(), ctx.timeout(), ctx.interval(), ctx.throttle(), ctx.debounce(), my task"#;
    assert_eq!(outline(&app.inspect().fiber.effects), expected);
}

/// Everything that a tree can show.
async fn sample(app: &App) {
    async fn parent(ctx: &Context, _: (), _: &()) -> Result<(), BoxError> {
        ctx.on(PING).run(|_| ())?;
        ctx.plugin(define("child").needs((NUMBER, OTHER.optional())).run(child), ())?;
        ctx.effect_with("both", async |e| {
            e.on(PING).run(|_| ())?;
            e.effect("undo", async || ())?;
            Ok(())
        })
        .await?;
        Ok(())
    }
    async fn child(_: &Context, _: (Handle<u32>, Option<Handle<u32>>), _: &()) -> Result<(), BoxError> {
        Ok(())
    }
    app.plugin(define("parent").run(parent), ()).unwrap();
    app.plugin(define("provider").run(provides_number), ()).unwrap();
    app.plugin(define("waiting").needs(OTHER).run(needs_number), ()).unwrap();
    app.plugin(define("failing").run(async |_: &Context, _: (), _: &()| Err("no luck".into())), ()).unwrap();
    app.quiet().await;
}

// spec: cordis-core/C71
#[tokio::test]
async fn the_tree_is_shown_with_states_needs_and_errors() {
    let app = App::new().unwrap();
    sample(&app).await;
    let expected = r#"root active
  parent#1 active
    ctx.on("ping")
    child#5 active, needs number of provider#2, needs other? of nobody
    both
      ctx.on("ping")
      undo
  provider#2 active
    ctx.provide("number")
  waiting#3 pending, needs other of nobody
  failing#4 failed, failed: no luck
"#;
    assert_eq!(app.inspect().to_string(), expected);
}

// spec: cordis-core/C71
#[tokio::test]
async fn the_tree_is_data() {
    let app = App::new().unwrap();
    sample(&app).await;
    let tree = app.inspect();
    assert_eq!(tree, tree.clone());
    let node = |name: &str, uid: u64, state: &str, rest: serde_json::Value| {
        let mut node = serde_json::json!({
            "name": name, "uid": uid, "state": state, "error": null, "needs": [], "provides": [], "effects": [],
            "waiting_for": null,
        });
        node.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        node
    };
    let effect = |label: &str, children: serde_json::Value, fiber: serde_json::Value| serde_json::json!({ "label": label, "undoing": false, "children": children, "fiber": fiber });
    let plain = |label: &str| effect(label, serde_json::json!([]), serde_json::Value::Null);
    let plugin = |fiber| effect("ctx.plugin()", serde_json::json!([]), fiber);
    let child = serde_json::json!({ "needs": [
        { "service": "number", "optional": false, "provider": "provider#2" },
        { "service": "other", "optional": true, "provider": null },
    ]});
    let both = serde_json::json!([plain(r#"ctx.on("ping")"#), plain("undo")]);
    let parent = serde_json::json!({ "effects": [
        plain(r#"ctx.on("ping")"#),
        plugin(node("child", 5, "active", child)),
        effect("both", both, serde_json::Value::Null),
    ]});
    let provider =
        serde_json::json!({ "provides": ["number"], "effects": [plain(r#"ctx.provide("number")"#)] });
    let waiting =
        serde_json::json!({ "needs": [{ "service": "other", "optional": false, "provider": null }] });
    let root = serde_json::json!({ "effects": [
        plugin(node("parent", 1, "active", parent)),
        plugin(node("provider", 2, "active", provider)),
        plugin(node("waiting", 3, "pending", waiting)),
        plugin(node("failing", 4, "failed", serde_json::json!({ "error": "no luck" }))),
    ]});
    let expected = serde_json::json!({ "fiber": node("root", 0, "active", root) });
    assert_eq!(serde_json::to_value(&tree).unwrap(), expected);
}

// spec: design/P1
#[tokio::test]
async fn the_tree_names_what_a_load_or_an_unload_waits_for() {
    async fn slow(ctx: &Context, _: (), (go, done): &(Arc<Notify>, Arc<Notify>)) -> Result<(), BoxError> {
        ctx.effect("quick", async || ())?;
        let done = done.clone();
        ctx.effect("slow undo", async move || done.notified().await)?;
        go.notified().await;
        Ok(())
    }
    let app = App::new().unwrap();
    let (go, done) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let fiber = app.plugin(define("slow").run(slow), (go.clone(), done.clone())).unwrap();
    fiber.until(State::Loading).await;
    tokio::task::yield_now().await;
    let of = || fiber.context().inspect().to_string();
    assert_eq!(of(), "slow#1 loading, waiting for its body\n  quick\n  slow undo\n");
    go.notify_one();
    fiber.ready().await.unwrap();
    assert_eq!(of(), "slow#1 active\n  quick\n  slow undo\n");
    fiber.cancel();
    fiber.until(State::Unloading).await;
    tokio::task::yield_now().await;
    assert_eq!(of(), "slow#1 unloading, waiting for slow undo\n  quick\n  slow undo (being undone)\n");
    done.notify_one();
    fiber.until(State::Disposed).await;
    assert_eq!(of(), "slow#1 disposed\n");
}

// spec: design/P2
#[tokio::test]
async fn the_tree_tells_that_a_provider_waits_for_its_dependants() {
    async fn slow(ctx: &Context, _: Handle<u32>, done: &Arc<Notify>) -> Result<(), BoxError> {
        let done = done.clone();
        ctx.effect("slow undo", async move || done.notified().await)?;
        Ok(())
    }
    let app = App::new().unwrap();
    let done = Arc::new(Notify::new());
    let provider = app.plugin(define("provider").run(provides_number), ()).unwrap();
    app.plugin(define("dependant").needs(NUMBER).run(slow), done.clone()).unwrap();
    app.quiet().await;
    provider.cancel();
    provider.until(State::Unloading).await;
    tokio::task::yield_now().await;
    let line = provider.context().inspect().fiber.to_string();
    assert_eq!(line, "provider#1 unloading, waiting for its dependants");
    done.notify_one();
    provider.until(State::Disposed).await;
}

// spec: cordis-core/C80
#[tokio::test]
async fn an_effect_is_shown_until_its_undoing_is_over() {
    let app = App::new().unwrap();
    let go = Arc::new(Notify::new());
    let wait = go.clone();
    let outer = app
        .effect_with("outer", async move |e| {
            e.effect("first", async || ())?;
            e.effect("last", async move || wait.notified().await)?;
            Ok(())
        })
        .await
        .unwrap();
    outer.cancel();
    tokio::task::yield_now().await;
    assert!(!outer.is_live());
    let shown = app.inspect().to_string();
    assert!(shown.contains("outer (being undone)") && shown.contains("last (being undone)"), "{shown}");
    assert!(shown.contains("first\n"), "{shown}");
    go.notify_one();
    outer.dispose().await;
    assert_eq!(app.inspect().fiber.effects, []);
}

// spec: cordis-core/C71
#[tokio::test]
async fn a_context_shows_what_is_below_it_and_a_dead_one_nothing() {
    let app = App::new().unwrap();
    let scope = app.scope().unwrap();
    app.on(PING).run(|_| ()).unwrap();
    scope.context().provide(NUMBER, Arc::new(1)).unwrap();
    let seen = scope.context().inspect().fiber;
    assert_eq!(
        (seen.uid, outline(&seen.effects)),
        (scope.fiber().uid(), r#"ctx.provide("number")"#.to_owned())
    );
    assert_eq!(seen.provides, ["number"]);
    scope.close().await;
    let seen = scope.context().inspect().fiber;
    assert_eq!((seen.state, seen.effects.len(), seen.provides.len()), (State::Disposed, 0, 0));
}

// spec: design/P5
#[tokio::test]
async fn check_tells_why_each_plugin_waits() {
    async fn forever(ctx: &Context, _: (), go: &Arc<Notify>) -> Result<(), BoxError> {
        ctx.provide(OTHER, Arc::new(1))?;
        go.notified().await;
        Ok(())
    }
    const CHECKED: Key<u32> = Key::new("checked");
    let app = App::new().unwrap();
    assert_eq!(app.check(), []);
    let (allowed, go) = (Arc::new(AtomicBool::new(false)), Arc::new(Notify::new()));
    let see = allowed.clone();
    app.provide_when(CHECKED, Arc::new(1), move |_| see.load(SeqCst)).unwrap();
    app.plugin(define("loading").run(forever), go.clone()).unwrap();
    let both = async |_: &Context, _: (Handle<u32>, Option<Handle<u32>>), _: &()| Ok(());
    app.plugin(define("one").needs((NUMBER, OTHER.optional())).run(both), ()).unwrap();
    app.plugin(define("two").needs(OTHER).run(needs_number), ()).unwrap();
    app.plugin(define("three").needs(CHECKED).run(needs_number), ()).unwrap();
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    let lines: Vec<_> = app.check().iter().map(ToString::to_string).collect();
    let expected = [
        "`one#2` waits for service `number`: nothing provides it; mount a plugin that does",
        "`two#3` waits for service `other`: its provider `loading#1` is loading",
        "`three#4` waits for service `checked`: the check of its provider `root` says no",
    ];
    assert_eq!(lines, expected);
    let first = serde_json::to_value(&app.check()[0]).unwrap();
    let reason = "nothing provides it; mount a plugin that does";
    assert_eq!(first, serde_json::json!({ "plugin": "one#2", "service": "number", "reason": reason }));
    allowed.store(true, SeqCst);
    app.notify(CHECKED);
    go.notify_one();
    app.provide(NUMBER, Arc::new(1)).unwrap();
    app.quiet().await;
    assert_eq!(app.check(), []);
}

// spec: cordis-core/C61
#[tokio::test(start_paused = true)]
async fn quiet_waits_for_loads_and_unloads_of_all_generations() {
    async fn slow(ctx: &Context, _: (), (depth, log): &(u32, Log)) -> Result<(), BoxError> {
        tokio::time::sleep(Duration::from_secs(1)).await;
        if *depth > 0 {
            ctx.plugin(define("slow").run_boxed(slow_boxed), (depth - 1, log.clone()))?;
        }
        let (said, depth) = (log.clone(), *depth);
        ctx.effect("slow undo", async move || {
            tokio::time::sleep(Duration::from_secs(1)).await;
            said.say(format!("undone {depth}"));
        })?;
        log.say(format!("loaded {depth}"));
        Ok(())
    }
    fn slow_boxed<'a>(
        ctx: &'a Context,
        needs: (),
        config: &'a (u32, Log),
    ) -> cordis::BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(slow(ctx, needs, config))
    }
    let app = App::new().unwrap();
    app.quiet().await;
    let log = Log::default();
    let began = tokio::time::Instant::now();
    let fiber = app.plugin(define("slow").run_boxed(slow_boxed), (2, log.clone())).unwrap();
    app.quiet().await;
    assert_eq!(
        (log.take(), began.elapsed().as_secs()),
        (vec!["loaded 2".into(), "loaded 1".into(), "loaded 0".into()], 3)
    );
    fiber.cancel();
    app.quiet().await;
    assert_eq!(
        (log.take(), began.elapsed().as_secs()),
        (vec!["undone 2".into(), "undone 1".into(), "undone 0".into()], 6)
    );
    assert_eq!(fiber.state(), State::Disposed);
}

// spec: design/P4
#[tokio::test]
async fn a_test_app_remembers_failures_and_counts_fibers_and_effects() {
    let app = TestApp::new();
    app.assert_no_errors();
    let effects = app.effects(&app);
    let scope = app.scope().unwrap();
    scope.context().on(PING).run(|n| assert_ne!(*n, 1, "one")).unwrap();
    assert_eq!((app.fibers(), app.effects(&app), app.effects(scope.context())), (2, effects + 1, 1));
    let ctx = app.root();
    ctx.at(scope.key()).emit(PING, &2);
    app.assert_no_errors();
    ctx.at(scope.key()).emit(PING, &1);
    let panic = catch_unwind(AssertUnwindSafe(|| app.assert_no_errors())).unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(text.contains("failures were reported") && text.contains("one"), "{text}");
    ctx.at(scope.key()).emit(PING, &1);
    let errors = app.take_errors();
    assert_eq!(errors.len(), 1);
    let step = (format!("scope#{}", scope.fiber().uid()), r#"ctx.on("ping")"#.to_owned());
    assert_eq!((errors[0].plugin.clone(), errors[0].step.clone()), step);
    assert_eq!(app.take_errors(), []);
}

// spec: cordis-core/C58
#[tokio::test]
async fn recorders_keep_what_was_told_in_order() {
    let app = TestApp::new();
    let scope = app.scope().unwrap();
    let pings = Recorder::of(&app, PING, |n| n * 10).unwrap();
    let states = Recorder::status(&app).unwrap();
    app.emit(PING, &1);
    app.at(scope.key()).emit(PING, &2);
    assert_eq!((pings.take(), pings.take()), (vec![10, 20], vec![]));
    pings.effect().dispose().await;
    app.emit(PING, &3);
    assert!(pings.take().is_empty());
    let fiber = app.plugin(define("seen").run(async |_: &Context, _: (), _: &()| Ok(())), ()).unwrap();
    fiber.ready().await.unwrap();
    fiber.dispose().await;
    let steps = [State::Pending, State::Loading, State::Active, State::Unloading, State::Disposed];
    let expected: Vec<_> = steps.windows(2).map(|step| ("seen".to_owned(), step[0], step[1])).collect();
    assert_eq!(states.take(), expected);
}

/// An overflow of the stack ends the process, so the deep tree is looked at in one of its own.
#[tokio::test]
#[ignore = "run by `a_deep_tree_is_shown_and_dropped_without_recursion`"]
async fn deep_tree_in_a_process_of_its_own() {
    let app = App::new().unwrap();
    let mut scopes = vec![app.scope().unwrap()];
    for i in 0..3_000 {
        scopes.push(scopes[i].context().scope().unwrap());
    }
    let ctx = app.root();
    let small = std::thread::Builder::new().stack_size(192 * 1024).spawn(move || {
        let tree = ctx.inspect();
        assert_eq!(tree.to_string().lines().count(), 3_002);
        drop(tree);
    });
    small.unwrap().join().unwrap();
    app.shutdown().await;
}

// spec: cases/L11
#[test]
fn a_deep_tree_is_shown_and_dropped_without_recursion() {
    let test = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "deep_tree_in_a_process_of_its_own", "--ignored"])
        .output()
        .unwrap();
    assert!(test.status.success(), "{}", String::from_utf8_lossy(&test.stderr));
    assert!(String::from_utf8_lossy(&test.stdout).contains("1 passed"));
}
