//! Lent code that is taken back: while others run it, from inside of itself, and with what it captured.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support_lifecycle;

use cordis::{App, BoxError, Context, Disposed, Effect, Lent, Refused, define, testing::TestApp};
use std::{
    pin::pin,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    task::{Context as Cx, Poll, Waker},
    thread,
};
use support_lifecycle::{Log, both_flavours, effects, errors, fine, ms, unblocked};
use tokio::{runtime::Builder, task::yield_now};

/// Runs a test that waits for threads on both flavours, with the real clock: a paused one would run ahead meanwhile.
fn with_threads(test: impl AsyncFn() + Send + 'static) {
    unblocked(move || {
        for mut builder in [Builder::new_current_thread(), Builder::new_multi_thread()] {
            builder.worker_threads(2).enable_time().build().unwrap().block_on(test());
        }
    });
}

/// Polls once, from a place that cannot await.
fn poll_here<F: Future>(future: F) -> Poll<F::Output> {
    pin!(future).poll(&mut Cx::from_waker(Waker::noop()))
}

/// Blocks a call until it is let go.
struct Gate {
    entered: mpsc::Sender<()>,
    go: Mutex<mpsc::Receiver<()>>,
}

struct Keeper {
    entered: mpsc::Receiver<()>,
    go: mpsc::Sender<()>,
}

fn gate() -> (Gate, Keeper) {
    let ((entered, came), (go, wait)) = (mpsc::channel(), mpsc::channel());
    (Gate { entered, go: Mutex::new(wait) }, Keeper { entered: came, go })
}

impl Gate {
    /// Ends without being let go where its keeper is gone: a test that fails does not hang.
    fn pass(&self) {
        self.entered.send(()).unwrap();
        let _ = self.go.lock().unwrap().recv();
    }
}

async fn until(mut what: impl FnMut() -> bool) {
    while !what() {
        tokio::time::sleep(ms(1)).await;
    }
}

// spec: design/P1
#[test]
fn dispose_waits_for_a_call_on_another_thread_and_the_captures_are_dropped_when_it_returns() {
    with_threads(async || {
        let app = TestApp::new();
        let (gate, keeper) = gate();
        let (gate, here) = (Arc::new(gate), Arc::new(AtomicBool::new(false)));
        let captured = Arc::downgrade(&gate);
        let (effect, lent) = app.lend("gated", move |n: u32| (gate.pass(), n).1).unwrap();
        let (other, over) = (lent.clone(), here.clone());
        let caller = thread::spawn(move || {
            let given = other.call(|gated| gated(7));
            over.store(true, SeqCst);
            given
        });
        keeper.entered.recv().unwrap();
        let mut dispose = pin!(effect.dispose());
        for _ in 0..50 {
            let polled = std::future::poll_fn(|cx| Poll::Ready(dispose.as_mut().poll(cx))).await;
            assert!(polled.is_pending());
            yield_now().await;
        }
        // Nobody begins another call meanwhile.
        assert_eq!(lent.call(|gated| gated(8)), Err(Refused::Gone { plugin: "root".into() }));
        assert!(captured.upgrade().is_some() && !here.load(SeqCst));
        keeper.go.send(()).unwrap();
        assert_eq!(dispose.await, Disposed::default());
        assert!(captured.upgrade().is_none());
        assert_eq!(caller.join().unwrap(), Ok(7));
        app.assert_no_errors();
    });
}

