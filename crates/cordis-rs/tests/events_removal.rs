//! Removing listeners that run: dispose waits until no call of them runs and their captures are dropped, and no longer.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod support_events;

use cordis::{Disposed, Effect, Parallel, Serial, State, Waterfall};
use std::{
    sync::{Arc, OnceLock, atomic::Ordering::SeqCst},
    time::Duration,
};
use support_events::*;
use tokio::{
    sync::Semaphore,
    task::yield_now,
    time::{self, Instant},
};

const WORK: Waterfall<u32, u32> = Waterfall::new("work");
const ALL: Parallel<u32> = Parallel::new("all");
const ASK: Serial<u32, u32> = Serial::new("ask");

/// Lets a listener be held inside of its call, and tells that it is there.
#[derive(Clone)]
struct Gate(Arc<(Semaphore, Semaphore)>);

impl Gate {
    fn new() -> Self {
        Gate(Arc::new((Semaphore::new(0), Semaphore::new(0))))
    }

    /// In the listener.
    async fn pass(&self) {
        self.0.0.add_permits(1);
        self.0.1.acquire().await.unwrap().forget();
    }

    /// Waits until a listener is inside.
    async fn reached(&self) {
        self.0.0.acquire().await.unwrap().forget();
    }

    fn open(&self) {
        self.0.1.add_permits(1);
    }
}

/// An act that is held at `gate` and keeps a canary.
fn held(gate: &Gate) -> (Act, Arc<std::sync::atomic::AtomicBool>) {
    let (canary, gone) = Canary::new();
    let (gate, canary) = (gate.clone(), Arc::new(canary));
    let act: Act = Arc::new(move || {
        let (gate, canary) = (gate.clone(), canary.clone());
        Box::pin(async move {
            gate.pass().await;
            drop(canary);
        })
    });
    (act, gone)
}

async fn suspended_and_disposed<M: Mode>() {
    let (app, errors) = host();
    let log = Log::default();
    let gate = Gate::new();
    let above = M::on(&app, note(&log, "above"));
    let (act, gone) = held(&gate);
    let middle = M::on(&app, act);
    let below = M::on(&app, note(&log, "below"));
    let ctx = app.root();
    let dispatch = tokio::spawn(async move { M::go(&ctx).await });
    gate.reached().await;
    // What has not been reached goes at once, and so does what is over; only a wrapper is still running.
    assert!(now(below.dispose()).is_some_and(|disposed| disposed.is_clean()));
    assert_eq!(now(above.dispose()).is_some(), M::NAME != "WaterfallMode");
    let disposing = tokio::spawn({
        let (middle, gone) = (middle.clone(), gone.clone());
        async move { (middle.dispose().await, gone.load(SeqCst)) }
    });
    for _ in 0..5 {
        yield_now().await;
    }
    assert!(!disposing.is_finished() && !gone.load(SeqCst));
    assert!(!middle.is_live());
    // A dispatch from now on does not find it.
    M::go(&app).await;
    gate.open();
    assert_eq!(disposing.await.unwrap(), (Disposed::default(), true));
    dispatch.await.unwrap();
    above.dispose().await;
    assert_eq!((M::listeners(&app), errors.take()), (0, vec![]));
    // In `parallel` the last one had started before it was removed.
    let heard = log.take();
    assert_eq!(heard.iter().filter(|line| *line == "above").count(), 1);
    assert_eq!(heard.iter().filter(|line| *line == "below").count(), usize::from(M::NAME == "ParallelMode"));
}

async fn dropped_half_way<M: Mode>() {
    let (app, errors) = host();
    let log = Log::default();
    let gate = Gate::new();
    let (act, gone) = held(&gate);
    let once = M::once(&app, act);
    let behind = M::on(&app, note(&log, "behind"));
    let mut dispatch = M::go(&app);
    assert!(now(dispatch.as_mut()).is_none());
    let mut disposing = Box::pin(once.dispose());
    assert!(now(disposing.as_mut()).is_none());
    drop(dispatch);
    assert!(disposing.await.is_clean());
    assert!(gone.load(SeqCst), "nothing holds the captures any more");
    log.take();
    M::go(&app).await;
    assert_eq!(log.take(), ["behind"]);
    assert!(behind.dispose().await.is_clean());
    assert_eq!((M::listeners(&app), errors.take()), (0, vec![]));
}

