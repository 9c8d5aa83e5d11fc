//! The host's own events about listeners, dispatches and failures.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod support_events;

use cordis::{
    Announce, Bail, Effect, Emit, Event, Mode as KeyMode, Parallel, Serial, State, Waterfall, keys,
    meta::{Dispatched, Registration},
};
use std::sync::{
    Arc, Mutex, OnceLock,
    atomic::{AtomicU32, Ordering::SeqCst},
};
use support_events::*;

const E: Emit<u32> = Emit::new("e");
const A: Announce<u32> = Announce::new("a");
const B: Bail<u32, u32> = Bail::new("b");
const P: Parallel<u32> = Parallel::new("p");
const S: Serial<u32, u32> = Serial::new("s");
const W: Waterfall<u32, u32> = Waterfall::new("w");

// spec: cordis-core/C115
#[tokio::test(start_paused = true)]
async fn every_dispatch_is_told_with_its_mode_before_its_listeners_and_the_hosts_own_are_not() {
    let (app, _) = host();
    let log = Log::default();
    let l = log.clone();
    let observer =
        app.on(keys::DISPATCH).run(move |d: &Dispatched| l.add(format!("{} {}", d.mode, d.event))).unwrap();
    let l = log.clone();
    app.on(E).run(move |_| l.add("listener of e")).unwrap();
    app.on(keys::STATUS).run(|_| ()).unwrap();
    app.emit(E, &1);
    app.announce(A, &1).unwrap();
    app.bail(B, &1);
    app.parallel(P, &1).await.unwrap();
    app.serial(S, &1).await.unwrap();
    app.waterfall(W, &mut 1, &(), async |_, n| *n).await.unwrap();
    // These cause host events in plenty.
    plugin(&app, "any", |_| Ok(())).await.dispose().await;
    let told = ["emit e", "listener of e", "announce a", "bail b", "parallel p", "serial s", "waterfall w"];
    assert_eq!(log.take(), told);
    observer.dispose().await;
    app.emit(E, &1);
    assert_eq!(log.take(), ["listener of e"]);
}

// spec: cordis-core/C115
#[tokio::test(start_paused = true)]
async fn a_dispatch_without_listeners_and_one_inside_of_an_observer_are_told_too() {
    let (app, _) = host();
    let log = Log::default();
    let (l, ctx) = (log.clone(), app.root());
    app.on(keys::DISPATCH)
        .run(move |d| {
            l.add(d.event);
            if d.event == "e" {
                ctx.emit(Emit::<u32>::new("from the observer"), &1);
            }
        })
        .unwrap();
    app.emit(E, &1);
    assert_eq!(log.take(), ["e", "from the observer"]);
}

// spec: cordis-core/C107, cordis-core/C115, design/P4
#[tokio::test(start_paused = true)]
async fn a_failing_observer_of_dispatches_is_reported_and_the_dispatch_happens() {
    let (app, errors) = host();
    let log = Log::default();
    app.on(keys::DISPATCH).run(|_| panic!("no")).unwrap();
    let l = log.clone();
    app.on(E).run(move |_| l.add("e")).unwrap();
    app.emit(E, &1);
    assert_eq!(log.take(), ["e"]);
    assert_eq!(errors.take(), [report("root", "ctx.on(\"internal/dispatch\")", "panicked: no")]);
}