// spec: design/P1
#[test]
fn a_call_past_its_limit_is_named_and_its_captures_are_dropped_when_it_ends() {
    with_threads(async || {
        let app = TestApp::new();
        let body = async |_: &Context, _: (), _: &()| fine();
        let fiber = app.plugin(define("p").run(body), ()).unwrap();
        fiber.ready().await.unwrap();
        let (gate, keeper) = gate();
        let gate = Arc::new(gate);
        let captured = Arc::downgrade(&gate);
        let (effect, lent) = fiber.context().lend("gated", move || gate.pass()).unwrap();
        let effect = effect.with_limit(ms(20));
        let caller = thread::spawn(move || lent.call(|gated| gated()));
        keeper.entered.recv().unwrap();
        let left = fiber.dispose().await;
        let named: Vec<_> = left.still_running.iter().map(|late| (&*late.plugin, &*late.step)).collect();
        assert_eq!((named, left.requested), (vec![("p#1", "gated")], false));
        assert_eq!(effect.dispose().await, Disposed::default(), "it is over as far as anybody waits");
        assert!(captured.upgrade().is_some());
        keeper.go.send(()).unwrap();
        assert_eq!(caller.join().unwrap(), Ok(()));
        until(|| captured.upgrade().is_none()).await;
        // Told aside, by a task of its own.
        let mut told = Vec::new();
        until(|| {
            told.extend(app.take_errors().into_iter().map(|error| (error.plugin, error.step)));
            !told.is_empty()
        })
        .await;
        assert_eq!(told, [("p#1".to_owned(), "gated".to_owned())]);
    });
}

/// The effect that code belongs to, known only after it was lent.
type Own = Arc<OnceLock<Effect>>;

// spec: design/P1, design/P3
#[test]
fn a_synchronous_call_that_disposes_its_own_code_only_requests_it_and_it_happens() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let own = Own::default();
        let (itself, held) = (own.clone(), log.on_drop("dropped"));
        let (told, ctx) = (log.clone(), app.root());
        let suicidal = move || {
            let _held = &held;
            let asked = poll_here(itself.get().unwrap().dispose());
            told.add(format!("requested: {}", asked.map(|asked| asked.requested) == Poll::Ready(true)));
            told.add(format!("refused: {}", !itself.get().unwrap().is_live()));
            let _ = ctx.inspect();
            7
        };
        let (effect, lent) = app.lend("suicidal", suicidal).unwrap();
        own.set(effect.clone()).unwrap();
        assert_eq!(lent.call(|suicidal| suicidal()), Ok(7));
        assert_eq!(effect.dispose().await, Disposed::default());
        assert_eq!(log.take(), ["requested: true", "refused: true", "dropped"]);
        assert!(matches!(lent.call(|suicidal| suicidal()), Err(Refused::Gone { .. })));
        assert_eq!(effects(&app), Vec::<String>::new());
    });
}

/// What a call disposes that runs inside of it.
#[derive(Clone, Copy, Debug)]
enum Around {
    Itself,
    Group,
    Plugin,
}

// spec: design/P1, design/P3
#[test]
fn an_asynchronous_call_that_disposes_what_contains_it_only_requests_it_and_it_happens() {
    both_flavours(async || {
        for around in [Around::Itself, Around::Group, Around::Plugin] {
            for suspends in [false, true] {
                let (app, log) = (App::new().unwrap(), Log::new());
                let body = async |_: &Context, _: (), _: &()| fine();
                let fiber = app.plugin(define("p").run(body), ()).unwrap();
                fiber.ready().await.unwrap();
                let (own, lent) = (Own::default(), OnceLock::new());
                let (itself, told, owner) = (own.clone(), log.clone(), fiber.clone());
                let body = move || {
                    let (own, log, fiber) = (itself.clone(), told.clone(), owner.clone());
                    Box::pin(async move {
                        let asked = match around {
                            Around::Plugin => fiber.dispose().await,
                            Around::Itself | Around::Group => own.get().unwrap().dispose().await,
                        };
                        log.add(format!("requested: {}", asked.requested));
                        if suspends {
                            std::future::pending::<()>().await;
                        }
                        7_u32
                    }) as cordis::BoxFuture<'static, u32>
                };
                let group = fiber.context().effects("group", |inside| {
                    let (part, code) = inside.lend("part", body)?;
                    lent.set(code).unwrap();
                    if matches!(around, Around::Itself) {
                        own.set(part).unwrap();
                    }
                    Ok::<_, BoxError>(())
                });
                let group = group.unwrap();
                if matches!(around, Around::Group) {
                    own.set(group.clone()).unwrap();
                }
                let lent = lent.get().unwrap();
                let ended = lent.start(|body| body()).unwrap().await;
                let wanted = if suspends { Err(Refused::Gone { plugin: "p#1".into() }) } else { Ok(7) };
                assert_eq!(ended, wanted, "{around:?}");
                let left = match around {
                    Around::Itself => own.get().unwrap().dispose().await,
                    Around::Group => group.dispose().await,
                    Around::Plugin => fiber.dispose().await,
                };
                assert_eq!((left, log.take()), (Disposed::default(), vec!["requested: true".to_owned()]));
                assert!(!lent.is_live());
                let left = if matches!(around, Around::Itself) { vec!["group"] } else { vec![] };
                assert_eq!(effects(&fiber.context()), left, "{around:?}");
            }
        }
    });
}