async fn plugin_unloaded_while_its_listener_runs<M: Mode>() {
    let (app, errors) = host();
    let gate = Gate::new();
    let (act, gone) = held(&gate);
    let act = std::sync::Mutex::new(Some(act));
    let owner = plugin(&app, "owner", move |ctx| {
        M::on(ctx, act.lock().unwrap().take().unwrap());
        Ok(())
    })
    .await;
    let ctx = app.root();
    let dispatch = tokio::spawn(async move { M::go(&ctx).await });
    gate.reached().await;
    let disposing = tokio::spawn({
        let (owner, gone) = (owner.clone(), gone.clone());
        async move { (owner.dispose().await, gone.load(SeqCst)) }
    });
    owner.until(State::Unloading).await;
    for _ in 0..5 {
        yield_now().await;
    }
    assert!(!disposing.is_finished());
    gate.open();
    assert_eq!(disposing.await.unwrap(), (Disposed::default(), true));
    dispatch.await.unwrap();
    assert_eq!((M::listeners(&app), errors.take()), (0, vec![]));
}

async fn once_is_over_or_prevented<M: Mode>() {
    let (app, _) = host();
    let gate = Gate::new();
    let (act, gone) = held(&gate);
    let once = M::once(&app, act);
    let ctx = app.root();
    let dispatch = tokio::spawn(async move { M::go(&ctx).await });
    gate.reached().await;
    let mut disposing = Box::pin(once.dispose());
    assert!(now(disposing.as_mut()).is_none(), "a claimed one is waited for");
    gate.open();
    assert!(disposing.await.is_clean());
    assert!(gone.load(SeqCst));
    dispatch.await.unwrap();
}

async fn not_started_while_being_removed<M: Mode>() {
    let (app, errors) = host();
    let log = Log::default();
    let (first, second) = (Gate::new(), Gate::new());
    let (g, l) = (first.clone(), log.clone());
    M::once(
        &app,
        Arc::new(move || {
            let (g, l) = (g.clone(), l.clone());
            Box::pin(async move {
                g.pass().await;
                l.add("once goes on");
            })
        }),
    );
    let (g, l) = (second.clone(), log.clone());
    let removed = M::on(
        &app,
        Arc::new(move || {
            l.add("removed is called");
            let g = g.clone();
            Box::pin(async move { g.pass().await })
        }),
    );
    let dispatch = || {
        let ctx = app.root();
        tokio::spawn(async move { M::go(&ctx).await })
    };
    // One dispatch stands before the listener, another one is inside of it.
    let before = dispatch();
    first.reached().await;
    let inside = dispatch();
    second.reached().await;
    assert_eq!(log.take(), ["removed is called"]);
    let mut disposing = Box::pin(removed.dispose());
    assert!(now(disposing.as_mut()).is_none());
    first.open();
    let before = time::timeout(Duration::from_secs(60), before).await;
    before.expect("it passes the listener over").unwrap();
    assert_eq!(log.take(), ["once goes on"]);
    assert!(now(disposing.as_mut()).is_none());
    second.open();
    assert!(disposing.await.is_clean());
    inside.await.unwrap();
    assert_eq!((M::listeners(&app), errors.take()), (0, vec![]));
}

