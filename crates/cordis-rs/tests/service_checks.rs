//! Availability checks: for whom a service counts, and what a check may do.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support_services;

use cordis::{App, BoxError, Context, Effect, Emit, Fiber, Handle, Key, State, define, testing::TestApp};
use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
};
use support_services::{FOO, Log, consumer, on_both_flavours, states};

const BAR: Key<u32> = Key::new("bar");
const PING: Emit<u32> = Emit::new("ping");
const P: State = State::Pending;
const A: State = State::Active;

async fn maybe(ctx: &Context, service: Option<Handle<u32>>, log: &Log) -> Result<(), BoxError> {
    let service = service.map(|service| service.get().map(|service| *service)).transpose()?;
    log.add(format!("loads with {service:?}"));
    let log = log.clone();
    ctx.effect("farewell", async move || log.add("unloads"))?;
    Ok(())
}

/// Provides `FOO` for those for whom the flag is set when they are asked.
fn provide_while(ctx: &Context, value: u32, flag: &Arc<AtomicBool>) -> Effect {
    let flag = flag.clone();
    ctx.provide_when(FOO, Arc::new(value), move |_| flag.load(SeqCst)).unwrap()
}

on_both_flavours! {
    // spec: cordis-core/C26, cordis-core/C118
    #[test]
    async fn a_check_decides_for_each_dependant_and_get_ignores_it() {
        let app = App::new().unwrap();
        let log = Log::default();
        let (friend, stranger) = (consumer(&app, "friend", &log), consumer(&app, "stranger", &log));
        let effect = app.provide_when(FOO, Arc::new(1), |ctx| ctx.fiber().name() == "friend").unwrap();
        assert_eq!(states(&app, [&friend, &stranger]).await, [A, P]);
        assert_eq!(app.get(FOO).map(|service| *service.get().unwrap()), Some(1));
        assert!(stranger.context().get(FOO).is_some());
        let unmet: Vec<String> = app.check().iter().map(ToString::to_string).collect();
        assert_eq!(unmet, ["`stranger#2` waits for service `foo`: the check of its provider `root` says no"]);
        effect.dispose().await;
        assert_eq!(states(&app, [&friend, &stranger]).await, [P, P]);
        app.provide(FOO, Arc::new(2)).unwrap();
        assert_eq!(states(&app, [&friend, &stranger]).await, [A, A]);
        assert_eq!(log.take()[..2], ["friend loads with 1", "friend unloads with Some(1)"]);
    }

    // spec: cordis-core/C26
    #[test]
    async fn a_check_that_panics_counts_as_no_and_is_reported_as_the_providers() {
        let app = TestApp::new();
        let log = Log::default();
        let (calm, cursed) = (consumer(&app, "calm", &log), consumer(&app, "cursed", &log));
        let provider = app.plugin(
            define("provider").run(async |ctx: &Context, (): (), (): &()| {
                ctx.provide_when(FOO, Arc::new(1), |ctx| {
                    assert_ne!(ctx.fiber().name(), "cursed", "not for you");
                    true
                })?;
                Ok(())
            }),
            (),
        );
        assert_eq!(states(&app, [&calm, &cursed, &provider.unwrap()]).await, [A, P, A]);
        let errors = app.take_errors();
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert_eq!((&*errors[0].plugin, &*errors[0].step), ("provider#3", r#"check of ctx.provide("foo")"#));
        assert!(errors[0].message.contains("not for you"), "{errors:?}");
        assert_eq!(log.take(), ["calm loads with 1"]);
    }

    // spec: cordis-core/C26
    #[test]
    async fn a_changed_check_counts_from_the_next_notify() {
        let app = App::new().unwrap();
        let (log, flag) = (Log::default(), Arc::new(AtomicBool::new(false)));
        let needs = consumer(&app, "needs", &log);
        provide_while(&app, 1, &flag);
        assert_eq!(states(&app, [&needs]).await, [P]);
        flag.store(true, SeqCst);
        assert_eq!(states(&app, [&needs]).await, [P]);
        app.notify(FOO);
        assert_eq!(states(&app, [&needs]).await, [A]);
        app.notify(FOO);
        assert_eq!(states(&app, [&needs]).await, [A]);
        assert_eq!(log.take(), ["needs loads with 1"]);
    }

    // spec: cordis-core/C26
    #[test]
    async fn a_check_that_says_no_at_the_next_notify_unloads_the_dependant() {
        let app = App::new().unwrap();
        let (log, flag) = (Log::default(), Arc::new(AtomicBool::new(true)));
        let needs = consumer(&app, "needs", &log);
        provide_while(&app, 1, &flag);
        assert_eq!(states(&app, [&needs]).await, [A]);
        flag.store(false, SeqCst);
        assert_eq!(states(&app, [&needs]).await, [A]);
        app.notify(FOO);
        assert_eq!(states(&app, [&needs]).await, [P]);
        flag.store(true, SeqCst);
        app.notify(FOO);
        assert_eq!(states(&app, [&needs]).await, [A]);
        assert_eq!(log.take(), ["needs loads with 1", "needs unloads with Some(1)", "needs loads with 1"]);
    }

    // spec: cordis-core/C26
    #[test]
    async fn an_optional_need_comes_and_goes_with_its_check() {
        let app = App::new().unwrap();
        let (log, flag) = (Log::default(), Arc::new(AtomicBool::new(false)));
        let fiber = app.plugin(define("p").needs(FOO.optional()).run(maybe), log.clone()).unwrap();
        assert_eq!(states(&app, [&fiber]).await, [A]);
        provide_while(&app, 1, &flag);
        assert_eq!(states(&app, [&fiber]).await, [A]);
        assert_eq!(log.take(), ["loads with None"]);
        flag.store(true, SeqCst);
        app.notify(FOO);
        assert_eq!(states(&app, [&fiber]).await, [A]);
        assert_eq!(log.take(), ["unloads", "loads with Some(1)"]);
        flag.store(false, SeqCst);
        app.notify(FOO);
        assert_eq!(states(&app, [&fiber]).await, [A]);
        assert_eq!(log.take(), ["unloads", "loads with None"]);
    }

    // spec: cordis-core/C26
    #[test]
    async fn an_optional_need_whose_check_says_yes_arrives_while_the_plugin_is_active() {
        let app = App::new().unwrap();
        let log = Log::default();
        let fiber = app.plugin(define("p").needs(FOO.optional()).run(maybe), log.clone()).unwrap();
        assert_eq!(states(&app, [&fiber]).await, [A]);
        let effect = app.provide_when(FOO, Arc::new(1), |_| true).unwrap();
        assert_eq!(states(&app, [&fiber]).await, [A]);
        assert_eq!(log.take(), ["loads with None", "unloads", "loads with Some(1)"]);
        effect.dispose().await;
        assert_eq!(states(&app, [&fiber]).await, [A]);
        assert_eq!(log.take(), ["unloads", "loads with None"]);
    }

    // spec: cordis-core/C26, design/P3
    #[test]
    async fn a_notify_that_comes_while_the_check_runs_is_not_lost() {
        let app = App::new().unwrap();
        let log = Log::default();
        let asked = Arc::new(AtomicUsize::new(0));
        let (count, root) = (asked.clone(), app.root());
        // What it depends on changes after it has looked: the next answer is another one.
        app.provide_when(FOO, Arc::new(1), move |_| {
            let first = count.fetch_add(1, SeqCst) == 0;
            if first {
                root.notify(FOO);
            }
            !first
        })
        .unwrap();
        let needs = consumer(&app, "needs", &log);
        assert_eq!(states(&app, [&needs]).await, [A]);
        assert_eq!(log.take(), ["needs loads with 1"]);
        assert_eq!(asked.load(SeqCst), 2);
    }

    // spec: design/P3
    #[test]
    async fn a_check_may_register_provide_mount_look_up_and_emit() {
        let app = TestApp::new();
        let log = Log::default();
        let (root, told) = (app.root(), log.clone());
        let needs_bar = app
            .plugin(
                define("bar's").needs(BAR).run(async |_: &Context, bar: Handle<u32>, log: &Log| {
                    log.add(format!("bar's loads with {}", *bar.get()?));
                    Ok(())
                }),
                log.clone(),
            )
            .unwrap();
        app.provide_when(FOO, Arc::new(1), move |ctx| {
            let heard = told.clone();
            ctx.on(PING).run(move |n| heard.add(format!("ping {n}"))).unwrap();
            ctx.emit(PING, &1);
            root.provide(BAR, Arc::new(2)).unwrap();
            let found = (root.get(FOO).is_some(), ctx.get(BAR).is_some(), ctx.get(FOO).is_some());
            told.add(format!("{found:?} {:?}", ctx.fiber().state()));
            root.plugin(
                define("child").run(async |_: &Context, (): (), log: &Log| {
                    log.add("child loads");
                    Ok(())
                }),
                told.clone(),
            )
            .unwrap();
            drop(root.inspect());
            true
        })
        .unwrap();
        let needs = consumer(&app, "needs", &log);
        assert_eq!(states(&app, [&needs, &needs_bar]).await, [A, A]);
        app.emit(PING, &2);
        let lines = log.take();
        let (mut loads, own): (Vec<_>, Vec<_>) = lines.into_iter().partition(|line| line.contains("loads"));
        assert_eq!(own, ["ping 1", "(true, true, true) Pending", "ping 2"]);
        loads.sort();
        assert_eq!(loads, ["bar's loads with 2", "child loads", "needs loads with 1"]);
        // What was registered for the dependant goes with it.
        needs.dispose().await;
        app.emit(PING, &3);
        assert_eq!(log.take(), ["needs unloads with Some(1)"]);
        app.assert_no_errors();
    }

    // spec: design/P3
    #[test]
    async fn a_check_may_withdraw_its_own_service_or_dispose_the_one_who_asks() {
        let app = TestApp::new();
        let log = Log::default();
        let own: Arc<OnceLock<Effect>> = Arc::default();
        let given = own.clone();
        let effect = app.provide_when(FOO, Arc::new(1), move |ctx| {
            match ctx.fiber().name() {
                "victim" => ctx.fiber().cancel(),
                _ => given.get().unwrap().cancel(),
            }
            true
        });
        own.set(effect.unwrap()).unwrap();
        let victim = consumer(&app, "victim", &log);
        victim.until(State::Disposed).await;
        app.quiet().await;
        assert!(app.get(FOO).is_some());
        let needs = consumer(&app, "needs", &log);
        assert_eq!(states(&app, [&needs]).await, [P]);
        assert!(app.peek(FOO).is_none());
        app.provide(FOO, Arc::new(2)).unwrap();
        assert_eq!(states(&app, [&needs]).await, [A]);
        let mut lines = log.take();
        assert_eq!(lines.pop().as_deref(), Some("needs loads with 2"));
        app.assert_no_errors();
    }

    // spec: cordis-core/C26, cordis-core/C33
    #[test]
    async fn a_dependency_counts_when_it_is_active_and_its_check_agrees() {
        let app = App::new().unwrap();
        let log = Log::default();
        let flags = [true, false].map(|flag| Arc::new(AtomicBool::new(flag)));
        let needs = consumer(&app, "needs", &log);
        let mut found = Vec::new();
        for (value, flag) in (1..).zip(&flags) {
            let effect = provide_while(&app, value, flag);
            found.extend(states(&app, [&needs]).await);
            effect.dispose().await;
            found.extend(states(&app, [&needs]).await);
        }
        assert_eq!(found, [A, P, P, P]);
        assert_eq!(log.take(), ["needs loads with 1", "needs unloads with Some(1)"]);
    }

    // spec: cordis-core/C26
    #[test]
    async fn a_failed_dependant_tries_again_at_a_notify_only_if_the_check_says_yes() {
        async fn fail_once(
            _: &Context,
            _: Handle<u32>,
            (log, tries): &(Log, AtomicUsize),
        ) -> Result<(), BoxError> {
            log.add("tries");
            if tries.fetch_add(1, SeqCst) == 0 { Err("not yet".into()) } else { Ok(()) }
        }
        let app = App::new().unwrap();
        let (log, flag) = (Log::default(), Arc::new(AtomicBool::new(true)));
        provide_while(&app, 1, &flag);
        let plugin = define("p").needs(FOO).run(fail_once);
        let fiber: Fiber = app.plugin(plugin, (log.clone(), AtomicUsize::new(0))).unwrap();
        assert_eq!(states(&app, [&fiber]).await, [State::Failed]);
        flag.store(false, SeqCst);
        app.notify(FOO);
        assert_eq!(states(&app, [&fiber]).await, [State::Failed]);
        assert_eq!(log.take(), ["tries"]);
        flag.store(true, SeqCst);
        app.notify(FOO);
        assert_eq!(states(&app, [&fiber]).await, [A]);
        assert_eq!(log.take(), ["tries"]);
    }
}

// spec: cordis-core/C26
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_answer_of_a_check_counts_however_fast_it_changes() {
    let app = App::new().unwrap();
    let (log, flag) = (Log::default(), Arc::new(AtomicBool::new(false)));
    let fibers = ["a", "b", "c"].map(|name| consumer(&app, name, &log));
    provide_while(&app, 1, &flag);
    for round in 0..500 {
        let last = round % 2 == 0;
        for value in [!last, last] {
            flag.store(value, SeqCst);
            app.notify(FOO);
        }
        let expected = if last { A } else { P };
        assert_eq!(states(&app, fibers.each_ref()).await, [expected; 3], "round {round}");
    }
}
