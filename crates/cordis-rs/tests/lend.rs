//! Code that a plugin lends to others: how it is called, how a call ends, and what a caller is told.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support_lifecycle;

use cordis::{App, BoxFuture, Context, Disposed, Effect, Fiber, Inactive, Lent, LentCall, Refused, define};
use std::{
    future::{pending, poll_fn},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    task::{Context as Cx, Poll, Wake, Waker},
};
use support_lifecycle::{Log, both_flavours, effects, errors, fine, paused};
use tokio::sync::Notify;

async fn active(app: &App) -> Fiber {
    let fiber = app.plugin(define("p").run(async |_: &Context, _: (), _: &()| fine()), ()).unwrap();
    fiber.ready().await.unwrap();
    fiber
}

fn gone(plugin: &str) -> Refused {
    Refused::Gone { plugin: plugin.into() }
}

fn panicked(plugin: &str, reason: &str) -> Refused {
    Refused::Panicked { plugin: plugin.into(), reason: reason.into() }
}

async fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    poll_fn(|cx| Poll::Ready(std::pin::Pin::new(&mut *future).poll(cx))).await
}

/// Lent code that gives futures.
type Job = Box<dyn Fn() -> BoxFuture<'static, u32> + Send + Sync>;

fn job<F>(job: impl Fn() -> F + Send + Sync + 'static) -> Job
where
    F: Future<Output = u32> + Send + 'static,
{
    Box::new(move || Box::pin(job()))
}

fn start(lent: &Lent<Job>) -> Result<LentCall<u32>, Refused> {
    lent.start(|job| job())
}

/// A job that tells of its steps, waits for `go` between them and holds what tells of its drop.
fn waiting(ctx: &Context, log: &Log, go: &Arc<Notify>) -> (Effect, Lent<Job>) {
    let (log, go) = (log.clone(), go.clone());
    let steps = move || {
        let (log, go) = (log.clone(), go.clone());
        async move {
            let _held = log.on_drop("dropped");
            log.add("in");
            go.notified().await;
            log.add("out");
            7
        }
    };
    ctx.lend("job", job(steps)).unwrap()
}

#[test]
fn lent_code_runs_with_what_its_caller_gives_and_gives_back_what_it_makes() {
    both_flavours(async || {
        let app = App::new().unwrap();
        let base = 40;
        let (effect, add) = app.lend("add", move |n: u32| n + base).unwrap();
        let other = add.clone();
        assert_eq!((add.call(|add| add(1)), other.call(|add| add(2))), (Ok(41), Ok(42)));
        let later = |add: &dyn Fn(u32) -> u32| {
            let sum = add(3);
            Box::pin(async move { sum }) as BoxFuture<'static, u32>
        };
        assert_eq!(add.start(|add| later(add)).unwrap().await, Ok(43));
        assert!(add.is_live() && effect.is_live());
        assert_eq!((add.owner(), effects(&app)), ("root".to_owned(), vec!["add".to_owned()]));
    });
}

// spec: design/P1
#[test]
fn after_dispose_every_call_is_refused_and_told_whose_code_it_was() {
    both_flavours(async || {
        let app = App::new().unwrap();
        let fiber = active(&app).await;
        let (effect, lent) = fiber.context().lend("job", job(async || 7)).unwrap();
        assert_eq!(start(&lent).unwrap().await, Ok(7));
        assert_eq!(effect.dispose().await, Disposed::default());
        let never = |_: &Job| -> u32 { unreachable!("it is gone") };
        assert_eq!(lent.call(never), Err(gone("p#1")));
        assert_eq!(start(&lent).unwrap_err(), gone("p#1"));
        assert_eq!(gone("p#1").to_string(), "`p#1` is unloaded, or has taken this back");
        assert!(!lent.is_live() && !lent.clone().is_live() && !effect.is_live());
        assert_eq!(effects(&fiber.context()), Vec::<String>::new());
    });
}

// spec: design/P1
#[test]
fn unloading_takes_back_what_the_plugin_has_lent_and_a_reload_lends_other_code() {
    both_flavours(async || {
        let app = App::new().unwrap();
        let fiber = active(&app).await;
        let (_, lent) = fiber.context().lend("job", |n: u32| n + 1).unwrap();
        fiber.restart().await.unwrap();
        assert_eq!(lent.call(|job| job(1)), Err(gone("p#1")));
        let (_, again) = fiber.context().lend("job", |n: u32| n + 2).unwrap();
        assert_eq!((again.call(|job| job(1)), lent.is_live()), (Ok(3), false));
        assert!(fiber.dispose().await.is_clean());
        assert_eq!(again.call(|job| job(1)), Err(gone("p#1")));
        let refused = fiber.context().lend("late", |n: u32| n).unwrap_err();
        assert!(
            matches!(&refused, Inactive { action: "lend code", plugin, .. } if plugin == "p#1"),
            "{refused:?}"
        );
    });
}

// spec: design/P1
#[test]
fn a_suspended_call_ends_where_it_is_when_the_code_is_taken_back() {
    both_flavours(async || {
        let (app, log, go) = (App::new().unwrap(), Log::new(), Arc::new(Notify::new()));
        let (effect, lent) = waiting(&app, &log, &go);
        let call = tokio::spawn(start(&lent).unwrap());
        log.until_len(1).await;
        effect.cancel();
        // Too late: what was waited for has come, and the code does not go on all the same.
        go.notify_one();
        assert_eq!(effect.dispose().await, Disposed::default());
        assert_eq!(log.take(), ["in", "dropped"]);
        assert_eq!(call.await.unwrap(), Err(gone("root")));
    });
}

// spec: design/P1
#[test]
fn taking_back_waits_until_the_future_of_a_suspended_call_is_dropped() {
    both_flavours(async || {
        let (app, log, go) = (App::new().unwrap(), Log::new(), Arc::new(Notify::new()));
        for polled in [false, true] {
            let (effect, lent) = waiting(&app, &log, &go);
            let mut call = start(&lent).unwrap();
            assert!(poll_once(&mut call).await.is_pending());
            let mut dispose = pin!(effect.dispose());
            assert!(poll_once(&mut dispose).await.is_pending());
            assert_eq!(effects(&app), ["job"]);
            if polled {
                // Its caller keeps it: it has ended, and that is enough.
                assert_eq!(poll_once(&mut call).await, Poll::Ready(Err(gone("root"))));
                assert_eq!(dispose.await, Disposed::default());
                assert!(poll_once(&mut call).await.is_pending(), "it ends once");
            } else {
                drop(call);
                assert_eq!(dispose.await, Disposed::default());
            }
            assert_eq!(log.take(), ["in", "dropped"]);
            assert_eq!(effects(&app), Vec::<String>::new());
        }
    });
}

// spec: design/P1
#[test]
fn a_call_that_was_started_and_never_polled_is_counted_and_does_not_begin_afterwards() {
    both_flavours(async || {
        let (app, log, go) = (App::new().unwrap(), Log::new(), Arc::new(Notify::new()));
        let (effect, lent) = waiting(&app, &log, &go);
        let call = start(&lent).unwrap();
        let mut dispose = pin!(effect.dispose());
        assert!(poll_once(&mut dispose).await.is_pending());
        assert_eq!(call.await, Err(gone("root")));
        assert_eq!(dispose.await, Disposed::default());
        assert_eq!(log.take(), Vec::<String>::new());
    });
}

// spec: design/P1
#[test]
fn a_call_that_has_ended_and_is_kept_holds_nobody_up() {
    both_flavours(async || {
        let (app, log, go) = (App::new().unwrap(), Log::new(), Arc::new(Notify::new()));
        let (effect, lent) = waiting(&app, &log, &go);
        let mut call = start(&lent).unwrap();
        go.notify_one();
        assert_eq!((&mut call).await, Ok(7));
        assert_eq!(log.take(), ["in", "out", "dropped"]);
        assert_eq!(effect.dispose().await, Disposed::default());
        assert_eq!(format!("{call:?} {lent:?}"), "LentCall(of root) Lent(of root)");
    });
}

// spec: design/P4
#[test]
fn a_panic_of_lent_code_is_told_to_its_caller_with_the_plugins_name_and_to_nobody_else() {
    both_flavours(async || {
        let app = App::new().unwrap();
        let (failures, fiber) = (errors(&app), active(&app).await);
        let (effect, lent) =
            fiber.context().lend("checked", |n: u32| assert!(n < 3, "{n} is too much")).unwrap();
        assert_eq!(lent.call(|checked| checked(3)), Err(panicked("p", "3 is too much")));
        assert_eq!(panicked("p", "why").to_string(), "`p` panicked: why");
        // Of the code that gives the future.
        let starting = lent.start::<()>(|checked| {
            checked(4);
            Box::pin(async {})
        });
        assert_eq!(starting.unwrap_err(), panicked("p", "4 is too much"));
        // Of the future, at once and after it has suspended.
        for pauses in [0, 1] {
            let call = lent.start::<()>(|_| {
                Box::pin(async move {
                    for _ in 0..pauses {
                        tokio::task::yield_now().await;
                    }
                    panic!("late");
                })
            });
            let mut call = call.unwrap();
            assert_eq!((&mut call).await, Err(panicked("p", "late")));
            assert!(poll_once(&mut call).await.is_pending(), "it ends once");
        }
        assert_eq!(lent.call(|checked| checked(2)), Ok(()));
        assert_eq!(effect.dispose().await, Disposed::default());
        assert_eq!(failures.take(), Vec::<String>::new());
    });
}

/// Panics when it is dropped.
struct Bomb(&'static str);

impl Drop for Bomb {
    fn drop(&mut self) {
        // A test that fails drops them too.
        assert!(std::thread::panicking(), "{}", self.0);
    }
}

// spec: design/P4
#[test]
fn a_panic_of_what_is_dropped_is_reported_and_changes_no_result() {
    both_flavours(async || {
        let app = App::new().unwrap();
        let (failures, fiber) = (errors(&app), active(&app).await);
        let captured = Bomb("captured");
        let (effect, lent) = fiber.context().lend("job", move |n: u32| (&captured, n).1).unwrap();
        /// Holds a bomb until it is dropped itself: an `async` block would drop it on its way out.
        struct Ends(
            #[allow(dead_code, reason = "held for its drop")] Bomb,
            Option<Result<u32, &'static str>>,
        );
        impl Future for Ends {
            type Output = u32;
            fn poll(self: std::pin::Pin<&mut Self>, _: &mut Cx<'_>) -> Poll<u32> {
                match self.1 {
                    Some(Ok(n)) => Poll::Ready(n),
                    Some(Err(reason)) => panic!("{reason}"),
                    None => Poll::Pending,
                }
            }
        }
        let start = |ends| lent.start(move |_| Box::pin(Ends(Bomb("held"), ends)));
        let told = "p#1 a call that was dropped: panicked when it was dropped: held";
        assert_eq!(start(Some(Ok(7))).unwrap().await, Ok(7));
        assert_eq!(failures.take(), [told]);
        assert_eq!(start(Some(Err("twice"))).unwrap().await, Err(panicked("p", "twice")));
        assert_eq!(failures.take(), [told]);
        let mut suspended = start(None).unwrap();
        assert!(poll_once(&mut suspended).await.is_pending());
        drop(suspended);
        assert_eq!(failures.take(), [told]);
        let mut suspended = start(None).unwrap();
        assert!(poll_once(&mut suspended).await.is_pending());
        effect.cancel();
        assert_eq!(suspended.await, Err(gone("p#1")));
        assert_eq!(effect.dispose().await, Disposed::default());
        assert_eq!(failures.take(), [told, "p#1 job: panicked when it was dropped: captured"]);
        assert!(fiber.dispose().await.is_clean());
    });
}

#[test]
fn lent_code_may_call_other_lent_code_and_itself() {
    both_flavours(async || {
        type Sum = Box<dyn Fn(&Lent<Sums>, u32) -> u32 + Send + Sync>;
        struct Sums(Sum);
        let app = App::new().unwrap();
        let (inner, square) = app.lend("square", |n: u32| n * n).unwrap();
        let sum = move |sums: &Lent<Sums>, n: u32| match n {
            0 => 0,
            n => square.call(|square| square(n)).unwrap() + sums.call(|sum| (sum.0)(sums, n - 1)).unwrap(),
        };
        let (outer, sums) = app.lend("sums", Sums(Box::new(sum))).unwrap();
        assert_eq!(sums.call(|sum| (sum.0)(&sums, 3)), Ok(14));
        assert!(inner.dispose().await.is_clean());
        let Err(Refused::Panicked { plugin, reason }) = sums.call(|sum| (sum.0)(&sums, 1)) else {
            panic!("its inner code is gone")
        };
        assert!(plugin == "root" && reason.contains("Gone"), "{plugin}: {reason}");
        assert!(outer.dispose().await.is_clean());
    });
}

/// Counts how often it was woken; its `Arc`, how many of its wakers are kept.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// How many wakers are kept, and how often they were woken.
fn kept(woken: &Arc<Woken>) -> (usize, usize) {
    (Arc::strong_count(woken) - 1, woken.0.load(SeqCst))
}

fn poll_with(call: &mut LentCall<u32>, woken: &Arc<Woken>) -> Poll<Result<u32, Refused>> {
    let waker = Waker::from(woken.clone());
    std::pin::Pin::new(call).poll(&mut Cx::from_waker(&waker))
}

#[test]
fn one_waker_is_kept_for_each_suspended_call_and_none_for_one_that_is_over() {
    paused(async || {
        let app = App::new().unwrap();
        let (effect, lent) = app.lend("job", job(pending)).unwrap();
        let (first, second) = (Arc::new(Woken::default()), Arc::new(Woken::default()));
        let mut call = start(&lent).unwrap();
        for _ in 0..100 {
            assert!(poll_with(&mut call, &first).is_pending());
        }
        assert_eq!(kept(&first), (1, 0));
        // Another task polls it from now on.
        assert!(poll_with(&mut call, &second).is_pending());
        assert_eq!((kept(&first), kept(&second)), ((0, 0), (1, 0)));
        for _ in 0..1000 {
            let mut other = start(&lent).unwrap();
            assert!(poll_with(&mut other, &first).is_pending());
            drop(other);
        }
        assert_eq!(kept(&first), (0, 0));
        let mut calls: Vec<_> = (0..100).map(|_| start(&lent).unwrap()).collect();
        for call in &mut calls {
            assert!(poll_with(call, &first).is_pending());
        }
        assert_eq!(kept(&first), (100, 0));
        effect.cancel();
        assert_eq!((kept(&first), kept(&second)), ((0, 100), (0, 1)));
        for call in calls.iter_mut().chain([&mut call]) {
            assert_eq!(poll_with(call, &first), Poll::Ready(Err(gone("root"))));
        }
        assert_eq!(kept(&first), (0, 100));
        assert!(effect.dispose().await.is_clean());
    });
}

#[test]
fn a_call_that_ends_keeps_no_waker() {
    paused(async || {
        let (app, go) = (App::new().unwrap(), Arc::new(Notify::new()));
        let (_, lent) = waiting(&app, &Log::new(), &go);
        let woken = Arc::new(Woken::default());
        let mut call = start(&lent).unwrap();
        assert!(poll_with(&mut call, &woken).is_pending());
        go.notify_one();
        assert_eq!(poll_with(&mut call, &woken), Poll::Ready(Ok(7)));
        assert_eq!(kept(&woken).0, 0);
    });
}
