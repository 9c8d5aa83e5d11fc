//! More attacks on the path of disposers.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use cordis::{testing::TestApp, *};
use std::{
    sync::{Arc, Mutex, atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst}},
    time::{Duration, Instant},
};

const LIMIT: Duration = Duration::from_millis(200);
const TOLD: Emit<()> = Emit::new("told2");

/// Says whether the teardown of an app that is dropped with its runtime goes to its end.
#[test]
fn app_dropped_before_its_runtime_undoes_all_of_its_effects() {
    let mut wrong = Vec::new();
    for (name, workers, drive) in [("current, gone", 0, false), ("multi, gone", 2, false), ("current, driven", 0, true), ("multi, driven", 2, true)] {
        let runtime = if workers == 0 { tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap() }
            else { tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build().unwrap() };
        let ended = Arc::new(AtomicUsize::new(0));
        let count = ended.clone();
        runtime.block_on(async move {
            let app = App::new().unwrap();
            for _ in 0..1_000 {
                let ended = count.clone();
                app.effect("e", async move || { ended.fetch_add(1, SeqCst); }).unwrap();
            }
            drop(app);
            if drive { for _ in 0..100 { tokio::time::sleep(Duration::from_millis(5)).await; } }
        });
        drop(runtime);
        let ended = ended.load(SeqCst);
        println!("{name}: {ended}");
        if ended != 1_000 { wrong.push((name, ended)); }
    }
    assert!(wrong.is_empty(), "of 1,000: {wrong:?}");
}

// observer of failures blocks; the watcher reports before it ends the step
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_observer_of_failures_that_waits_for_the_dispose_does_not_hold_it_up() {
    let app = TestApp::new();
    let over = Arc::new(AtomicBool::new(false));
    let seen = over.clone();
    app.on(keys::ERROR).run(move |_| {
        let start = Instant::now();
        while !seen.load(SeqCst) && start.elapsed() < Duration::from_secs(6) { std::thread::sleep(Duration::from_millis(2)); }
    }).unwrap();
    let other = app.effect("never", async move || std::future::pending::<()>().await).unwrap().with_limit(LIMIT);
    let start = Instant::now();
    other.dispose().await;
    over.store(true, SeqCst);
    println!("effect {:?}", start.elapsed());
    assert!(start.elapsed() < Duration::from_secs(3), "held up by an observer: {:?}", start.elapsed());
}

// listener past its limit
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn mutual_disposers_end_by_their_limits() {
    let app = TestApp::new();
    type Slot = Arc<Mutex<Option<Fiber>>>;
    let (a, b): (Slot, Slot) = Default::default();
    let body = async |ctx: &Context, _: (), other: &Slot| {
        let other = other.clone();
        ctx.effect("mutual", async move || {
            let other = other.lock().unwrap().clone().unwrap();
            other.dispose().await;
        })?.with_limit(LIMIT);
        Ok(())
    };
    let fa = app.plugin(define("a").run(body), b.clone()).unwrap();
    let fb = app.plugin(define("b").run(body), a.clone()).unwrap();
    fa.ready().await.unwrap();
    fb.ready().await.unwrap();
    *a.lock().unwrap() = Some(fa.clone());
    *b.lock().unwrap() = Some(fb.clone());
    let start = Instant::now();
    let (x, y) = tokio::join!(fa.dispose(), fb.dispose());
    println!("{x} | {y} {:?}", start.elapsed());
    assert!(start.elapsed() < Duration::from_secs(2));
    assert!(x.still_running.len() + y.still_running.len() >= 1);
}

// service drained: dependant's disposer never ends, provider waits for limit only
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nested_blocking_group_of_ten_ends_after_ten_limits_each_named() {
    let app = TestApp::new();
    let fiber = app.plugin(define("n").run(async |ctx: &Context, _: (), _: &()| {
        ctx.effect_with("outer", async |e| {
            for _ in 0..5 { e.effect("never", async || std::future::pending::<()>().await)?.with_limit(Duration::from_millis(30)); }
            e.effect_with("inner", async |e| {
                for _ in 0..5 { e.effect("panics", async || { if true { panic!("x") } })?; }
                Ok(async || Err::<(), BoxError>("cleanup".into()))
            }).await?;
            Ok(())
        }).await?;
        Ok(())
    }), ()).unwrap();
    fiber.ready().await.unwrap();
    let left = fiber.dispose().await;
    assert_eq!(left.still_running.len(), 5, "{left}");
    assert_eq!(app.take_errors().len(), 11);
}

// after dispose, nothing runs: late disposers dropped
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_of_a_late_disposer_runs_after_the_dispose() {
    for round in 0..40u64 {
        let app = TestApp::new();
        let live = Arc::new(AtomicBool::new(true));
        let ticks = Arc::new(AtomicUsize::new(0));
        struct Gone(Arc<AtomicBool>);
        impl Drop for Gone { fn drop(&mut self) { self.0.store(false, SeqCst); } }
        let (gone, t) = (Gone(live.clone()), ticks.clone());
        let e = app.effect("ticks", async move || {
            let _gone = gone;
            while t.fetch_add(1, SeqCst) < usize::MAX { tokio::task::yield_now().await; }
        }).unwrap().with_limit(Duration::from_millis(round % 4));
        let left = e.dispose().await;
        assert_eq!(left.still_running.len(), 1);
        assert!(!live.load(SeqCst), "round {round}: its captures live on");
        let now = ticks.load(SeqCst);
        tokio::time::sleep(Duration::from_millis(3)).await;
        assert_eq!(ticks.load(SeqCst), now, "round {round}");
    }
}

