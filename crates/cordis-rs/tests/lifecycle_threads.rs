//! Lifecycles that several threads ask for at once.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends there")]

mod support_lifecycle;

use cordis::{App, BoxError, Context, Disposed, Emit, Fiber, Handle, Key, State, define};
use std::{
    sync::{
        Arc, Barrier, Mutex,
        atomic::{AtomicU32, Ordering::SeqCst},
        mpsc,
    },
    thread,
};
use support_lifecycle::{Log, counts, errors, fine, ms, secs, unblocked};
use tokio::{
    runtime::{Builder, Runtime},
    time::{sleep, timeout},
};

const PING: Emit<()> = Emit::new("ping");
const NUMBER: Key<u32> = Key::new("number");

fn workers(n: usize) -> Runtime {
    Builder::new_multi_thread().worker_threads(n).enable_time().build().unwrap()
}

/// Runs `work` on as many threads as asked for, all at the same moment.
fn at_once(runtime: &Runtime, threads: usize, work: impl AsyncFn(usize) + Sync) {
    let barrier = Barrier::new(threads);
    thread::scope(|scope| {
        for i in 0..threads {
            let (barrier, work, handle) = (&barrier, &work, runtime.handle().clone());
            scope.spawn(move || {
                barrier.wait();
                handle.block_on(async { timeout(secs(60), work(i)).await.expect("it waited for ever") });
            });
        }
    });
}

/// Counts what is up, so that two at once or an unload too many are seen.
async fn counted(ctx: &Context, _: (), up: &Arc<AtomicU32>) -> Result<(), BoxError> {
    assert_eq!(up.fetch_add(1, SeqCst), 0, "loaded twice");
    let down = up.clone();
    ctx.effect("down", async move || {
        tokio::task::yield_now().await;
        assert_eq!(down.fetch_sub(1, SeqCst), 1, "unloaded twice");
    })?;
    ctx.on(PING).run(|()| ())?;
    tokio::task::yield_now().await;
    fine()
}

// spec: cases/L2, design/P1
#[test]
fn two_threads_that_dispose_one_fiber_wait_for_the_same_slow_disposer() {
    unblocked(|| {
        let runtime = workers(2);
        for _ in 0..20 {
            let (app, log, fiber) = runtime.block_on(async {
                let (app, log) = (App::new().unwrap(), Log::new());
                let body = async |ctx: &Context, _: (), log: &Log| {
                    ctx.effect("slow", log.slow_undo("slow", ms(10)))?;
                    fine()
                };
                let fiber = app.plugin(define("p").run(body), log.clone()).unwrap();
                fiber.ready().await.unwrap();
                (app, log, fiber)
            });
            at_once(&runtime, 2, async |_| {
                assert_eq!(fiber.dispose().await, Disposed::default());
                log.add(format!("returned {}", fiber.state()));
            });
            assert_eq!(log.take(), ["slow start", "slow end", "returned disposed", "returned disposed"]);
            assert_eq!(app.registry().len(), 0);
        }
    });
}

#[test]
fn restarts_from_two_threads_never_load_twice_and_end_active() {
    unblocked(|| {
        let runtime = workers(2);
        let (app, failures, up, fiber) = runtime.block_on(async {
            let (app, up) = (App::new().unwrap(), Arc::new(AtomicU32::new(0)));
            let failures = errors(&app);
            let fiber = app.plugin(define("p").run(counted), up.clone()).unwrap();
            fiber.ready().await.unwrap();
            (app, failures, up, fiber)
        });
        at_once(&runtime, 2, async |_| {
            for _ in 0..500 {
                assert_eq!(fiber.restart().await.unwrap(), State::Active);
            }
        });
        assert_eq!((fiber.state(), up.load(SeqCst), app.listeners(PING)), (State::Active, 1, 1));
        runtime.block_on(fiber.dispose());
        assert_eq!((up.load(SeqCst), app.listeners(PING)), (0, 0));
        assert_eq!(failures.take(), Vec::<String>::new());
    });
}

