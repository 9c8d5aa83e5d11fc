//! Schedules of calls of lent code against its being taken back.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use cordis_shuttle::{App, BoxError, BoxFuture, Context, Effect, Fiber, Lent, Refused, State, define};
use shuttle::{future::block_on, sync::Mutex, thread};
use std::{
    future::{pending, poll_fn},
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Poll, Waker},
};
use support::{Capture, Count, Watch, explore, pause, step};

fn active(app: &App) -> Fiber {
    let fiber = app.plugin(define("plugin").run(async |_: &Context, (): (), (): &()| Ok(())), ()).unwrap();
    block_on(fiber.until(State::Active));
    fiber
}

/// Lends code that its watch knows of.
fn lend(ctx: &Context, watch: &Arc<Watch>) -> (Effect, Lent<Capture>) {
    ctx.lend("code", watch.capture()).unwrap()
}

fn call(lent: &Lent<Capture>) -> Result<(), Refused> {
    lent.call(|code| {
        let _run = code.run();
        step();
    })
}

/// Starts a call that suspends until `what` has come, and is watched as long as its future is there.
fn start<F>(
    lent: &Lent<Capture>,
    what: F,
) -> impl Future<Output = Result<u32, Refused>> + Send + Unpin + use<F>
where
    F: Future<Output = ()> + Send + 'static,
{
    let started = lent.start(|code| {
        let run = code.run();
        step();
        let suspends = async move {
            let _run = run;
            what.await;
            7_u32
        };
        Box::pin(suspends) as BoxFuture<'static, u32>
    });
    Box::pin(async move { started?.await })
}

fn is_gone(result: &Result<u32, Refused>) -> bool {
    matches!(result, Err(Refused::Gone { .. }))
}

/// Something that comes once.
#[derive(Clone, Default)]
struct Event(Arc<Mutex<(bool, Option<Waker>)>>);

