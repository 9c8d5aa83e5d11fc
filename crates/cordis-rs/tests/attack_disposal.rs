//! Attacks on the path of disposers.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use cordis::{testing::TestApp, *};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

const LIMIT: Duration = Duration::from_millis(200);
const TOLD: Emit<()> = Emit::new("told");

fn multi(workers: usize) -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build().unwrap()
}

/// Blocks until told, or for twenty seconds.
#[derive(Clone, Default)]
struct Flag(Arc<AtomicBool>);
impl Flag {
    fn set(&self) {
        self.0.store(true, SeqCst);
    }
    fn is(&self) -> bool {
        self.0.load(SeqCst)
    }
    fn block(&self) {
        let start = Instant::now();
        while !self.is() && start.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}
impl Drop for Flag {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.set();
        }
    }
}

// J
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disposer_cancelled_from_a_thread_outside_of_the_runtime_can_use_timers() {
    let app = TestApp::new();
    let ran = Flag::default();
    let set = ran.clone();
    let effect = app
        .effect("sleeps", async move || {
            tokio::time::sleep(Duration::from_millis(1)).await;
            set.set();
        })
        .unwrap();
    std::thread::spawn(move || effect.cancel()).join().unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    app.assert_no_errors();
    assert!(ran.is());
}

// F: two blocking disposers, two workers
#[test]
fn as_many_blocking_disposers_as_workers_are_given_up_too() {
    let runtime = multi(2);
    let gate = Flag::default();
    let blocks = gate.clone();
    let older = Flag::default();
    let seen = older.clone();
    let (tell, told) = std::sync::mpsc::channel();
    let g2 = gate.clone();
    let driver = std::thread::spawn(move || {
        runtime.block_on(async move {
            let app = TestApp::new();
            let fiber = app
                .plugin(
                    define("two").run(async |ctx: &Context, _: (), (g, o): &(Flag, Flag)| {
                        let (a, b, o) = (g.clone(), g.clone(), o.clone());
                        ctx.effect("older", async move || o.set())?;
                        ctx.effect("one", async move || a.block())?.with_limit(LIMIT);
                        ctx.effect("two", async move || b.block())?.with_limit(LIMIT);
                        Ok(())
                    }),
                    (blocks, older),
                )
                .unwrap();
            fiber.ready().await.unwrap();
            let left = fiber.dispose().await;
            tell.send(left.still_running.len()).unwrap();
            g2.set();
        });
    });
    let got = told.recv_timeout(Duration::from_secs(8));
    let older = seen.is();
    gate.set();
    driver.join().unwrap();
    assert_eq!(got.ok(), Some(2), "the dispose hangs");
    assert!(older);
}

// CC
#[tokio::test(start_paused = true)]
async fn the_cleanup_of_a_set_up_that_was_late_is_run_all_the_same() {
    let app = TestApp::new();
    let (open, ran) = (Arc::new(tokio::sync::Notify::new()), Flag::default());
    type C = (Arc<tokio::sync::Notify>, Flag, Arc<Mutex<Option<tokio::task::JoinHandle<bool>>>>);
    let task: Arc<Mutex<Option<tokio::task::JoinHandle<bool>>>> = Arc::default();
    let fiber = app
        .plugin(
            define("late").run(async |ctx: &Context, _: (), (open, ran, task): &C| {
                let (ctx, open, ran) = (ctx.clone(), open.clone(), ran.clone());
                *task.lock().unwrap() = Some(tokio::spawn(async move {
                    ctx.effect_with("group", async |_e| {
                        open.notified().await;
                        Ok(async move || ran.set())
                    })
                    .await
                    .is_ok()
                }));
                tokio::task::yield_now().await;
                Ok(())
            }),
            (open.clone(), ran.clone(), task.clone()),
        )
        .unwrap();
    fiber.ready().await.unwrap();
    tokio::time::sleep(Duration::from_millis(5)).await;
    let left = fiber.dispose().await;
    println!("{left}");
    open.notify_one();
    let task = task.lock().unwrap().take().unwrap();
    let ok = task.await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    println!("effect_with said ok: {ok}");
    assert!(ran.is(), "what was acquired is lost; effect_with said ok: {ok}");
}