#[test]
fn updates_restarts_swaps_of_a_need_and_one_disposal_at_once_leave_nothing() {
    unblocked(|| {
        let runtime = workers(2);
        for _ in 0..100 {
            let (app, failures, fiber) = runtime.block_on(async {
                let app = App::new().unwrap();
                let failures = errors(&app);
                let body = async |ctx: &Context, n: Handle<u32>, up: &Arc<AtomicU32>| {
                    let _ = n.get();
                    counted(ctx, (), up).await
                };
                let plugin = define("p").needs(NUMBER).run(body);
                let fiber = app.plugin(plugin, Arc::new(AtomicU32::new(0))).unwrap();
                (app, failures, fiber)
            });
            at_once(&runtime, 4, async |i| {
                for round in 0..10 {
                    match i {
                        0 => drop(fiber.restart().await),
                        1 => drop(fiber.update(Arc::new(AtomicU32::new(0))).await),
                        2 => {
                            let provided = app.provide(NUMBER, Arc::new(round)).unwrap();
                            tokio::task::yield_now().await;
                            provided.dispose().await;
                        }
                        _ if round == 9 => drop(fiber.dispose().await),
                        _ => tokio::task::yield_now().await,
                    }
                }
            });
            assert_eq!((fiber.state(), app.listeners(PING)), (State::Disposed, 0));
            // A body that runs on one thread while another disposes it is refused what it registers.
            let failures = failures.take();
            assert!(failures.iter().all(|line| line.contains("on inactive context `p#1`")), "{failures:?}");
            assert_eq!(counts(&app.inspect().fiber), (1, 1));
        }
    });
}

#[test]
fn plugins_that_are_mounted_while_their_parent_is_disposed_are_refused_or_drained() {
    unblocked(|| {
        let runtime = workers(2);
        for _ in 0..100 {
            let (app, parent) = runtime.block_on(async {
                let app = App::new().unwrap();
                let idle = async |_: &Context, _: (), _: &()| fine();
                let parent = app.plugin(define("parent").run(idle), ()).unwrap();
                parent.ready().await.unwrap();
                (app, parent)
            });
            let ctx = parent.context();
            at_once(&runtime, 3, async |i| {
                if i == 0 {
                    tokio::task::yield_now().await;
                    assert_eq!(parent.dispose().await, Disposed::default());
                    assert_eq!((app.listeners(PING), app.registry().len()), (0, 0));
                    return;
                }
                let mut children: Vec<Fiber> = Vec::new();
                for _ in 0..50 {
                    let listens = async |ctx: &Context, _: (), _: &()| {
                        ctx.on(PING).run(|()| ())?;
                        fine()
                    };
                    let Ok(child) = ctx.plugin(define("child").run(listens), ()) else { break };
                    let _ = ctx.on(PING).run(|()| ());
                    children.push(child);
                }
                for child in children {
                    child.until(State::Disposed).await;
                }
            });
            assert_eq!(counts(&app.inspect().fiber), (1, 0));
        }
    });
}

#[test]
fn a_fiber_is_shared_with_and_driven_from_threads_that_know_no_runtime() {
    unblocked(|| {
        let runtime = workers(1);
        let (app, log) = (runtime.block_on(async { App::new().unwrap() }), Log::new());
        let body = async |ctx: &Context, _: (), log: &Log| {
            log.add("load");
            ctx.effect("undo", log.slow_undo("undo", ms(1)))?;
            sleep(ms(1)).await;
            fine()
        };
        let fiber = app.plugin(define("p").run(body), log.clone()).unwrap();
        while fiber.state() != State::Active {
            thread::yield_now();
        }
        app.emit(PING, &());
        fiber.cancel();
        while fiber.state() != State::Disposed {
            thread::yield_now();
        }
        assert_eq!(log.take(), ["load", "undo start", "undo end"]);
        // A waiter needs no runtime either: what it waits for runs on the app's.
        let fiber = app.plugin(define("p").run(body), log.clone()).unwrap();
        block_on_without_a_runtime(async {
            assert_eq!(fiber.ready().await.unwrap(), State::Active);
            assert_eq!(fiber.dispose().await, Disposed::default());
        });
        assert_eq!(log.take(), ["load", "undo start", "undo end"]);
    });
}

/// Says when its drop begins and ends only when it is let go.
struct SlowDrop(mpsc::Sender<()>, mpsc::Receiver<()>);

impl Drop for SlowDrop {
    fn drop(&mut self) {
        let _ = self.0.send(());
        let _ = self.1.recv_timeout(secs(60));
    }
}