// cancel in listener whose disposer cancels listener, with dispatch
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_thousand_cancels_inside_of_listeners_and_disposers() {
    let app = TestApp::new();
    let count = Arc::new(AtomicUsize::new(0));
    let effects: Arc<Mutex<Vec<Effect>>> = Arc::default();
    for n in 0..1000 {
        let (c, next) = (count.clone(), effects.clone());
        let e = app.effect("chain", async move || {
            c.fetch_add(1, SeqCst);
            if n % 2 == 0 { tokio::task::yield_now().await; }
            let e = next.lock().unwrap().pop();
            if let Some(e) = e { e.cancel(); }
        }).unwrap();
        effects.lock().unwrap().push(e);
    }
    let list = effects.clone();
    app.on(TOLD).run(move |()| { let e = list.lock().unwrap().pop(); if let Some(e) = e { e.cancel(); } }).unwrap();
    app.emit(TOLD, &());
    for _ in 0..400 { if count.load(SeqCst) == 1000 { break; } tokio::time::sleep(Duration::from_millis(5)).await; }
    assert_eq!(count.load(SeqCst), 1000);
    app.assert_no_errors();
}

// stack: ready disposers that cancel the next, on the same stack
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_chain_of_disposers_that_cancel_each_other_needs_no_stack() {
    if std::env::var_os("ATTACK_CHILD").is_none() {
        let out = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_long_chain_of_disposers_that_cancel_each_other_needs_no_stack", "--nocapture"])
            .env("ATTACK_CHILD", "1").output().unwrap();
        assert!(out.status.success(), "{} {}", out.status, String::from_utf8_lossy(&out.stderr));
        return;
    }
    let app = TestApp::new();
    let effects: Arc<Mutex<Vec<Effect>>> = Arc::default();
    for _ in 0..20_000 {
        let next = effects.clone();
        let e = app.effect("chain", async move || {
            let e = next.lock().unwrap().pop();
            if let Some(e) = e { e.cancel(); }
        }).unwrap();
        effects.lock().unwrap().push(e);
    }
    let e = effects.lock().unwrap().pop().unwrap();
    e.cancel();
    for _ in 0..400 { if app.effects(&app) == 1 { break; } tokio::time::sleep(Duration::from_millis(5)).await; }
    assert_eq!(app.effects(&app), 1);
}

// current_thread, block_on, disposer that spawns plugins
#[tokio::test]
async fn a_disposer_that_mounts_plugins_on_the_root_leaves_them_working() {
    let app = TestApp::new();
    let fiber = app.plugin(define("m").run(async |ctx: &Context, _: (), _: &()| {
        let (root, own) = (ctx.root(), ctx.clone());
        ctx.effect("mounts", async move || {
            assert!(own.plugin(define("own").run(async |_: &Context, _: (), _: &()| Ok(())), ()).is_err());
            for _ in 0..10 {
                let f = root.plugin(define("child").run(async |_: &Context, _: (), _: &()| Ok(())), ()).unwrap();
                assert_eq!(f.ready().await.unwrap(), State::Active);
            }
        })?;
        Ok(())
    }), ()).unwrap();
    fiber.ready().await.unwrap();
    assert!(fiber.dispose().await.is_clean());
    assert_eq!(app.fibers(), 11);
    app.assert_no_errors();
}
#[tokio::test]
async fn a_disposer_that_mounts_plugins_during_a_shutdown_does_not_keep_it_from_ending() {
    let app = TestApp::new();
    let refused = Arc::new(AtomicBool::new(false));
    let (root, seen) = (app.root(), refused.clone());
    app.effect("mounts", async move || {
        seen.store(root.plugin(define("late").run(async |_: &Context, _: (), _: &()| Ok(())), ()).is_err(), SeqCst);
    }).unwrap();
    assert!(tokio::time::timeout(Duration::from_secs(5), app.shutdown()).await.unwrap().is_clean());
    assert!(refused.load(SeqCst));
}

// a step of disposal once begun: effect limit for listeners when runtime fully blocked by listener count is same as F

// block_on inside std thread with handle of a current_thread runtime that nobody drives
#[test]
fn a_dispose_that_is_polled_by_another_executor_while_nobody_drives_the_runtime_is_at_least_requested() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let app = { let _in = runtime.enter(); TestApp::new() };
    let ran = Arc::new(AtomicBool::new(false));
    let set = ran.clone();
    let e = app.effect("e", async move || set.store(true, SeqCst)).unwrap();
    e.cancel();
    assert!(ran.load(SeqCst), "cancel undoes at once what can be");
    drop(app);
}