type Seen = (&'static str, KeyMode, bool, bool, bool, String);

fn registrations(app: &cordis::Context) -> Arc<Mutex<Vec<Seen>>> {
    let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
    let sink = seen.clone();
    app.on(keys::LISTENER)
        .run(move |r: &Registration| {
            let by = r.fiber.name().to_owned();
            sink.lock().unwrap().push((r.event, r.mode, r.prepend, r.once, r.global, by));
            None
        })
        .unwrap();
    seen
}

// spec: cordis-core/C112, cordis-core/C116
#[tokio::test(start_paused = true)]
async fn every_registration_is_told_with_how_and_by_whom() {
    let (app, _) = host();
    let seen = registrations(&app);
    app.on(E).run(|_| ()).unwrap();
    app.on(keys::STATUS).run(|_| ()).unwrap();
    let scope = app.scope().unwrap();
    scope.context().on(W).prepend().once().run(async |n, next| next.run(n).await).unwrap();
    plugin(&app, "owner", |ctx| {
        ctx.on(B).global().run(|_| None)?;
        Ok(())
    })
    .await;
    let told: Vec<Seen> = std::mem::take(&mut seen.lock().unwrap());
    let expected = [
        ("e", KeyMode::Emit, false, false, false, "root"),
        ("w", KeyMode::Waterfall, true, true, false, "scope"),
        ("b", KeyMode::Bail, false, false, true, "owner"),
    ];
    assert_eq!(told, expected.map(|(e, m, p, o, g, by)| (e, m, p, o, g, by.to_owned())));
}

in_every_mode! {
    // spec: cordis-core/C112
    #[test]
    async fn an_observer_takes_a_registration_over_and_its_effect_is_returned<M>() {
        let (app, errors) = host();
        let log = Log::default();
        let (ctx, l) = (app.root(), log.clone());
        let taken = app.on(keys::LISTENER).run(move |registration| {
            let (l, event) = (l.clone(), registration.event);
            l.add(format!("took {event}"));
            Some(ctx.effect("mine", async move || l.add("undone")).unwrap())
        }).unwrap();
        let (canary, gone) = Canary::new();
        let effect = M::on(&app, act(move || { let _kept = &canary; panic!("never called") }));
        assert!(gone.load(SeqCst), "the replaced listener is dropped");
        M::go(&app).await;
        assert_eq!((log.take().len(), M::listeners(&app)), (1, 0));
        assert!(effect.is_live());
        effect.dispose().await;
        assert_eq!(log.take(), ["undone"]);
        taken.dispose().await;
        M::on(&app, note(&log, "listens"));
        M::go(&app).await;
        assert_eq!((log.take(), errors.take()), (vec!["listens".to_owned()], vec![]));
    }

    // spec: cordis-core/C107, design/P4
    #[test]
    async fn a_failing_observer_of_registrations_is_reported_and_the_listener_registered<M>() {
        let (app, errors) = host();
        let log = Log::default();
        app.on(keys::LISTENER).run(|_| panic!("no")).unwrap();
        M::on(&app, note(&log, "x"));
        M::go(&app).await;
        assert_eq!(log.take(), ["x"]);
        assert_eq!(errors.take(), [report("root", "ctx.on(\"internal/listener\")", "panicked: no")]);
    }

    // spec: cordis-core/C114
    #[test]
    async fn listening_on_a_disposed_fiber_fails_before_anything_else_happens<M>() {
        let (app, errors) = host();
        let fiber = plugin(&app, "gone", |_| Ok(())).await;
        let dead = fiber.context();
        fiber.dispose().await;
        let seen = registrations(&app);
        let error = M::place(&dead, How::default(), act(|| panic!("never called"))).unwrap_err();
        let cordis::ListenError::Inactive(inactive) = &error else { panic!("{error}") };
        assert_eq!((inactive.action, cordis::Inactive::CODE), ("register a listener", "INACTIVE_EFFECT"));
        assert_eq!(inactive.plugin.split('#').next(), Some("gone"));
        assert!(error.to_string().starts_with("cannot register a listener on inactive context `gone#"), "{error}");
        M::go(&app).await;
        assert_eq!(*seen.lock().unwrap(), []);
        assert_eq!((M::listeners(&app), errors.take()), (0, vec![]));
    }
}

// spec: cordis-core/C114
#[tokio::test(start_paused = true)]
async fn a_refused_registration_on_a_dead_context_does_not_take_the_name() {
    let (app, errors) = host();
    let fiber = plugin(&app, "gone", |_| Ok(())).await;
    let dead = fiber.context();
    fiber.dispose().await;
    assert!(dead.on(Emit::<u32>::new("name")).run(|_| ()).is_err());
    let key: Emit<String> = Emit::new("name");
    let log = Log::default();
    let l = log.clone();
    app.on(key).run(move |s| l.add(s.clone())).expect("the name is free");
    app.emit(key, &"heard".to_owned());
    assert_eq!((log.take(), errors.take()), (vec!["heard".to_owned()], vec![]));
}

// spec: cordis-core/C114
#[tokio::test(start_paused = true)]
async fn a_dead_context_is_refused_as_dead_even_where_the_key_conflicts() {
    let (app, _) = host();
    app.on(E).run(|_| ()).unwrap();
    let fiber = plugin(&app, "gone", |_| Ok(())).await;
    let dead = fiber.context();
    fiber.dispose().await;
    let error = dead.on(Emit::<String>::new("e")).run(|_| ()).unwrap_err();
    assert!(matches!(error, cordis::ListenError::Inactive(_)), "{error}");
}

// spec: cordis-core/C116
#[tokio::test(start_paused = true)]
async fn host_events_reach_unscoped_and_global_observers() {
    let (app, _) = host();
    let log = Log::default();
    let scope = app.scope().unwrap();
    let (l, g) = (log.clone(), log.clone());
    app.on(keys::STATUS).run(move |change| l.add(format!("root: {}", change.to))).unwrap();
    let to = scope.context().on(keys::STATUS).global();
    to.run(move |change| g.add(format!("global: {}", change.to))).unwrap();
    plugin(&app, "any", |_| Ok(())).await;
    assert_eq!(log.take(), ["root: loading", "global: loading", "root: active", "global: active"]);
}

// spec: cordis-core/C112
#[tokio::test(start_paused = true)]
async fn host_events_honour_once_and_prepend() {
    let (app, _) = host();
    let log = Log::default();
    let note = |line: &'static str| {
        let log = log.clone();
        move || log.add(line)
    };
    let (a, b, c) = (note("a"), note("once"), note("first"));
    app.on(keys::STATUS).run(move |_| a()).unwrap();
    app.on(keys::STATUS).once().run(move |_| b()).unwrap();
    app.on(keys::STATUS).prepend().run(move |_| c()).unwrap();
    plugin(&app, "any", |_| Ok(())).await;
    assert_eq!(log.take(), ["first", "a", "once", "first", "a"]);
}