// spec: design/P1
#[test]
fn a_second_disposal_waits_while_the_first_drops_the_configuration() {
    unblocked(|| {
        let runtime = workers(2);
        let app = runtime.block_on(async { App::new().unwrap() });
        let (dropping, is_dropping) = mpsc::channel();
        let (let_go, held) = mpsc::channel();
        let body = async |_: &Context, _: (), _: &Mutex<SlowDrop>| fine();
        let config = Mutex::new(SlowDrop(dropping, held));
        let fiber = app.plugin(define("p").run(body), config).unwrap();
        runtime.block_on(async { fiber.ready().await.unwrap() });
        let first = fiber.clone();
        let first = runtime.spawn(async move { first.dispose().await });
        is_dropping.recv().unwrap();
        let second = runtime.block_on(async { timeout(ms(100), fiber.dispose()).await });
        let listed = counts(&app.inspect().fiber);
        let_go.send(()).unwrap();
        assert_eq!(runtime.block_on(first).unwrap(), Disposed::default());
        assert!(second.is_err(), "it returned while the configuration was still there");
        assert_eq!(listed.1, 1);
        assert_eq!(counts(&app.inspect().fiber), (1, 0));
    });
}

/// A body that says that it is in and blocks its thread until it is let go.
fn blocking(app: &App, entered: mpsc::Sender<()>, leave: Arc<Mutex<mpsc::Receiver<()>>>) -> Fiber {
    let body = define("blocks").run_boxed(move |ctx: &Context, (), log: &Log| {
        let (undone, entered, leave) = (ctx.effect("undo", log.undo("undo")), entered.clone(), leave.clone());
        Box::pin(async move {
            undone?;
            entered.send(())?;
            leave.lock().unwrap().recv()?;
            fine()
        })
    });
    app.plugin(body, Log::new()).unwrap()
}

// spec: design/P1
#[test]
fn a_body_that_blocks_its_thread_past_the_limit_is_named_and_the_rest_of_the_unload_goes_on() {
    unblocked(|| {
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let app = Arc::new(runtime.block_on(async { App::new().unwrap() }));
        let (entered, is_in) = mpsc::channel();
        let (let_go, leave) = mpsc::channel();
        let mounts = app.clone();
        // The body's first poll is on this thread, which works instead of waiting.
        let blocked = thread::spawn(move || {
            let fiber = blocking(&mounts, entered, Arc::new(Mutex::new(leave)));
            block_on_without_a_runtime(async { drop(fiber.ready().await) });
        });
        is_in.recv().unwrap();
        let fiber = app.registry().plugins()[0].fibers[0].clone();
        let left = runtime.block_on(async { timeout(secs(60), fiber.dispose()).await });
        let_go.send(()).unwrap();
        blocked.join().unwrap();
        assert_eq!(left.expect("it waited for ever").to_string(), "`body` of `blocks#1` is still running");
        assert_eq!(fiber.state(), State::Disposed);
    });
}

// spec: design/P4
#[test]
fn a_plugin_that_nobody_waits_for_starts_while_the_body_of_another_blocks_its_thread() {
    unblocked(|| {
        let runtime = workers(2);
        let (entered, is_in) = mpsc::channel();
        let (let_go, leave) = mpsc::channel();
        let app = runtime.block_on(async { App::new().unwrap() });
        let fiber = blocking(&app, entered, Arc::new(Mutex::new(leave)));
        is_in.recv().unwrap();
        let other = app.plugin(define("other").run(async |_: &Context, _: (), _: &()| fine()), ()).unwrap();
        let start = std::time::Instant::now();
        while other.state() != State::Active && start.elapsed() < secs(60) {
            thread::sleep(ms(1));
        }
        let seen = other.state();
        let_go.send(()).unwrap();
        runtime.block_on(async { drop(fiber.ready().await) });
        assert_eq!((seen, fiber.state()), (State::Active, State::Active));
    });
}

/// Polls with a waker that unparks this thread.
fn block_on_without_a_runtime(future: impl Future<Output = ()>) {
    struct Unpark(thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(thread::current())).into();
    let mut future = std::pin::pin!(future);
    while future.as_mut().poll(&mut std::task::Context::from_waker(&waker)).is_pending() {
        thread::park();
    }
}