/// Uses the app when it is dropped, in ways that take each of the host's locks.
struct UsesTheApp(Context, Log, Arc<OnceLock<Lent<UsesTheApp>>>);

impl Drop for UsesTheApp {
    fn drop(&mut self) {
        let root = self.0.root();
        let made = root.lend("made by a drop", ()).unwrap();
        made.0.cancel();
        let _ = root.inspect();
        let live = self.2.get().is_some_and(Lent::is_live);
        self.1.add(format!("dropped, live: {live}, {}", root.effect("other", async || ()).is_ok()));
    }
}

// spec: design/P3
#[test]
fn captures_are_dropped_outside_of_locks_by_dispose_and_where_lending_is_refused() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let body = async |_: &Context, _: (), _: &()| fine();
        let fiber = app.plugin(define("p").run(body), ()).unwrap();
        fiber.ready().await.unwrap();
        let (ctx, lent) = (fiber.context(), Arc::new(OnceLock::new()));
        let code = || UsesTheApp(ctx.clone(), log.clone(), lent.clone());
        let (effect, itself) = ctx.lend("code", code()).unwrap();
        lent.set(itself).unwrap();
        assert_eq!(effect.dispose().await, Disposed::default());
        assert_eq!(log.take(), ["dropped, live: false, true"]);
        // By a call that is the last to hold it.
        let (effect, itself) = ctx.lend("code", code()).unwrap();
        let last = itself.start(|_| Box::pin(async {})).unwrap();
        effect.cancel();
        assert_eq!(log.take(), Vec::<String>::new());
        drop(last);
        assert_eq!(effect.dispose().await, Disposed::default());
        assert_eq!(log.take(), ["dropped, live: false, true"]);
        fiber.dispose().await;
        assert!(ctx.lend("code", code()).is_err());
        assert_eq!(log.take(), ["dropped, live: false, true"]);
    });
}

// spec: design/P3
#[test]
fn captures_are_not_dropped_on_the_stack_of_a_caller_that_may_hold_locks() {
    with_threads(async || {
        struct Locks(Arc<Mutex<u32>>);
        impl Drop for Locks {
            fn drop(&mut self) {
                *self.0.lock().unwrap() += 1;
            }
        }
        let app = App::new().unwrap();
        let (gate, keeper) = gate();
        let lock = Arc::new(Mutex::new(0));
        let captured = Locks(lock.clone());
        let (effect, lent) = app.lend("gated", move || (gate.pass(), captured.0.is_poisoned()).1).unwrap();
        let callers = lock.clone();
        let caller = thread::spawn(move || {
            let _held = callers.lock().unwrap();
            lent.call(|gated| gated())
        });
        keeper.entered.recv().unwrap();
        effect.cancel();
        keeper.go.send(()).unwrap();
        assert_eq!(caller.join().unwrap(), Ok(false));
        assert_eq!(effect.dispose().await, Disposed::default());
        assert_eq!(*lock.lock().unwrap(), 1);
    });
}

/// Counts its calls, those that run, and those that begin after it was to be over.
#[derive(Default)]
struct Watched {
    over: AtomicBool,
    calls: AtomicUsize,
    running: AtomicUsize,
    late: AtomicUsize,
}

struct Run(Arc<Watched>);

impl Watched {
    fn begin(self: &Arc<Watched>) -> Run {
        self.calls.fetch_add(1, SeqCst);
        self.running.fetch_add(1, SeqCst);
        self.late.fetch_add(usize::from(self.over.load(SeqCst)), SeqCst);
        Run(self.clone())
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, SeqCst);
    }
}