// shutdown in the middle
#[test]
fn a_disposer_that_the_end_of_the_runtime_cuts_is_not_reported_as_clean() {
    let (one, two) = (multi(2), multi(1));
    let _inside = one.enter();
    let app = TestApp::new();
    let ended = Flag::default();
    let set = ended.clone();
    let fiber = app
        .plugin(
            define("cut").run(async |ctx: &Context, _: (), set: &Flag| {
                let set = set.clone();
                ctx.effect("slow", async move || {
                    tokio::time::sleep(Duration::from_secs(5)).await;
                    set.set();
                })?;
                Ok(())
            }),
            set,
        )
        .unwrap();
    one.block_on(fiber.ready()).unwrap();
    let disposing = two.spawn(async move { fiber.dispose().await });
    std::thread::sleep(Duration::from_millis(200));
    drop(_inside);
    one.shutdown_background();
    let left = two.block_on(async { tokio::time::timeout(Duration::from_secs(15), disposing).await });
    let left = left.expect("hangs").unwrap();
    println!("{left}; errors {:?}", app.take_errors());
    assert!(ended.is() || !left.is_clean(), "clean though the disposer never ended");
}

// JJ
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_observer_of_failures_that_blocks_does_not_keep_a_late_disposer_alive() {
    let app = TestApp::new();
    let gate = Flag::default();
    let blocks = gate.clone();
    app.on(keys::ERROR).run(move |_| blocks.block()).unwrap();
    let fiber = app
        .plugin(
            define("late").run(async |ctx: &Context, _: (), _: &()| {
                ctx.effect("never", async move || std::future::pending::<()>().await)?.with_limit(LIMIT);
                Ok(())
            }),
            (),
        )
        .unwrap();
    fiber.ready().await.unwrap();
    let left = tokio::time::timeout(Duration::from_secs(3), fiber.dispose()).await;
    gate.set();
    left.expect("the dispose waits for an observer of failures");
}

// order
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn teardown_is_sequential_and_newest_first_with_groups_and_cancels() {
    for round in 0..50 {
        let app = TestApp::new();
        type Log = Arc<Mutex<Vec<(u32, bool)>>>;
        let log: Log = Arc::default();
        let fiber = app
            .plugin(
                define("o").run(async |ctx: &Context, _: (), log: &Log| {
                    let eff = |n: u32| {
                        let log = log.clone();
                        async move || {
                            log.lock().unwrap().push((n, true));
                            for _ in 0..n % 4 {
                                tokio::task::yield_now().await;
                            }
                            if n % 5 == 0 {
                                tokio::time::sleep(Duration::from_millis(1)).await;
                            }
                            log.lock().unwrap().push((n, false));
                        }
                    };
                    for n in 0..10 {
                        ctx.effect("x", eff(n))?;
                    }
                    ctx.effect_with("g", async |e| {
                        for n in 10..15 {
                            e.effect("y", eff(n))?;
                        }
                        e.effect_with("gg", async |e| {
                            for n in 15..20 {
                                e.effect("z", eff(n))?;
                            }
                            Ok(())
                        })
                        .await?;
                        Ok(eff(20))
                    })
                    .await?;
                    for n in 21..30 {
                        ctx.effect("x", eff(n))?;
                    }
                    Ok(())
                }),
                log.clone(),
            )
            .unwrap();
        fiber.ready().await.unwrap();
        let other = fiber.clone();
        let (a, b) = tokio::join!(fiber.dispose(), tokio::spawn(async move { other.dispose().await }));
        assert!(a.is_clean() && b.unwrap().is_clean());
        let got = log.lock().unwrap().clone();
        let want: Vec<_> = (0..30).rev().flat_map(|n| [(n, true), (n, false)]).collect();
        assert_eq!(got, want, "round {round}");
        app.assert_no_errors();
    }
}

