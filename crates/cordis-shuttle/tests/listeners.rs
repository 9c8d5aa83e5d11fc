//! Schedules of dispatches against the removal of their listeners.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use cordis_shuttle::{App, Context, Emit, Next, Parallel, Serial, Waterfall};
use shuttle::{future::block_on, thread};
use support::{Capture, Count, Watch, explore, pause, step};

const TICK: Emit<u32> = Emit::new("tick");
const WRAP: Waterfall<u32, u32> = Waterfall::new("wrap");
const ASK: Serial<u32, u32> = Serial::new("ask");
const TELL: Parallel<u32> = Parallel::new("tell");

fn emit(ctx: &Context, times: u32) -> thread::JoinHandle<()> {
    let ctx = ctx.clone();
    thread::spawn(move || (0..times).for_each(|n| ctx.emit(TICK, &n)))
}

// spec: design/P1, design/P2
#[test]
fn no_call_starts_after_dispose_has_returned_and_captures_are_dropped() {
    explore("emit x dispose", || {
        let app = App::new().unwrap();
        let (watch, stays) = (Watch::new(), Count::default());
        let doomed = app.on(TICK).with(watch.capture()).run(|capture: &Capture, _| {
            let _run = capture.run();
            step();
        });
        let doomed = doomed.unwrap();
        app.on(TICK).with(stays.clone()).run(|stays, _| stays.add()).unwrap();
        let emitters = [emit(&app, 2), emit(&app, 1)];
        assert!(block_on(doomed.dispose()).is_clean());
        watch.over();
        app.emit(TICK, &9);
        for emitter in emitters {
            emitter.join().unwrap();
        }
        assert_eq!(stays.get(), 4, "its neighbour hears every dispatch once");
        block_on(app.shutdown());
        watch.verify();
    });
}

// spec: design/P1
#[test]
fn listener_registered_before_a_dispatch_hears_it_whatever_else_comes_and_goes() {
    explore("on x emit x dispose", || {
        let app = App::new().unwrap();
        let churn = {
            let ctx: Context = app.clone();
            thread::spawn(move || {
                let other = ctx.on(TICK).run(|_| ()).unwrap();
                other.cancel();
            })
        };
        let emitter = emit(&app, 1);
        let heard = Count::default();
        let listener = app.on(TICK).with(heard.clone()).run(|heard, n| {
            if *n == 7 {
                heard.add();
            }
        });
        app.emit(TICK, &7);
        block_on(listener.unwrap().dispose());
        app.emit(TICK, &7);
        churn.join().unwrap();
        emitter.join().unwrap();
        assert_eq!(heard.get(), 1);
        block_on(app.shutdown());
        assert_eq!(app.listeners(TICK), 0);
    });
}

async fn wrapper(capture: &Capture, n: &mut u32, next: Next<'_, u32, u32>) -> u32 {
    let _run = capture.run();
    pause().await;
    let below = next.run(n).await;
    pause().await;
    below + 10
}

async fn innermost(inner: &Count, n: &mut u32) -> u32 {
    inner.add();
    *n
}

// spec: design/P1
#[test]
fn suspended_wrapper_is_waited_for_and_none_starts_afterwards() {
    explore("waterfall x dispose", || {
        let app = App::new().unwrap();
        let (watch, inner) = (Watch::new(), Count::default());
        let doomed = app.on(WRAP).with(watch.capture()).run(wrapper).unwrap();
        let neighbour = Watch::new();
        app.on(WRAP).with(neighbour.capture()).run(wrapper).unwrap();
        let dispatch = || {
            let (ctx, inner): (Context, _) = (app.clone(), inner.clone());
            thread::spawn(move || block_on(ctx.waterfall(WRAP, &mut 1, &inner, innermost)).unwrap())
        };
        let dispatchers = [dispatch(), dispatch()];
        assert!(block_on(doomed.dispose()).is_clean());
        watch.over();
        let last = block_on(app.waterfall(WRAP, &mut 1, &inner, innermost)).unwrap();
        assert_eq!(last, 11);
        let wrapped: u32 = dispatchers.map(|dispatcher| dispatcher.join().unwrap()).iter().sum();
        // Each has passed the neighbour, and the doomed one as often as that was started.
        assert_eq!(wrapped as usize, 2 * 11 + 10 * watch.started());
        assert_eq!((inner.get(), neighbour.started()), (3, 3));
        block_on(app.shutdown());
        neighbour.over();
        watch.verify();
        neighbour.verify();
    });
}