on_both_flavours! {
    // spec: cordis-core/C104, design/P1
    #[test]
    async fn a_listener_that_is_being_removed_while_one_dispatch_runs_it_is_not_started_by_another() {
        not_started_while_being_removed::<SerialMode>().await;
        not_started_while_being_removed::<WaterfallMode>().await;
    }

    // spec: design/P1
    #[test]
    async fn dispose_waits_for_a_suspended_call_and_for_no_other_listener_of_the_dispatch() {
        suspended_and_disposed::<SerialMode>().await;
        suspended_and_disposed::<ParallelMode>().await;
        suspended_and_disposed::<WaterfallMode>().await;
    }

    // spec: design/P1
    #[test]
    async fn a_dispatch_future_dropped_half_way_lets_its_listeners_go() {
        dropped_half_way::<SerialMode>().await;
        dropped_half_way::<ParallelMode>().await;
        dropped_half_way::<WaterfallMode>().await;
    }

    // spec: design/P1
    #[test]
    async fn unloading_a_plugin_waits_for_its_suspended_listener_and_drops_its_captures() {
        plugin_unloaded_while_its_listener_runs::<SerialMode>().await;
        plugin_unloaded_while_its_listener_runs::<ParallelMode>().await;
        plugin_unloaded_while_its_listener_runs::<WaterfallMode>().await;
    }

    // spec: cordis-core/C112, design/P1
    #[test]
    async fn a_dispose_that_races_with_a_once_waits_for_its_call() {
        once_is_over_or_prevented::<SerialMode>().await;
        once_is_over_or_prevented::<ParallelMode>().await;
        once_is_over_or_prevented::<WaterfallMode>().await;
    }

    // spec: design/P3
    #[test]
    async fn a_listener_that_disposes_its_wrapper_only_requests() {
        let (app, errors) = host();
        let wrapper = Arc::new(OnceLock::<Effect>::new());
        let effect = app.on(WORK).run(async |n, next| { yield_now().await; next.run(n).await + 10 }).unwrap();
        wrapper.set(effect.clone()).unwrap();
        app.on(WORK).with(wrapper).run(async |wrapper, n, next| {
            yield_now().await;
            wrapper.get().unwrap().dispose().await;
            next.run(n).await + 1
        }).unwrap();
        assert_eq!(app.waterfall(WORK, &mut 100, &(), async |_, n| *n).await.unwrap(), 111);
        assert!(effect.dispose().await.is_clean());
        assert_eq!(app.waterfall(WORK, &mut 100, &(), async |_, n| *n).await.unwrap(), 101);
        assert_eq!(errors.take(), []);
    }

    // spec: design/P1
    #[test]
    async fn a_listener_of_one_app_waits_for_a_running_listener_of_another() {
        let (one, other) = (host().0, host().0);
        let gate = Gate::new();
        let (act, gone) = held(&gate);
        // Built alike, so that numbers of effects and fibers are the same in both.
        let theirs = SerialMode::on(&other, act);
        let ctx = other.root();
        let held = tokio::spawn(async move { SerialMode::go(&ctx).await });
        gate.reached().await;
        SerialMode::on(&one, Arc::new(move || {
            let (theirs, gone) = (theirs.clone(), gone.clone());
            Box::pin(async move {
                theirs.dispose().await;
                assert!(gone.load(SeqCst), "nothing of it runs any more");
            })
        }));
        let ctx = one.root();
        let disposing = tokio::spawn(async move { SerialMode::go(&ctx).await });
        for _ in 0..5 {
            yield_now().await;
        }
        gate.open();
        disposing.await.unwrap();
        held.await.unwrap();
    }

    // spec: design/P3
    #[test]
    async fn the_inner_step_disposes_a_wrapper_and_only_requests() {
        let (app, errors) = host();
        let effect = app.on(WORK).run(async |n, next| next.run(n).await + 10).unwrap();
        let step = async |effect: &Effect, n: &mut u32| {
            effect.dispose().await;
            *n
        };
        assert_eq!(app.waterfall(WORK, &mut 1, &effect, step).await.unwrap(), 11);
        assert!(effect.dispose().await.is_clean());
        assert_eq!((app.listeners(WORK), errors.take()), (0, vec![]));
    }
}

/// One listener that never ends; gives what disposing it says and how long that took.
async fn given_up<M: Mode>(
    once: bool,
    whole_plugin: bool,
) -> (Disposed, Duration, Vec<(String, String, String)>) {
    let (app, errors) = host();
    let effect = Arc::new(OnceLock::new());
    let e = effect.clone();
    let owner = plugin(&app, "owner", move |ctx| {
        let how = How { once, ..How::default() };
        e.set(M::place(ctx, how, Arc::new(|| Box::pin(std::future::pending())))?).unwrap();
        Ok(())
    })
    .await;
    let ctx = app.root();
    let dispatch = tokio::spawn(async move { M::go(&ctx).await });
    yield_now().await;
    let start = Instant::now();
    let limit = Duration::from_secs(3600);
    let disposed = time::timeout(limit, async {
        if whole_plugin { owner.dispose().await } else { effect.get().unwrap().dispose().await }
    });
    let disposed = disposed.await.expect("the wait has an end");
    let took = start.elapsed();
    dispatch.abort();
    (disposed, took, errors.take())
}