// spec: design/P1
#[test]
fn no_call_runs_or_begins_after_dispose_has_returned_however_many_threads_call() {
    unblocked(|| {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
        runtime.block_on(churn(2_000));
    });
}

async fn churn(rounds: u32) {
    let app = App::new().unwrap();
    let failures = errors(&app);
    let current = Arc::new(Mutex::new(None::<Lent<Arc<Watched>>>));
    let stop = Arc::new(AtomicBool::new(false));
    let threads: Vec<_> = (0..2)
        .map(|asynchronous| {
            let (current, stop, runtime) = (current.clone(), stop.clone(), tokio::runtime::Handle::current());
            thread::spawn(move || {
                while !stop.load(SeqCst) {
                    let Some(lent) = current.lock().unwrap().clone() else { continue };
                    if asynchronous == 0 {
                        let _ = lent.call(|code| drop(code.begin()));
                        continue;
                    }
                    let call = lent.start(|code| {
                        let run = code.begin();
                        Box::pin(async move {
                            yield_now().await;
                            drop(run);
                        })
                    });
                    let _ = call.map(|call| runtime.block_on(call));
                }
            })
        })
        .collect();
    let (mut calls, mut wrong) = (0, Vec::new());
    for round in 0..rounds {
        let watched = Arc::new(Watched::default());
        let (effect, lent) = app.lend("watched", watched.clone()).unwrap();
        *current.lock().unwrap() = Some(lent);
        if round % 3 == 0 {
            yield_now().await;
        } else if round % 100 == 1 {
            until(|| watched.calls.load(SeqCst) > 0).await;
        }
        let clean = effect.dispose().await.is_clean();
        watched.over.store(true, SeqCst);
        let running = watched.running.load(SeqCst);
        // Whoever else holds it is a call, of which none is left, or the code itself.
        let held = Arc::strong_count(&watched) - 1;
        if !clean || running + held > 0 {
            wrong.push((round, clean, running, held));
        }
        calls += watched.calls.load(SeqCst);
        if round % 10 == 0 {
            yield_now().await;
        }
        assert_eq!(watched.late.load(SeqCst), 0, "begun late in round {round}");
    }
    stop.store(true, SeqCst);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(wrong, [], "round, clean, running, held");
    assert!(calls > 0, "the threads did meet");
    assert_eq!(
        (effects(&app).len(), failures.take()),
        (1, Vec::new()),
        "only the observer of failures is left"
    );
}

// spec: design/P1
#[test]
fn everybody_who_disposes_waits_for_the_same_running_call() {
    with_threads(async || {
        let app = App::new().unwrap();
        let (gate, keeper) = gate();
        let (effect, lent) = app.lend("gated", move || gate.pass()).unwrap();
        let caller = thread::spawn(move || lent.call(|gated| gated()));
        keeper.entered.recv().unwrap();
        let disposers: Vec<_> = (0..3)
            .map(|_| {
                let effect = effect.clone();
                tokio::spawn(async move { effect.dispose().await })
            })
            .collect();
        until(|| !effect.is_live()).await;
        assert!(disposers.iter().all(|disposer| !disposer.is_finished()));
        keeper.go.send(()).unwrap();
        for disposer in disposers {
            assert_eq!(disposer.await.unwrap(), Disposed::default());
        }
        assert_eq!(caller.join().unwrap(), Ok(()));
    });
}

// spec: design/P1
#[test]
fn code_goes_with_its_app_and_its_calls_are_refused_then() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let held = log.on_drop("dropped");
        let (_, lent) = app.lend("code", move || assert!(std::mem::size_of_val(&held) > 0)).unwrap();
        let call = tokio::spawn(lent.start(|_| Box::pin(std::future::pending::<()>())).unwrap());
        assert!(app.shutdown().await.is_clean());
        assert_eq!(log.take(), ["dropped"]);
        assert!(matches!(call.await.unwrap(), Err(Refused::Gone { .. })));
        assert!(matches!(lent.call(|code| code()), Err(Refused::Gone { .. })));
    });
}
