//! In which order listeners run, which of them, and how often: the same in all six modes.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod support_events;

use cordis::{Bail, Emit, Event, Mode as KeyMode, Serial, Waterfall};
use std::sync::{Arc, Mutex};
use support_events::*;

const WORK: Waterfall<u32, u32> = Waterfall::new("work");

in_every_mode! {
    // spec: cordis-core/C105, design/P2, agent-loop/S1
    #[test]
    async fn listeners_run_in_registration_order_and_prepended_ones_first_the_last_of_them_first<M>() {
        let (app, errors) = host();
        let log = Log::default();
        let prepend = How { prepend: true, ..How::default() };
        M::on(&app, note(&log, "a"));
        M::place(&app, prepend, note(&log, "p")).unwrap();
        M::on(&app, note(&log, "b"));
        M::place(&app, prepend, note(&log, "q")).unwrap();
        M::on(&app, note(&log, "c"));
        M::go(&app).await;
        assert_eq!(log.take(), ["q", "p", "a", "b", "c"]);
        assert_eq!(errors.take(), []);
    }

    // spec: cordis-core/C106, design/P2, agent-loop/S1
    #[test]
    async fn listeners_of_several_plugins_and_scopes_have_one_order<M>() {
        let (app, _) = host();
        let log = Log::default();
        let outer = app.scope().unwrap();
        let inner = app.scope_under(&outer).unwrap();
        let one = { let log = log.clone(); plugin(&app, "one", move |ctx| { M::on(ctx, note(&log, "one")); Ok(()) }).await };
        M::on(inner.context(), note(&log, "inner"));
        M::on(&app, note(&log, "root"));
        M::on(outer.context(), note(&log, "outer"));
        let log2 = log.clone();
        plugin(&app, "two", move |ctx| { M::on(ctx, note(&log2, "two")); Ok(()) }).await;
        let prepend = How { prepend: true, ..How::default() };
        M::place(outer.context(), prepend, note(&log, "outer, prepended")).unwrap();
        M::on(inner.context(), note(&log, "inner again"));
        M::dispatch(&app, Some(&inner)).await;
        let all = ["outer, prepended", "one", "inner", "root", "outer", "two", "inner again"];
        assert_eq!(log.take(), all);
        M::dispatch(&app, Some(&outer)).await;
        assert_eq!(log.take(), ["outer, prepended", "one", "root", "outer", "two"]);
        M::go(&app).await;
        assert_eq!(log.take(), ["one", "root", "two"]);
        one.dispose().await;
        M::dispatch(&app, Some(&inner)).await;
        assert_eq!(log.take(), ["outer, prepended", "inner", "root", "outer", "two", "inner again"]);
    }

    // spec: cases/D9
    #[test]
    async fn a_later_registration_takes_the_last_place_and_not_that_of_a_removed_one<M>() {
        let (app, _) = host();
        let log = Log::default();
        let a = M::on(&app, note(&log, "a"));
        M::on(&app, note(&log, "b"));
        M::on(&app, note(&log, "c"));
        M::go(&app).await;
        assert_eq!(log.take(), ["a", "b", "c"]);
        assert!(a.dispose().await.is_clean());
        M::on(&app, note(&log, "d"));
        M::go(&app).await;
        assert_eq!(log.take(), ["b", "c", "d"]);
        assert_eq!(M::listeners(&app), 3);
    }

    // spec: cases/D3, cordis-core/C104
    #[test]
    async fn a_listener_removed_by_an_earlier_one_is_not_called_and_one_added_is_called_next_time<M>() {
        let (app, errors) = host();
        let log = Log::default();
        let b = Arc::new(Mutex::new(None::<cordis::Effect>));
        let (to_remove, l) = (b.clone(), log.clone());
        M::on(&app, Arc::new(move || {
            l.add("a");
            let b = to_remove.lock().unwrap().take();
            Box::pin(async move {
                if let Some(b) = b {
                    b.dispose().await;
                }
            })
        }));
        *b.lock().unwrap() = Some(M::on(&app, note(&log, "b")));
        let (ctx, l, added) = (app.root(), log.clone(), Mutex::new(false));
        M::on(&app, act(move || {
            l.add("c");
            if !std::mem::replace(&mut *added.lock().unwrap(), true) {
                M::on(&ctx, note(&l, "d"));
            }
        }));
        M::go(&app).await;
        assert_eq!(log.take(), ["a", "c"]);
        M::go(&app).await;
        assert_eq!(log.take(), ["a", "c", "d"]);
        assert_eq!(errors.take(), []);
    }

    // spec: cordis-core/C112
    #[test]
    async fn one_function_registered_twice_is_two_listeners<M>() {
        let (app, _) = host();
        let log = Log::default();
        let same = note(&log, "x");
        let first = M::on(&app, same.clone());
        let second = M::on(&app, same);
        M::go(&app).await;
        assert_eq!(log.take(), ["x", "x"]);
        first.dispose().await;
        M::go(&app).await;
        assert_eq!(log.take(), ["x"]);
        second.dispose().await;
        M::go(&app).await;
        assert_eq!((log.take(), M::listeners(&app)), (vec![], 0));
    }

    // spec: cordis-core/C112
    #[test]
    async fn a_listener_belongs_to_its_fiber_and_goes_with_it<M>() {
        let (app, _) = host();
        let log = Log::default();
        let l = log.clone();
        let fiber = plugin(&app, "owner", move |ctx| { M::on(ctx, note(&l, "x")); Ok(()) }).await;
        M::go(&app).await;
        assert_eq!(log.take(), ["x"]);
        assert!(fiber.dispose().await.is_clean());
        M::go(&app).await;
        assert_eq!((log.take(), M::listeners(&app)), (vec![], 0));
    }

    // spec: cases/D2, cordis-core/C112
    #[test]
    async fn once_runs_once_although_dispatched_from_inside_and_again<M>() {
        let (app, errors) = host();
        let log = Log::default();
        let (ctx, l) = (app.root(), log.clone());
        let effect = M::once(&app, Arc::new(move || {
            l.add(format!("once, {} listening", M::listeners(&ctx)));
            let ctx = ctx.clone();
            Box::pin(async move { M::go(&ctx).await })
        }));
        M::on(&app, note(&log, "always"));
        assert!(effect.is_live());
        M::go(&app).await;
        // The inner dispatch came first; it found the other listener only.
        assert_eq!(log.take(), ["once, 1 listening", "always", "always"]);
        assert!(!effect.is_live());
        M::go(&app).await;
        assert_eq!(log.take(), ["always"]);
        assert!(effect.dispose().await.is_clean());
        assert_eq!(errors.take(), []);
    }

    // spec: cordis-core/C112
    #[test]
    async fn once_can_be_disposed_before_its_first_call<M>() {
        let (app, _) = host();
        let log = Log::default();
        let effect = M::once(&app, note(&log, "once"));
        effect.dispose().await;
        M::go(&app).await;
        assert_eq!((log.take(), M::listeners(&app)), (vec![], 0));
    }

    // spec: cordis-core/C105, cordis-core/C106, cordis-core/C112
    #[test]
    async fn once_and_prepend_and_global_combine<M>() {
        let (app, _) = host();
        let log = Log::default();
        let scope = app.scope().unwrap();
        let all = How { prepend: true, once: true, global: true };
        M::on(&app, note(&log, "a"));
        M::place(scope.context(), all, note(&log, "all of it")).unwrap();
        M::go(&app).await;
        M::go(&app).await;
        assert_eq!(log.take(), ["all of it", "a", "a"]);
    }

    // spec: cases/D7
    #[test]
    async fn once_takes_part_the_first_time_and_nothing_of_it_is_left<M>() {
        let (app, _) = host();
        let log = Log::default();
        let (canary, gone) = Canary::new();
        let l = log.clone();
        let once = M::once(&app, act(move || {
            let _kept = &canary;
            l.add("once");
        }));
        M::on(&app, note(&log, "b"));
        M::on(&app, note(&log, "c"));
        for expected in [&["once", "b", "c"][..], &["b", "c"], &["b", "c"]] {
            M::go(&app).await;
            assert_eq!(log.take(), expected);
            assert_eq!(M::listeners(&app), 2);
            assert!(once.dispose().await.is_clean());
            assert!(gone.load(std::sync::atomic::Ordering::SeqCst), "its captures are dropped");
        }
        let labels: Vec<_> = app.inspect().fiber.effects.iter().map(|effect| effect.label.clone()).collect();
        assert_eq!(labels.iter().filter(|label| label.contains("test/")).count(), 2, "{labels:?}");
    }
}