// spec: cordis-core/C112
#[tokio::test(start_paused = true)]
async fn an_observer_of_failures_registered_once_hears_one() {
    let (app, _) = host();
    let log = Log::default();
    let (l, m) = (log.clone(), log.clone());
    app.on(keys::ERROR).once().run(move |report| l.add(format!("once: {}", report.message))).unwrap();
    app.on(keys::ERROR).prepend().run(move |report| m.add(report.message.clone())).unwrap();
    app.report("step", "first");
    app.report("step", "second");
    assert_eq!(log.take(), ["first", "once: first", "second"]);
}

// spec: design/P4
#[tokio::test(start_paused = true)]
async fn a_failing_observer_of_failures_stops_nobody() {
    let (app, errors) = host();
    app.on(keys::ERROR).prepend().run(|_| panic!("observer")).unwrap();
    app.on(E).run(|_| panic!("listener")).unwrap();
    app.emit(E, &1);
    assert_eq!(errors.take(), [report("root", "ctx.on(\"e\")", "panicked: listener")]);
}

// spec: design/P3
#[tokio::test(start_paused = true)]
async fn an_observer_of_failures_disposes_itself_and_unloads_the_culprit() {
    let (app, errors) = host();
    let own = Arc::new(OnceLock::<Effect>::new());
    let calls = Arc::new(AtomicU32::new(0));
    let culprit = plugin(&app, "culprit", |ctx| {
        ctx.on(E).run(|_| panic!("again"))?;
        Ok(())
    })
    .await;
    let (me, c, fiber) = (own.clone(), calls.clone(), culprit.clone());
    let observer = app.on(keys::ERROR).run(move |_| {
        c.fetch_add(1, SeqCst);
        assert!(now(me.get().unwrap().dispose()).is_some(), "a synchronous listener only requests");
        assert!(now(fiber.dispose()).is_some());
    });
    own.set(observer.unwrap()).unwrap();
    app.emit(E, &1);
    app.quiet().await;
    app.emit(E, &1);
    assert_eq!((calls.load(SeqCst), culprit.state(), errors.take().len()), (1, State::Disposed, 1));
}

// spec: cordis-core/C115
#[test]
fn the_hosts_own_events_are_named_as_the_reference_names_them() {
    fn key(key: impl Event) -> (&'static str, KeyMode) {
        (key.name(), key.mode())
    }
    let keys = [
        key(keys::FIBER_CREATED),
        key(keys::STATUS),
        key(keys::SERVICE),
        key(keys::LISTENER),
        key(keys::DISPATCH),
        key(keys::CONFIG),
        key(keys::UPDATE),
    ];
    let expected = [
        ("internal/plugin", KeyMode::Announce),
        ("internal/status", KeyMode::Emit),
        ("internal/service", KeyMode::Emit),
        ("internal/listener", KeyMode::Bail),
        ("internal/dispatch", KeyMode::Emit),
        ("internal/config", KeyMode::Waterfall),
        ("internal/update", KeyMode::Waterfall),
    ];
    assert_eq!(keys, expected);
}