impl Event {
    fn comes(&self) {
        let waker = {
            let mut state = self.0.lock().unwrap();
            state.0 = true;
            state.1.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    async fn come(self) {
        poll_fn(|cx| {
            let mut state = self.0.lock().unwrap();
            state.1 = Some(cx.waker().clone());
            if state.0 { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

// spec: design/P1
#[test]
fn no_call_runs_or_starts_after_the_code_was_taken_back_and_it_is_dropped() {
    explore("call x call x dispose", || {
        let app = App::new().unwrap();
        let watch = Watch::new();
        let (effect, lent) = lend(&app, &watch);
        let callers = [2, 1].map(|times| {
            let lent = lent.clone();
            thread::spawn(move || (0..times).filter(|_| call(&lent).is_ok()).count())
        });
        assert!(block_on(effect.dispose()).is_clean());
        watch.over();
        assert!(call(&lent).is_err() && !lent.is_live());
        let ran: usize = callers.map(|caller| caller.join().unwrap()).iter().sum();
        // Who was refused did not begin.
        assert_eq!(ran, watch.started());
        block_on(app.shutdown());
        watch.verify();
    });
}

// spec: design/P1
#[test]
fn a_call_that_was_started_ends_before_the_dispose_does() {
    explore("start x dispose", || {
        let app = App::new().unwrap();
        let watch = Watch::new();
        let (effect, lent) = lend(&app, &watch);
        let callers = [(); 2].map(|()| {
            let lent = lent.clone();
            thread::spawn(move || block_on(start(&lent, pause())))
        });
        assert!(block_on(effect.dispose()).is_clean());
        watch.over();
        assert!(is_gone(&block_on(start(&lent, pause()))));
        for caller in callers {
            let ended = caller.join().unwrap();
            assert!(ended == Ok(7) || is_gone(&ended), "{ended:?}");
        }
        block_on(app.shutdown());
        watch.verify();
    });
}

// spec: design/P1
#[test]
fn a_call_that_would_wait_for_ever_is_woken_to_its_end() {
    explore("suspended call x dispose of the plugin", || {
        let app = App::new().unwrap();
        let fiber = active(&app);
        let watch = Watch::new();
        let (_, lent) = lend(&fiber.context(), &watch);
        let callers = [(); 2].map(|()| {
            let lent = lent.clone();
            thread::spawn(move || block_on(start(&lent, pending())))
        });
        assert!(block_on(fiber.dispose()).is_clean());
        watch.over();
        for caller in callers {
            assert!(is_gone(&caller.join().unwrap()));
        }
        block_on(app.shutdown());
        watch.verify();
    });
}

// spec: design/P1
#[test]
fn a_suspended_call_ends_once_whether_what_it_waits_for_or_the_end_comes_first() {
    explore("suspended call x dispose x wake", || {
        let app = App::new().unwrap();
        let (watch, event) = (Watch::new(), Event::default());
        let (effect, lent) = lend(&app, &watch);
        let caller = {
            let (lent, come) = (lent.clone(), event.clone().come());
            thread::spawn(move || block_on(start(&lent, come)))
        };
        let waker = thread::spawn(move || event.comes());
        assert!(block_on(effect.dispose()).is_clean());
        watch.over();
        let ended = caller.join().unwrap();
        assert!(ended == Ok(7) || is_gone(&ended), "{ended:?}");
        waker.join().unwrap();
        block_on(app.shutdown());
        watch.verify();
    });
}

/// Polls once, in a task of the explorer's.
fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    block_on(poll_fn(|cx| Poll::Ready(Pin::new(&mut *future).poll(cx))))
}

// spec: design/P1
#[test]
fn who_takes_the_code_back_waits_until_a_call_that_nobody_polls_is_dropped() {
    explore("start x drop of the call x dispose x dispose", || {
        let app = App::new().unwrap();
        let fiber = active(&app);
        let watch = Watch::new();
        let (effect, lent) = lend(&fiber.context(), &watch);
        let caller = thread::spawn(move || {
            let mut never_polled = Some(start(&lent, pending()));
            let mut call = start(&lent, pending());
            let polled = poll_once(&mut call);
            drop(never_polled.take());
            step();
            drop(call);
            polled
        });
        let other = {
            let watch = watch.clone();
            thread::spawn(move || {
                assert!(block_on(effect.dispose()).is_clean());
                watch.over();
            })
        };
        assert!(block_on(fiber.dispose()).is_clean());
        watch.over();
        if let Poll::Ready(ended) = caller.join().unwrap() {
            assert!(is_gone(&ended), "{ended:?}");
        }
        other.join().unwrap();
        block_on(app.shutdown());
        watch.verify();
    });
}

// spec: design/P1
#[test]
fn a_call_that_has_moved_to_another_thread_is_woken_there() {
    explore("call moved between threads x dispose", || {
        let app = App::new().unwrap();
        let watch = Watch::new();
        let (effect, lent) = lend(&app, &watch);
        let (mut first, mut second) = (start(&lent, pending()), start(&lent, pending()));
        // With wakers of this thread.
        let ended = [poll_once(&mut first), poll_once(&mut second)];
        assert!(ended.iter().all(Poll::is_pending));
        let callers = [first, second].map(|call| thread::spawn(move || block_on(call)));
        assert!(block_on(effect.dispose()).is_clean());
        watch.over();
        for caller in callers {
            assert!(is_gone(&caller.join().unwrap()));
        }
        block_on(app.shutdown());
        watch.verify();
    });
}

// spec: design/P1
#[test]
fn a_call_that_disposes_its_own_code_does_not_wait_for_itself() {
    explore("dispose from inside x dispose x call", || {
        let app = App::new().unwrap();
        let watch = Watch::new();
        let (effect, lent) = lend(&app, &watch);
        let inside = {
            let (effect, lent) = (effect.clone(), lent.clone());
            thread::spawn(move || {
                block_on(start(&lent, async move {
                    // Over already, or requested: one that waited here would wait for ever.
                    effect.dispose().await;
                    pending::<()>().await;
                }))
            })
        };
        let caller = thread::spawn(move || call(&lent).is_ok());
        assert!(block_on(effect.dispose()).is_clean());
        watch.over();
        assert!(is_gone(&inside.join().unwrap()));
        let _ = caller.join().unwrap();
        block_on(app.shutdown());
        watch.verify();
    });
}

// spec: design/P1
#[test]
fn a_group_that_is_made_while_its_plugin_goes_leaves_nothing_lent() {
    explore("effects x lend x call x dispose", || {
        let app = App::new().unwrap();
        let fiber = active(&app);
        let (watch, undone) = (Watch::new(), Count::default());
        let lent = Arc::new(OnceLock::new());
        let making = {
            let (ctx, watch, undone, lent) = (fiber.context(), watch.clone(), undone.clone(), lent.clone());
            thread::spawn(move || {
                let made = ctx.effects("group", |inside| {
                    let capture = watch.capture();
                    let undone = undone.clone();
                    inside.effect("older", async move || undone.add())?;
                    let (_, code) = inside.lend("code", capture)?;
                    step();
                    assert!(lent.set(code).is_ok());
                    Ok::<_, BoxError>(())
                });
                made.is_ok()
            })
        };
        let caller = {
            let lent = lent.clone();
            thread::spawn(move || lent.get().is_some_and(|lent| call(lent).is_ok()))
        };
        assert!(block_on(fiber.dispose()).is_clean());
        // What was lent is gone now; what came too late was never lent, and its thread drops it when it likes.
        let (calls, live) = (watch.started(), lent.get().is_some_and(Lent::is_live));
        let (made, _) = (making.join().unwrap(), caller.join().unwrap());
        watch.over();
        assert_eq!((watch.started(), live), (calls, false));
        assert!(undone.get() == 1 || !made, "made: {made}, undone: {}", undone.get());
        block_on(app.shutdown());
        watch.verify();
    });
}
