//! What a listener may do while it runs: anything, in every mode, to itself included. No lock is held around it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod support_events;

use cordis::{Effect, Emit, Handle, Key, State, define};
use std::sync::{
    Arc, Mutex, OnceLock,
    atomic::{AtomicBool, AtomicU32, Ordering::SeqCst},
};
use support_events::*;

const SERVICE: Key<u32> = Key::new("service");
const OTHER: Emit<u32> = Emit::new("other");

in_every_mode! {
    // spec: cases/D1, design/P3
    #[test]
    async fn a_listener_registers_another_one_and_disposes_itself<M>() {
        let (app, errors) = host();
        let log = Log::default();
        let own = Arc::new(OnceLock::<Effect>::new());
        let (canary, gone) = Canary::new();
        let (ctx, l, me) = (app.root(), log.clone(), own.clone());
        let first = M::on(&app, Arc::new(move || {
            let _kept = &canary;
            l.add("first");
            M::on(&ctx, note(&l, "new"));
            let me = me.get().unwrap().clone();
            // It only requests: its own call is not over.
            Box::pin(async move { assert!(me.dispose().await.requested) })
        }));
        own.set(first.clone()).unwrap();
        M::go(&app).await;
        assert_eq!(log.take(), ["first"]);
        assert!(first.dispose().await.is_clean());
        assert!(gone.load(SeqCst), "the captures are dropped");
        M::go(&app).await;
        assert_eq!((log.take(), M::listeners(&app)), (vec!["new".to_owned()], 1));
        assert_eq!(errors.take(), []);
    }

    // spec: cordis-core/C112, design/P3
    #[test]
    async fn a_once_listener_disposes_itself_and_what_it_made<M>() {
        let (app, errors) = host();
        let log = Log::default();
        let own = Arc::new(OnceLock::<Effect>::new());
        let (ctx, l, me) = (app.root(), log.clone(), own.clone());
        let once = M::once(&app, Arc::new(move || {
            l.add("once");
            let (me, made) = (me.get().unwrap().clone(), M::on(&ctx, note(&l, "made")));
            Box::pin(async move {
                assert!(me.dispose().await.requested);
                assert!(made.dispose().await.is_clean());
            })
        }));
        own.set(once.clone()).unwrap();
        M::go(&app).await;
        M::go(&app).await;
        assert!(once.dispose().await.is_clean());
        assert_eq!((log.take(), M::listeners(&app), errors.take()), (vec!["once".to_owned()], 0, vec![]));
    }

    // spec: design/P3
    #[test]
    async fn a_listener_disposes_listeners_before_and_behind_it<M>() {
        let (app, errors) = host();
        let log = Log::default();
        let before = M::on(&app, note(&log, "before"));
        let behind = Arc::new(OnceLock::<Effect>::new());
        let (b, l) = (behind.clone(), log.clone());
        M::on(&app, Arc::new(move || {
            l.add("middle");
            let (before, behind) = (before.clone(), b.get().unwrap().clone());
            Box::pin(async move {
                before.dispose().await;
                behind.dispose().await;
            })
        }));
        behind.set(M::on(&app, note(&log, "behind"))).unwrap();
        M::go(&app).await;
        M::go(&app).await;
        assert_eq!(log.take(), ["before", "middle", "middle"]);
        assert_eq!((M::listeners(&app), errors.take()), (1, vec![]));
    }

    // spec: design/P3
    #[test]
    async fn a_listener_provides_a_service_and_its_dependant_loads<M>() {
        let (app, errors) = host();
        let log = Log::default();
        let sink = log.clone();
        let needy = define("needy").needs(SERVICE).run_boxed(move |_, service: Handle<u32>, _: &()| {
            sink.add(format!("loaded with {}", *service.get().unwrap()));
            Box::pin(async { Ok(()) })
        });
        let needy = app.plugin(needy, ()).unwrap();
        let ctx = app.root();
        M::once(&app, act(move || {
            ctx.provide(SERVICE, Arc::new(7)).unwrap();
            assert_eq!(*ctx.get(SERVICE).unwrap().get().unwrap(), 7);
        }));
        assert_eq!(needy.ready().await.unwrap(), State::Pending);
        M::go(&app).await;
        assert_eq!(needy.ready().await.unwrap(), State::Active);
        assert_eq!((log.take(), errors.take()), (vec!["loaded with 7".to_owned()], vec![]));
    }

    // spec: design/P3
    #[test]
    async fn a_listener_withdraws_the_service_that_its_own_plugin_needs<M>() {
        let (app, errors) = host();
        let log = Log::default();
        let service = app.provide(SERVICE, Arc::new(1)).unwrap();
        let l = log.clone();
        let needy = define("needy").needs(SERVICE).run_boxed(move |ctx, _: Handle<u32>, _: &()| {
            let (l, service) = (l.clone(), service.clone());
            M::on(ctx, Arc::new(move || {
                let (l, service) = (l.clone(), service.clone());
                Box::pin(async move {
                    service.dispose().await;
                    l.add("withdrawn");
                })
            }));
            Box::pin(async { Ok(()) })
        });
        let needy = app.plugin(needy, ()).unwrap();
        needy.ready().await.unwrap();
        M::go(&app).await;
        needy.until(State::Pending).await;
        app.quiet().await;
        assert!(app.get(SERVICE).is_none());
        assert_eq!((log.take(), M::listeners(&app)), (vec!["withdrawn".to_owned()], 0));
        assert_eq!(errors.take(), []);
    }

    // spec: design/P3
    #[test]
    async fn a_listener_emits_other_events_and_its_own_a_hundred_levels_deep<M>() {
        let (app, errors) = host();
        let log = Log::default();
        let depth = Arc::new(AtomicU32::new(0));
        let told = Arc::new(AtomicU32::new(0));
        let sink = told.clone();
        app.on(OTHER).run(move |n| { sink.fetch_add(*n, SeqCst); }).unwrap();
        let (ctx, d, l) = (app.root(), depth.clone(), log.clone());
        M::on(&app, Arc::new(move || {
            let (ctx, l) = (ctx.clone(), l.clone());
            let level = d.fetch_add(1, SeqCst) + 1;
            Box::pin(async move {
                ctx.emit(OTHER, &1);
                if level < 100 {
                    M::go(&ctx).await;
                } else {
                    l.add("bottom");
                }
            })
        }));
        M::go(&app).await;
        assert_eq!((depth.load(SeqCst), told.load(SeqCst)), (100, 100));
        assert_eq!((log.take(), errors.take()), (vec!["bottom".to_owned()], vec![]));
        // Nothing of the nesting is left behind: a dispose from outside waits and ends as ever.
        M::on(&app, note(&log, "x")).dispose().await;
        assert_eq!(M::listeners(&app), 1);
    }

    // spec: design/P3
    #[test]
    async fn a_listener_disposes_itself_at_the_bottom_of_a_hundred_levels<M>() {
        let (app, errors) = host();
        let own = Arc::new(OnceLock::<Effect>::new());
        let depth = Arc::new(AtomicU32::new(0));
        let (ctx, d, me) = (app.root(), depth.clone(), own.clone());
        let effect = M::on(&app, Arc::new(move || {
            let (ctx, me) = (ctx.clone(), me.get().unwrap().clone());
            let level = d.fetch_add(1, SeqCst) + 1;
            Box::pin(async move {
                if level < 100 {
                    M::go(&ctx).await;
                } else {
                    me.dispose().await;
                }
            })
        }));
        own.set(effect.clone()).unwrap();
        M::go(&app).await;
        assert!(effect.dispose().await.is_clean());
        M::go(&app).await;
        assert_eq!((depth.load(SeqCst), M::listeners(&app), errors.take()), (100, 0, vec![]));
    }

    // spec: design/P3
    #[test]
    async fn a_listener_unloads_its_own_plugin<M>() {
        let (app, errors) = host();
        let log = Log::default();
        let (canary, gone) = Canary::new();
        let canary = Mutex::new(Some(canary));
        let l = log.clone();
        let owner = plugin(&app, "owner", move |ctx| {
            let (l, fiber, canary) = (l.clone(), ctx.fiber(), canary.lock().unwrap().take());
            M::on(ctx, Arc::new(move || {
                let (l, fiber, _kept) = (l.clone(), fiber.clone(), &canary);
                Box::pin(async move {
                    fiber.dispose().await;
                    l.add("requested");
                })
            }));
            let l = Log::clone(&log);
            ctx.effect("bye", async move || l.add("undone"))?;
            Ok(())
        }).await;
        let behind = Log::default();
        M::on(&app, note(&behind, "behind"));
        M::go(&app).await;
        assert!(owner.dispose().await.is_clean());
        assert_eq!(owner.state(), State::Disposed);
        assert!(gone.load(SeqCst));
        M::go(&app).await;
        assert_eq!((behind.take(), M::listeners(&app)), (vec!["behind".to_owned(); 2], 1));
        assert_eq!(errors.take(), []);
    }

    // spec: design/P3
    #[test]
    async fn a_listener_unloads_another_plugin_and_mounts_a_third<M>() {
        let (app, errors) = host();
        let log = Log::default();
        let l = log.clone();
        let victim = plugin(&app, "victim", move |ctx| { M::on(ctx, note(&l, "victim")); Ok(()) }).await;
        let (ctx, l, v) = (app.root(), log.clone(), victim.clone());
        let prepend = How { prepend: true, once: true, ..How::default() };
        M::place(&app, prepend, Arc::new(move || {
            let (v, l) = (v.clone(), l.clone());
            let third = define("third").run_boxed(move |ctx, (): (), (): &()| {
                M::on(ctx, note(&l, "third"));
                Box::pin(async { Ok(()) })
            });
            ctx.plugin(third, ()).unwrap();
            Box::pin(async move { v.dispose().await; })
        })).unwrap();
        M::go(&app).await;
        app.quiet().await;
        assert_eq!(victim.state(), State::Disposed);
        // Only a dispatch that awaits its listeners one by one must have seen the end of it.
        let heard = log.take();
        assert!(heard.is_empty() || !["SerialMode", "WaterfallMode"].contains(&M::NAME), "{heard:?}");
        M::go(&app).await;
        assert_eq!((log.take(), errors.take()), (vec!["third".to_owned()], vec![]));
    }

    // spec: design/P3
    #[test]
    async fn a_captured_value_registers_emits_and_disposes_when_it_is_dropped<M>() {
        let (app, errors) = host();
        let log = Log::default();
        let sink = log.clone();
        app.on(OTHER).run(move |n| sink.add(format!("other {n}"))).unwrap();
        let neighbour = M::on(&app, note(&log, "neighbour"));
        let busy = OnDrop::new({
            let (ctx, log) = (app.root(), log.clone());
            move || {
                M::on(&ctx, note(&log, "registered by a drop"));
                neighbour.cancel();
                ctx.emit(OTHER, &1);
                ctx.provide(SERVICE, Arc::new(1)).unwrap();
            }
        });
        let effect = M::on(&app, act(move || { let _kept = &busy; }));
        assert!(effect.dispose().await.is_clean());
        M::go(&app).await;
        assert_eq!(log.take(), ["other 1", "registered by a drop"]);
        assert_eq!((errors.take(), app.get(SERVICE).is_some()), (vec![], true));
    }

    // spec: design/P3
    #[test]
    async fn a_refused_listener_is_dropped_outside_of_all_locks<M>() {
        let (app, errors) = host();
        let log = Log::default();
        let fiber = plugin(&app, "gone", |_| Ok(())).await;
        let dead = fiber.context();
        fiber.dispose().await;
        let busy = OnDrop::new({
            let (ctx, log) = (app.root(), log.clone());
            move || { M::on(&ctx, note(&log, "registered by a drop")); }
        });
        let refused = M::place(&dead, How::default(), act(move || { let _kept = &busy; }));
        assert!(refused.is_err());
        M::go(&app).await;
        assert_eq!((log.take(), errors.take()), (vec!["registered by a drop".to_owned()], vec![]));
    }

    // spec: design/P3
    #[test]
    async fn a_once_listener_whose_captures_dispatch_again_when_they_drop<M>() {
        let (app, errors) = host();
        let log = Log::default();
        let (ctx, l) = (app.root(), log.clone());
        let busy = OnDrop::new(move || {
            M::on(&ctx, note(&l, "registered by a drop"));
            ctx.emit(OTHER, &1);
        });
        let (l, sink) = (log.clone(), log.clone());
        app.on(OTHER).run(move |n| sink.add(format!("other {n}"))).unwrap();
        let once = M::once(&app, act(move || { let _kept = &busy; l.add("once"); }));
        M::go(&app).await;
        assert!(once.dispose().await.is_clean());
        M::go(&app).await;
        assert_eq!(log.take(), ["once", "other 1", "registered by a drop"]);
        assert_eq!(errors.take(), []);
    }
}