async fn is_given_up<M: Mode>(once: bool) {
    for whole_plugin in [false, true] {
        let (disposed, took, errors) = given_up::<M>(once, whole_plugin).await;
        let step = format!("ctx.on(\"test/{}\")", M::NAME.strip_suffix("Mode").unwrap().to_lowercase());
        let late: Vec<_> = disposed.still_running.iter().map(|late| (&*late.plugin, &*late.step)).collect();
        assert_eq!(late, [("owner#1", &*step)], "once: {once}, whole plugin: {whole_plugin}");
        assert_eq!(took, cordis::DEFAULT_LIMIT);
        let text = "is still running past its limit; it is not waited for";
        assert_eq!(errors, [report("owner", &step, text)]);
    }
}

// spec: design/P1
#[tokio::test(start_paused = true)]
async fn a_listener_that_never_ends_is_given_up_after_the_limit_and_named() {
    is_given_up::<SerialMode>(false).await;
    is_given_up::<ParallelMode>(false).await;
    is_given_up::<WaterfallMode>(false).await;
}

// spec: design/P1, cordis-core/C112
#[tokio::test(start_paused = true)]
async fn a_once_listener_that_never_ends_is_given_up_after_the_limit_and_named() {
    is_given_up::<SerialMode>(true).await;
    is_given_up::<ParallelMode>(true).await;
    is_given_up::<WaterfallMode>(true).await;
}

// spec: design/P3
#[tokio::test(start_paused = true)]
async fn two_running_listeners_that_dispose_each_other_end_and_both_are_named() {
    let (app, errors) = host();
    let both: Arc<[OnceLock<Effect>; 2]> = Arc::default();
    for other in [1, 0] {
        let name = if other == 1 { "a" } else { "b" };
        let both = both.clone();
        plugin(&app, name, move |ctx| {
            let state = (both.clone(), other);
            let effect = ctx.on(ALL).with(state).run(async |(both, other), _| {
                yield_now().await;
                both[*other].get().unwrap().dispose().await;
                Ok(())
            })?;
            both[1 - other].set(effect).unwrap();
            Ok(())
        })
        .await;
    }
    let ended = time::timeout(Duration::from_secs(60), app.parallel(ALL, &1)).await;
    assert!(ended.expect("the wait has an end").is_ok());
    app.quiet().await;
    assert_eq!(app.listeners(ALL), 0);
    let mut named: Vec<_> = errors.take().into_iter().map(|(plugin, step, _)| (plugin, step)).collect();
    named.sort();
    // The first wait to be given up may end the other one in time.
    let all = ["a", "b"].map(|plugin| (plugin.to_owned(), "ctx.on(\"all\")".to_owned()));
    assert!(!named.is_empty() && named.iter().all(|name| all.contains(name)), "{named:?}");
}

// spec: design/P3
#[tokio::test(start_paused = true)]
async fn a_listener_that_awaits_a_task_which_disposes_it_ends() {
    let (app, errors) = host();
    let own = Arc::new(OnceLock::<Effect>::new());
    let effect = app.on(ASK).with(own.clone()).run(async |own, _| {
        let own = own.get().unwrap().clone();
        Ok(Some(tokio::spawn(async move { own.dispose().await.still_running.len() as u32 }).await?))
    });
    own.set(effect.unwrap()).unwrap();
    let answer = time::timeout(Duration::from_secs(60), app.serial(ASK, &1)).await;
    assert_eq!(answer.expect("the wait has an end").unwrap(), Some(1));
    let text = "is still running past its limit; it is not waited for";
    assert_eq!(errors.take(), [report("root", "ctx.on(\"ask\")", text)]);
}

// spec: cases/L12
#[tokio::test(start_paused = true)]
async fn a_dispose_future_dropped_half_way_loses_nothing_and_a_second_one_waits() {
    let (app, errors) = host();
    let gate = Gate::new();
    let (act, gone) = held(&gate);
    let effect = SerialMode::on(&app, act);
    let ctx = app.root();
    let dispatch = tokio::spawn(async move { SerialMode::go(&ctx).await });
    gate.reached().await;
    assert!(time::timeout(Duration::from_secs(1), effect.dispose()).await.is_err());
    assert_eq!(SerialMode::listeners(&app), 0);
    let (first, second) = (
        tokio::spawn({
            let e = effect.clone();
            async move { e.dispose().await }
        }),
        effect.clone(),
    );
    let second = tokio::spawn(async move { second.dispose().await });
    yield_now().await;
    assert!(!first.is_finished() && !second.is_finished());
    gate.open();
    assert_eq!((first.await.unwrap(), second.await.unwrap()), Default::default());
    assert!(gone.load(SeqCst));
    dispatch.await.unwrap();
    assert_eq!(errors.take(), []);
}