async fn many(n: usize, limited: bool, ctx: &Context, ended: &Arc<AtomicUsize>) {
    for _ in 0..n {
        let ended = ended.clone();
        let effect = ctx
            .effect("e", async move || {
                tokio::task::yield_now().await;
                ended.fetch_add(1, SeqCst);
            })
            .unwrap();
        if limited {
            effect.with_limit(Duration::from_secs(5));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cost_of_many_disposers_grows_with_their_number() {
    let mut took = Vec::new();
    for (n, limited) in [(10_000, false), (20_000, false), (10_000, true), (20_000, true)] {
        let app = TestApp::new();
        let ended = Arc::new(AtomicUsize::new(0));
        let before = tokio::runtime::Handle::current().metrics().num_alive_tasks();
        let fiber = app
            .plugin(
                define("m").run(async |ctx: &Context, _: (), c: &(usize, bool, Arc<AtomicUsize>)| {
                    many(c.0, c.1, ctx, &c.2).await;
                    Ok(())
                }),
                (n, limited, ended.clone()),
            )
            .unwrap();
        let start = Instant::now();
        fiber.ready().await.unwrap();
        let load = start.elapsed();
        let start = Instant::now();
        let left = fiber.dispose().await;
        let un = start.elapsed();
        let after = tokio::runtime::Handle::current().metrics().num_alive_tasks();
        println!("{n} limited={limited}: load {load:?} unload {un:?} tasks {before}->{after} {left}");
        assert_eq!(ended.load(SeqCst), n);
        took.push(load + un);
    }
    assert!(took[3] < took[2] * 3, "twice as many limits cost {:?} instead of {:?}", took[3], took[2]);
}

#[test]
fn app_dropped_with_its_runtime_runs_ten_thousand_disposers() {
    for kind in 0..3 {
        let runtime = if kind == 0 {
            tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
        } else {
            multi(2)
        };
        let ended = Arc::new(AtomicUsize::new(0));
        let count = ended.clone();
        runtime.block_on(async move {
            let app = TestApp::new();
            let fiber = app
                .plugin(
                    define("m").run(async |ctx: &Context, _: (), ended: &Arc<AtomicUsize>| {
                        for _ in 0..10_000 {
                            let ended = ended.clone();
                            ctx.effect("e", async move || {
                                ended.fetch_add(1, SeqCst);
                            })?;
                        }
                        Ok(())
                    }),
                    count,
                )
                .unwrap();
            fiber.ready().await.unwrap();
            if kind == 2 {
                std::mem::forget(app);
            } else {
                drop(app);
            }
        });
        drop(runtime);
        println!("{kind}: {}", ended.load(SeqCst));
        if kind < 2 {
            assert_eq!(ended.load(SeqCst), 10_000, "{kind}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn cancel_and_dispose_race_ends_once() {
    for _ in 0..500 {
        let app = TestApp::new();
        let count = Arc::new(AtomicUsize::new(0));
        let c = count.clone();
        let effect = app
            .effect("e", async move || {
                tokio::task::yield_now().await;
                c.fetch_add(1, SeqCst);
            })
            .unwrap();
        let (a, b, c) = (effect.clone(), effect.clone(), effect.clone());
        let t = std::thread::spawn(move || a.cancel());
        let d = tokio::spawn(async move { b.dispose().await });
        c.dispose().await;
        assert_eq!(count.load(SeqCst), 1);
        d.await.unwrap();
        t.join().unwrap();
        assert_eq!(app.effects(&app), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_of_zero_and_of_ever() {
    let app = TestApp::new();
    let ran = Flag::default();
    let set = ran.clone();
    let e = app.effect("zero", async move || set.set()).unwrap().with_limit(Duration::ZERO);
    println!("{}", e.dispose().await);
    assert!(ran.is(), "a disposer with no time is not run at all");
    let e = app.effect("ever", async move || ()).unwrap().with_limit(Duration::MAX);
    assert!(e.dispose().await.is_clean());
}

// a listener of another plugin cancels; the disposer disposes the plugin of that listener, and awaits it
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_disposer_begun_inside_of_a_listener_still_waits_for_what_it_disposes() {
    let app = TestApp::new();
    type C = (Flag, Arc<Mutex<Option<Effect>>>);
    let order: Arc<Mutex<Vec<String>>> = Arc::default();
    let kept: Arc<Mutex<Option<Effect>>> = Arc::default();
    let undone = Flag::default();
    let a = app
        .plugin(
            define("a").run(async |ctx: &Context, _: (), (undone, kept): &C| {
                let undone = undone.clone();
                ctx.effect("slow", async move || {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    undone.set();
                })?;
                let kept = kept.clone();
                ctx.on(TOLD).run(move |()| {
                    let e = kept.lock().unwrap().take();
                    if let Some(e) = e {
                        e.cancel();
                    }
                })?;
                Ok(())
            }),
            (undone.clone(), kept.clone()),
        )
        .unwrap();
    a.ready().await.unwrap();
    let (target, seen, log) = (a.clone(), undone.clone(), order.clone());
    let effect = app
        .effect("disposes a", async move || {
            let left = target.dispose().await;
            log.lock().unwrap().push(format!("{left} undone={}", seen.is()));
        })
        .unwrap();
    *kept.lock().unwrap() = Some(effect);
    app.emit(TOLD, &());
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert_eq!(*order.lock().unwrap(), ["nothing left behind undone=true"]);
}