// spec: design/P1
#[test]
fn serial_and_parallel_listeners_are_waited_for() {
    explore("serial, parallel x dispose", || {
        let app = App::new().unwrap();
        let watch = Watch::new();
        let asked = app.on(ASK).with(watch.capture()).run(async |capture: &Capture, n: &u32| {
            let _run = capture.run();
            pause().await;
            Ok((*n > 1).then_some(*n))
        });
        let told = app.on(TELL).with(watch.capture()).run(async |capture: &Capture, _: &u32| {
            let _run = capture.run();
            pause().await;
            Ok(())
        });
        let (asked, told) = (asked.unwrap(), told.unwrap());
        let (asker, teller): (Context, Context) = (app.clone(), app.clone());
        let asker = thread::spawn(move || block_on(asker.serial(ASK, &1)).unwrap());
        let teller = thread::spawn(move || block_on(teller.parallel(TELL, &1)).unwrap());
        let other = thread::spawn(move || block_on(told.dispose()));
        assert!(block_on(asked.dispose()).is_clean());
        assert!(other.join().unwrap().is_clean());
        watch.over();
        assert_eq!(asker.join().unwrap(), None);
        teller.join().unwrap();
        assert_eq!(block_on(app.serial(ASK, &2)).unwrap(), None);
        block_on(app.shutdown());
        watch.verify();
    });
}

// spec: design/P3
#[test]
fn listener_that_disposes_itself_ends_while_another_dispatch_runs_it() {
    explore("dispose from inside", || {
        let app = App::new().unwrap();
        let watch = Watch::new();
        let slot: std::sync::Arc<std::sync::OnceLock<cordis_shuttle::Effect>> = Default::default();
        let own = slot.clone();
        let capture = watch.capture();
        let listener = app.on(WRAP).run_boxed(move |n, next| {
            let (run, own) = (capture.run(), own.clone());
            Box::pin(async move {
                own.get().unwrap().dispose().await;
                let below = next.run(n).await;
                drop(run);
                below + 10
            })
        });
        slot.set(listener.unwrap()).unwrap();
        let dispatch = || {
            let ctx: Context = app.clone();
            thread::spawn(move || {
                block_on(ctx.waterfall(WRAP, &mut 1, &Count::default(), innermost)).unwrap()
            })
        };
        let wrapped: u32 = [dispatch(), dispatch()].map(|dispatcher| dispatcher.join().unwrap()).iter().sum();
        assert!((1..=2).contains(&watch.started()));
        assert_eq!(wrapped as usize, 2 + 10 * watch.started());
        block_on(slot.get().unwrap().dispose());
        watch.over();
        block_on(app.shutdown());
        watch.verify();
    });
}

// spec: design/P1
#[test]
fn once_is_called_at_most_once_and_never_after_dispose() {
    explore("once x dispose x two emitters", || {
        let app = App::new().unwrap();
        let watch = Watch::new();
        let once = app.on(TICK).once().with(watch.capture()).run(|capture: &Capture, _| {
            let _run = capture.run();
            step();
        });
        let once = once.unwrap();
        let emitters = [emit(&app, 1), emit(&app, 1)];
        assert!(block_on(once.dispose()).is_clean());
        watch.over();
        for emitter in emitters {
            emitter.join().unwrap();
        }
        app.emit(TICK, &9);
        assert!(watch.started() <= 1);
        block_on(app.shutdown());
        watch.verify();
    });
}

#[test]
fn once_is_called_exactly_once_when_nobody_disposes_it() {
    explore("once x two emitters", || {
        let app = App::new().unwrap();
        let (watch, asked) = (Watch::new(), Count::default());
        let once = app.on(TICK).once().with(watch.capture()).run(|capture: &Capture, _| {
            let _run = capture.run();
            step();
        });
        let once = once.unwrap();
        app.on(WRAP)
            .once()
            .with(asked.clone())
            .run(async |asked, n, next| {
                asked.add();
                pause().await;
                next.run(n).await
            })
            .unwrap();
        let wrapped: Context = app.clone();
        let wrapped =
            thread::spawn(move || block_on(wrapped.waterfall(WRAP, &mut 1, &Count::default(), innermost)));
        let emitter = emit(&app, 1);
        app.emit(TICK, &9);
        block_on(app.waterfall(WRAP, &mut 1, &Count::default(), innermost)).unwrap();
        emitter.join().unwrap();
        wrapped.join().unwrap().unwrap();
        assert_eq!((watch.started(), asked.get()), (1, 1));
        assert!(!once.is_live());
        assert!(block_on(once.dispose()).is_clean());
        watch.over();
        block_on(app.shutdown());
        watch.verify();
    });
}
