//! Disposers at work: where they hold others up, and where they are lost.

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
const NUMBER: Key<u32> = Key::new("number");

fn multi(workers: usize) -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build().unwrap()
}

/// Something that has happened or has not.
#[derive(Clone, Default)]
struct Flag(Arc<AtomicBool>);

/// Looks again and again until something holds; false when it does not within a minute.
fn comes_true(what: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    while !what() {
        if start.elapsed() > Duration::from_secs(60) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    true
}

impl Flag {
    fn set(&self) {
        self.0.store(true, SeqCst);
    }
    fn is(&self) -> bool {
        self.0.load(SeqCst)
    }
}

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
    // The test is on a thread of its own: it blocks no worker.
    assert!(comes_true(|| ran.is()));
    app.assert_no_errors();
}

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
    fiber.dispose().await;
    open.notify_one();
    let task = task.lock().unwrap().take().unwrap();
    let ok = task.await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    println!("effect_with said ok: {ok}");
    assert!(ran.is(), "what was acquired is lost; effect_with said ok: {ok}");
}

#[test]
fn a_disposer_that_the_end_of_the_runtime_cuts_is_not_reported_as_clean() {
    let (one, two) = (multi(2), multi(1));
    let _inside = one.enter();
    let app = TestApp::new();
    let (begun, ended) = (Flag::default(), Flag::default());
    let fiber = app
        .plugin(
            define("cut").run(async |ctx: &Context, _: (), (begun, ended): &(Flag, Flag)| {
                let (begun, ended) = (begun.clone(), ended.clone());
                ctx.effect("slow", async move || {
                    begun.set();
                    tokio::time::sleep(Duration::from_secs(3600)).await;
                    ended.set();
                })?;
                Ok(())
            }),
            (begun.clone(), ended.clone()),
        )
        .unwrap();
    one.block_on(fiber.ready()).unwrap();
    let disposing = two.spawn(async move { fiber.dispose().await });
    assert!(comes_true(|| begun.is()));
    drop(_inside);
    one.shutdown_background();
    let left = two.block_on(async { tokio::time::timeout(Duration::from_secs(60), disposing).await });
    let left = left.expect("hangs").unwrap();
    assert!(!ended.is() && !left.is_clean(), "clean though the disposer never ended");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_observer_of_failures_that_waits_for_the_dispose_does_not_hold_it_up() {
    let app = TestApp::new();
    let (over, in_vain) = (Flag::default(), Flag::default());
    let (seen, gave_up) = (over.clone(), in_vain.clone());
    app.on(keys::ERROR)
        .run(move |_| {
            if !comes_true(|| seen.is()) {
                gave_up.set();
            }
        })
        .unwrap();
    let other =
        app.effect("never", async move || std::future::pending::<()>().await).unwrap().with_limit(LIMIT);
    other.dispose().await;
    assert!(!in_vain.is(), "held up by an observer");
    over.set();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_chain_of_disposers_that_cancel_each_other_needs_no_stack() {
    if std::env::var_os("ATTACK_CHILD").is_none() {
        let out = std::process::Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "a_long_chain_of_disposers_that_cancel_each_other_needs_no_stack",
                "--nocapture",
            ])
            .env("ATTACK_CHILD", "1")
            .output()
            .unwrap();
        assert!(out.status.success(), "{} {}", out.status, String::from_utf8_lossy(&out.stderr));
        return;
    }
    let app = TestApp::new();
    let effects: Arc<Mutex<Vec<Effect>>> = Arc::default();
    for _ in 0..20_000 {
        let next = effects.clone();
        let e = app
            .effect("chain", async move || {
                let e = next.lock().unwrap().pop();
                if let Some(e) = e {
                    e.cancel();
                }
            })
            .unwrap();
        effects.lock().unwrap().push(e);
    }
    let e = effects.lock().unwrap().pop().unwrap();
    e.cancel();
    assert!(comes_true(|| app.effects(&app) == 1), "{} left", app.effects(&app));
}

#[test]
fn app_dropped_before_its_runtime_undoes_all_of_its_effects() {
    let mut wrong = Vec::new();
    let kinds = [
        ("current, gone", 0, false),
        ("multi, gone", 2, false),
        ("current, driven", 0, true),
        ("multi, driven", 2, true),
    ];
    // Whether it stops half way is a race.
    for (name, workers, drive) in kinds.iter().cycle().take(40).copied() {
        let runtime = if workers == 0 {
            tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
        } else {
            tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build().unwrap()
        };
        let ended = Arc::new(AtomicUsize::new(0));
        let count = ended.clone();
        runtime.block_on(async move {
            let app = App::new().unwrap();
            for _ in 0..1_000 {
                let ended = count.clone();
                app.effect("e", async move || {
                    ended.fetch_add(1, SeqCst);
                })
                .unwrap();
            }
            drop(app);
            if drive {
                for _ in 0..10 {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
        });
        drop(runtime);
        let ended = ended.load(SeqCst);
        if ended != 1_000 {
            wrong.push((name, ended));
        }
    }
    assert!(wrong.is_empty(), "of 1,000: {wrong:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plugins_in_a_chain_of_needs_and_groups_of_a_dropped_app_are_all_undone() {
    let ended = Arc::new(AtomicUsize::new(0));
    let mut wrong = Vec::new();
    for round in 0..30 {
        ended.store(0, SeqCst);
        let app = App::new().unwrap();
        let provider =
            define("p").provides(NUMBER).run(async |ctx: &Context, _: (), ended: &Arc<AtomicUsize>| {
                let one = ended.clone();
                ctx.effect("oldest", async move || {
                    one.fetch_add(1, SeqCst);
                })?;
                ctx.provide(NUMBER, Arc::new(1))?;
                Ok(())
            });
        let p = app.plugin(provider, ended.clone()).unwrap();
        let user =
            define("u").needs(NUMBER).run(async |ctx: &Context, _: Handle<u32>, ended: &Arc<AtomicUsize>| {
                let ended = ended.clone();
                ctx.effect_with("g", async |e| {
                    for _ in 0..10 {
                        let one = ended.clone();
                        e.effect("part", async move || {
                            tokio::task::yield_now().await;
                            one.fetch_add(1, SeqCst);
                        })?;
                    }
                    Ok(())
                })
                .await?;
                Ok(())
            });
        let u = app.plugin(user, ended.clone()).unwrap();
        // Not `ready`: that is at once so while its provider still loads on another thread.
        u.until(State::Active).await;
        drop((p, u));
        drop(app);
        // Bounded, so that a loss is told of; what is not lost takes far less.
        if !comes_true(|| ended.load(SeqCst) == 11) {
            wrong.push((round, ended.load(SeqCst)));
        }
    }
    assert!(wrong.is_empty(), "{} of 30: {wrong:?}", wrong.len());
}