// spec: cases/D7
#[tokio::test(start_paused = true)]
async fn once_on_a_waterfall_wraps_the_first_dispatch_only() {
    let (app, _) = host();
    app.on(WORK).once().run(async |n, next| 100 + next.run(n).await).unwrap();
    app.on(WORK).run(async |n, next| 10 + next.run(n).await).unwrap();
    app.on(WORK).run(async |n, next| 1 + next.run(n).await).unwrap();
    let mut results = Vec::new();
    for _ in 0..3 {
        results.push(app.waterfall(WORK, &mut 1000, &(), async |_, n| *n).await.unwrap());
    }
    assert_eq!(results, [1111, 1011, 1011]);
    assert_eq!(app.listeners(WORK), 2);
}

// spec: cordis-core/C103
#[test]
fn a_key_is_a_name_a_mode_and_types() {
    assert_eq!(
        (WORK.name(), WORK.mode(), format!("{WORK:?}")),
        ("work", KeyMode::Waterfall, "Waterfall(\"work\")".into())
    );
    const OTHER: Emit<&str> = Emit::new("a name of any form");
    assert_eq!((OTHER.name(), OTHER.mode().to_string()), ("a name of any form", "emit".into()));
}

// spec: cordis-core/C121
#[tokio::test(start_paused = true)]
async fn functions_pass_through_a_dispatch_as_they_are() {
    const CALL: Emit<fn(u32) -> u32> = Emit::new("call");
    const MADE: Bail<u32, fn(u32) -> u32> = Bail::new("made");
    const BOXED: Serial<u32, Box<dyn Fn() -> u32 + Send>> = Serial::new("boxed");
    fn double(n: u32) -> u32 {
        n * 2
    }
    let (app, _) = host();
    let seen = Arc::new(Mutex::new(None::<fn(u32) -> u32>));
    let sink = seen.clone();
    app.on(CALL).run(move |f| *sink.lock().unwrap() = Some(*f)).unwrap();
    app.emit(CALL, &(double as fn(u32) -> u32));
    let seen = seen.lock().unwrap().take().unwrap();
    assert!(std::ptr::fn_addr_eq(seen, double as fn(u32) -> u32));
    app.on(MADE).run(|_| Some(double)).unwrap();
    assert!(std::ptr::fn_addr_eq(app.bail(MADE, &1).unwrap(), double as fn(u32) -> u32));
    app.on(BOXED)
        .run(async |n| {
            let n = *n;
            Ok(Some(Box::new(move || n) as _))
        })
        .unwrap();
    assert_eq!(app.serial(BOXED, &7).await.unwrap().unwrap()(), 7);
}