/// Runs a function when it is dropped.
struct OnDrop(Option<Box<dyn FnOnce() + Send + Sync>>);

impl OnDrop {
    fn new(f: impl FnOnce() + Send + Sync + 'static) -> Self {
        OnDrop(Some(Box::new(f)))
    }
}

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.take().unwrap()();
    }
}

// spec: design/P3
#[tokio::test(start_paused = true)]
async fn an_observer_of_failures_that_causes_failures_does_not_run_for_ever() {
    const BAD: Emit<u32> = Emit::new("bad");
    let (app, _) = host();
    let told = Arc::new(AtomicU32::new(0));
    app.on(BAD).run(|_| panic!("bad")).unwrap();
    let (ctx, t) = (app.root(), told.clone());
    app.on(cordis::keys::ERROR)
        .run(move |_| {
            if t.fetch_add(1, SeqCst) < 40 {
                ctx.emit(BAD, &1);
            }
        })
        .unwrap();
    app.emit(BAD, &1);
    let told = told.load(SeqCst);
    assert!((1..40).contains(&told), "told {told} times of one failure");
}

// spec: design/P3
#[tokio::test(start_paused = true)]
async fn a_listener_shuts_the_app_down() {
    let (app, errors) = host();
    let app = Arc::new(app);
    let done = Arc::new(AtomicBool::new(false));
    let (host, d) = (Arc::downgrade(&app), done.clone());
    WaterfallMode::on(
        &app,
        Arc::new(move || {
            let (host, d) = (host.upgrade().unwrap(), d.clone());
            Box::pin(async move {
                host.shutdown().await;
                d.store(true, SeqCst);
            })
        }),
    );
    WaterfallMode::go(&app).await;
    assert!(app.shutdown().await.is_clean());
    assert!(done.load(SeqCst));
    assert!(app.on(OTHER).run(|_| ()).is_err());
    assert_eq!(errors.take(), []);
}
