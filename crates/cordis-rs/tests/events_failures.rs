//! One failure stays one failure: values that panic when they are dropped, panic payloads that do, and foreign code that
//! runs where nobody awaits it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod support_events;

use cordis::{Bail, Emit, Parallel, ScopeKey, Serial, Waterfall};
use std::{
    panic::{AssertUnwindSafe, catch_unwind, panic_any},
    sync::atomic::Ordering::SeqCst,
};
use support_events::*;
use tokio::task::yield_now;

const TOLD: Emit<u32> = Emit::new("told");
const WHICH: Bail<u32, u32> = Bail::new("which");
const ALL: Parallel<u32> = Parallel::new("all");
const ASK: Serial<u32, u32> = Serial::new("ask");
const WORK: Waterfall<u32, u32> = Waterfall::new("work");

/// Panics when it is dropped; not while another panic unwinds, which would abort the process.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("dropped");
        }
    }
}

/// A panic payload whose drop panics with another such payload, that many times.
struct Nested(u32);

impl Drop for Nested {
    fn drop(&mut self) {
        if self.0 > 0 {
            panic_any(Nested(self.0 - 1));
        }
    }
}

/// Whether `f` let a panic out.
fn panics(f: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(f)).is_err()
}

in_every_mode! {
    // spec: design/P4
    #[test]
    async fn a_captured_value_that_panics_when_it_is_dropped_hurts_nobody_and_is_reported<M>() {
        let (app, errors) = host();
        let log = Log::default();
        let effects = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let (e, l) = (effects.clone(), log.clone());
        let owner = plugin(&app, "owner", move |ctx| {
            let bomb = Bomb;
            e.lock().unwrap().push(M::on(ctx, act(move || { let _kept = &bomb; })));
            let bomb = Bomb;
            M::on(ctx, act(move || { let _kept = &bomb; }));
            M::on(ctx, note(&l, "neighbour"));
            Ok(())
        }).await;
        let one = effects.lock().unwrap().pop().unwrap();
        M::go(&app).await;
        assert_eq!(log.take(), ["neighbour"]);
        assert!(one.dispose().await.is_clean());
        M::go(&app).await;
        assert_eq!((log.take(), M::listeners(&app)), (vec!["neighbour".to_owned()], 2));
        assert!(owner.dispose().await.is_clean());
        assert_eq!(M::listeners(&app), 0);
        M::go(&app).await;
        let told = errors.take();
        let each: Vec<_> = told.iter().map(|(plugin, step, text)| (&**plugin, step.contains("ctx.on(\"test/"), &**text)).collect();
        assert_eq!(each, [("owner", true, "panicked when it was dropped: dropped"); 2]);
    }

    // spec: design/P4
    #[test]
    async fn a_once_listener_whose_captures_panic_when_dropped_does_not_stop_the_dispatch<M>() {
        let (app, _) = host();
        let log = Log::default();
        let (bomb, l) = (Bomb, log.clone());
        M::once(&app, act(move || { let _kept = &bomb; l.add("once"); }));
        M::on(&app, note(&log, "behind"));
        let behind = M::on(&app, note(&log, "last"));
        M::go(&app).await;
        M::go(&app).await;
        assert_eq!(log.take(), ["once", "behind", "last", "behind", "last"]);
        behind.dispose().await;
        assert_eq!(M::listeners(&app), 1);
    }
}

on_both_flavours! {
    // spec: design/P4
    #[test]
    async fn a_panic_payload_whose_own_drop_panics_is_contained_in_every_mode() {
        for depth in [1, 2, 3] {
            let (app, errors) = host();
            let log = Log::default();
            let l = log.clone();
            plugin(&app, "bad", move |ctx| {
                ctx.on(TOLD).run(move |_| panic_any(Nested(depth)))?;
                ctx.on(WHICH).run(move |_| panic_any(Nested(depth)))?;
                ctx.on(ALL).with(depth).run(async |depth, _| { yield_now().await; panic_any(Nested(*depth)) })?;
                ctx.on(ASK).with(depth).run(async |depth, _| panic_any(Nested(*depth)))?;
                ctx.on(WORK).with(depth).run(async |depth, _, _| { yield_now().await; panic_any(Nested(*depth)) })?;
                Ok(())
            }).await;
            app.on(TOLD).run(move |_| l.add("told")).unwrap();
            app.on(WHICH).run(|n| Some(*n)).unwrap();
            let text = "panicked with a value that is no text";
            assert!(!panics(|| app.emit(TOLD, &1)), "emit at depth {depth}");
            assert!(!panics(|| assert_eq!(app.bail(WHICH, &1), Some(1))), "bail at depth {depth}");
            assert_eq!(errors.take(), ["told", "which"].map(|e| report("bad", &format!("ctx.on({e:?})"), &format!("panicked: {text}"))));
            let failures = app.parallel(ALL, &1).await.unwrap_err();
            assert_eq!(failures.causes[0].cause.to_string(), format!("panicked: {text}"));
            let error = app.serial(ASK, &1).await.unwrap_err();
            assert!(error.to_string().ends_with(text), "{error}");
            let panic = app.waterfall(WORK, &mut 1, &(), async |_, n| *n).await.unwrap_err();
            assert_eq!((panic.plugin.split('#').next(), &*panic.message), (Some("bad"), text));
            assert_eq!(log.take(), ["told"]);
        }
    }

    // spec: design/P4
    #[test]
    async fn dropping_a_dispatch_whose_suspended_listeners_panic_when_dropped_is_contained() {
        let (app, _) = host();
        for _ in 0..2 {
            app.on(ALL).run(async |_| { let _bomb = Bomb; std::future::pending().await }).unwrap();
        }
        app.on(ASK).run(async |_| { let _bomb = Bomb; std::future::pending().await }).unwrap();
        app.on(WORK).run(async |_, _| { let _bomb = Bomb; std::future::pending().await }).unwrap();
        let mut parallel = Box::pin(app.parallel(ALL, &1));
        assert!(now(parallel.as_mut()).is_none());
        let escaped = panics(|| drop(parallel));
        let mut serial = Box::pin(app.serial(ASK, &1));
        assert!(now(serial.as_mut()).is_none());
        let escaped = (escaped, panics(|| drop(serial)));
        let mut n = 1;
        let mut work = Box::pin(app.waterfall(WORK, &mut n, &(), async |_, n| *n));
        assert!(now(work.as_mut()).is_none());
        let escaped = (escaped, panics(|| drop(work)));
        assert_eq!(escaped, ((false, false), false), "(parallel, serial), waterfall");
        // The dispatcher, and the thread's own bookkeeping, go on as before.
        let effect = app.on(TOLD).run(|_| ()).unwrap();
        assert!(effect.dispose().await.is_clean());
    }
}

// spec: design/P4
#[tokio::test(start_paused = true)]
async fn a_dispatch_future_that_panicked_inside_a_task_takes_down_neither_worker_nor_app() {
    let (app, _) = host();
    let ctx = app.root();
    app.on(WORK).run(async |_, _| panic!("no")).unwrap();
    let task = tokio::spawn(async move { ctx.waterfall(WORK, &mut 1, &(), async |_, n| *n).await.is_err() });
    assert!(task.await.unwrap());
}

// spec: design/P4
#[tokio::test(start_paused = true)]
async fn a_failure_names_plugin_and_key_for_scoped_listeners_as_well() {
    struct Of(ScopeKey);
    const KEYED: Emit<Of> = Emit::new("keyed").scoped_by(|of| Some(&of.0));
    let (app, errors) = host();
    let scope = app.scope().unwrap();
    plugin(scope.context(), "in the scope", |ctx| {
        ctx.on(KEYED).run(|_| panic!("no"))?;
        Ok(())
    })
    .await;
    app.emit(KEYED, &Of(scope.key().clone()));
    assert_eq!(errors.take(), [report("in the scope", "ctx.on(\"keyed\")", "panicked: no")]);
    app.emit(KEYED, &Of(ScopeKey::new()));
    assert_eq!(errors.take(), []);
}

// spec: design/P4
#[tokio::test(start_paused = true)]
async fn what_a_panicking_listener_captured_is_dropped_with_its_plugin() {
    let (app, _) = host();
    let (canary, gone) = Canary::new();
    let canary = std::sync::Mutex::new(Some(canary));
    let owner = plugin(&app, "owner", move |ctx| {
        let canary = canary.lock().unwrap().take();
        ctx.on(TOLD).run(move |_| panic!("{}", canary.is_some()))?;
        Ok(())
    })
    .await;
    app.emit(TOLD, &1);
    assert!(!gone.load(SeqCst));
    owner.dispose().await;
    assert!(gone.load(SeqCst));
}
