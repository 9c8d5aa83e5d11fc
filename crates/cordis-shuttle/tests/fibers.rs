//! Schedules of the queue that fibers are advanced from, and of several who unload the same thing.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use cordis_shuttle::{App, BoxError, Context, Fiber, State, define};
use shuttle::{future::block_on, thread};
use std::future::pending;
use support::{Count, Watch, explore, pause};

/// What one plugin's loads have done.
#[derive(Clone)]
struct Told {
    watch: std::sync::Arc<Watch>,
    loads: Count,
    undone: Count,
    /// The same, of a child plugin.
    child: Option<Box<Told>>,
}

impl Told {
    fn new() -> Self {
        Told { watch: Watch::new(), loads: Count::default(), undone: Count::default(), child: None }
    }

    fn with_child() -> Self {
        Told { child: Some(Box::new(Told::new())), ..Told::new() }
    }

    fn live(&self) -> usize {
        self.loads.get() - self.undone.get()
    }

    fn verify(&self) {
        assert_eq!(self.loads.get(), self.undone.get(), "each effect is undone once");
        self.watch.verify();
        if let Some(child) = &self.child {
            child.verify();
        }
    }

    fn over(&self) {
        self.watch.over();
        if let Some(child) = &self.child {
            child.over();
        }
    }
}

fn body<'a>(ctx: &'a Context, (): (), told: &'a Told) -> cordis_shuttle::BoxFuture<'a, Result<(), BoxError>> {
    Box::pin(async move {
        let capture = told.watch.capture();
        let _run = capture.run();
        let undone = told.undone.clone();
        ctx.effect("undo", async move || {
            let _run = capture.run();
            pause().await;
            undone.add();
        })?;
        told.loads.add();
        pause().await;
        if let Some(child) = &told.child {
            ctx.plugin(define("child").run_boxed(body), (**child).clone())?;
        }
        pause().await;
        Ok(())
    })
}

fn mount(ctx: &Context, told: &Told) -> Fiber {
    ctx.plugin(define("plugin").run_boxed(body), told.clone()).unwrap()
}

/// Ends when nothing is under way; a lost wake-up or a fiber that stays queued is a deadlock to the explorer.
fn settle(app: &App, fibers: &[&Fiber]) {
    block_on(app.quiet());
    for fiber in fibers {
        let state = fiber.state();
        assert!(matches!(state, State::Active | State::Disposed), "{state} when all was quiet");
    }
}

#[test]
fn queue_is_worked_off_whoever_helps() {
    explore("mount, restart, dispose x mount, cancel", || {
        let app = App::new().unwrap();
        let (mine, theirs) = (Told::with_child(), Told::new());
        let ctx: Context = app.clone();
        let their = theirs.clone();
        let other = thread::spawn(move || {
            let fiber = mount(&ctx, &their);
            let _ = block_on(fiber.ready());
            fiber.cancel();
            fiber
        });
        let fiber = mount(&app, &mine);
        let _ = block_on(fiber.restart());
        let disposer = fiber.clone();
        let disposer = thread::spawn(move || block_on(disposer.dispose()));
        let other = other.join().unwrap();
        settle(&app, &[]);
        assert!(disposer.join().unwrap().is_clean());
        mine.over();
        settle(&app, &[&fiber, &other]);
        assert_eq!((fiber.state(), other.state()), (State::Disposed, State::Disposed));
        theirs.over();
        block_on(app.shutdown());
        mine.verify();
        theirs.verify();
    });
}

#[test]
fn restarts_and_cancel_from_two_threads_leave_nothing_queued() {
    explore("restart x restart x cancel", || {
        let app = App::new().unwrap();
        let told = Told::new();
        let fiber = mount(&app, &told);
        let act = |act: fn(&Fiber)| {
            let fiber = fiber.clone();
            thread::spawn(move || act(&fiber))
        };
        let restarts = act(|fiber| drop(block_on(fiber.restart())));
        let cancels = act(|fiber| fiber.cancel());
        // Fails when it is disposed already.
        let _ = block_on(fiber.restart());
        restarts.join().unwrap();
        cancels.join().unwrap();
        settle(&app, &[&fiber]);
        assert_eq!((fiber.state(), told.live()), (State::Disposed, 0));
        told.over();
        block_on(app.shutdown());
        told.verify();
    });
}

#[test]
fn restart_is_not_lost_and_ends_active() {
    explore("restart x update of the same fiber", || {
        let app = App::new().unwrap();
        let (first, second) = (Told::new(), Told::new());
        let fiber = mount(&app, &first);
        let (restarting, updating, config) = (fiber.clone(), fiber.clone(), second.clone());
        let restart = thread::spawn(move || block_on(restarting.restart()));
        let update = thread::spawn(move || block_on(updating.update(config)));
        update.join().unwrap().unwrap();
        restart.join().unwrap().unwrap();
        settle(&app, &[&fiber]);
        assert_eq!((fiber.state(), first.live(), second.live()), (State::Active, 0, 1));
        first.over();
        assert!(block_on(app.shutdown()).is_clean());
        second.over();
        first.verify();
        second.verify();
    });
}

// spec: design/P1
#[test]
fn all_who_dispose_a_fiber_or_its_effect_wait_for_the_same_end() {
    explore("dispose x dispose x dispose of an effect", || {
        let app = App::new().unwrap();
        let told = Told::new();
        let fiber = mount(&app, &told);
        block_on(fiber.until(State::Active));
        let one = Watch::new();
        let undone = Count::default();
        let (capture, count) = (one.capture(), undone.clone());
        let effect = fiber.context().effect("one", async move || {
            let _run = capture.run();
            pause().await;
            count.add();
        });
        let effect = effect.unwrap();
        let of_effect = {
            let (one, undone) = (one.clone(), undone.clone());
            thread::spawn(move || {
                assert!(block_on(effect.dispose()).is_clean());
                one.over();
                undone.get()
            })
        };
        let disposer = |fiber: Fiber| {
            let (told, undone) = (told.clone(), undone.clone());
            move || {
                assert!(block_on(fiber.dispose()).is_clean());
                told.over();
                (told.undone.get(), undone.get(), fiber.state())
            }
        };
        let other = thread::spawn(disposer(fiber.clone()));
        let mine = disposer(fiber.clone())();
        assert_eq!([mine, other.join().unwrap()], [(1, 1, State::Disposed); 2]);
        assert_eq!(of_effect.join().unwrap(), 1);
        block_on(app.shutdown());
        told.verify();
        one.verify();
    });
}

// spec: design/P1
#[test]
fn dispose_during_a_load_rolls_back_what_the_body_did_so_far() {
    explore("load x dispose", || {
        let app = App::new().unwrap();
        let told = Told::with_child();
        let fiber = mount(&app, &told);
        let waiting = fiber.clone();
        let waiter = thread::spawn(move || block_on(waiting.ready()));
        assert!(block_on(fiber.dispose()).is_clean());
        told.over();
        assert_eq!((fiber.state(), told.live()), (State::Disposed, 0));
        let waited = waiter.join().unwrap();
        assert!(matches!(waited, Ok(State::Active | State::Disposed) | Err(_)), "{waited:?}");
        block_on(app.shutdown());
        told.verify();
    });
}

// spec: design/P1
#[test]
fn body_that_waits_for_ever_is_dropped() {
    explore("endless load x dispose x update", || {
        let app = App::new().unwrap();
        let told = Told::new();
        let endless = define("plugin").run_boxed(|ctx: &Context, (): (), told: &Told| {
            let body = body(ctx, (), told);
            let capture = told.watch.capture();
            Box::pin(async move {
                let _run = capture.run();
                body.await?;
                pending().await
            })
        });
        let fiber = app.plugin(endless, told.clone()).unwrap();
        let (updating, config) = (fiber.clone(), told.clone());
        let update = thread::spawn(move || block_on(updating.update(config)).is_ok());
        assert!(block_on(fiber.dispose()).is_clean());
        told.over();
        assert_eq!((fiber.state(), told.live()), (State::Disposed, 0));
        update.join().unwrap();
        block_on(app.shutdown());
        told.verify();
    });
}

// spec: design/P1
#[test]
fn shutdown_leaves_nothing_of_what_is_mounted_meanwhile() {
    explore("shutdown x mount", || {
        let app = App::new().unwrap();
        let (told, before) = (Told::new(), Told::with_child());
        let fiber = mount(&app, &before);
        let (ctx, theirs): (Context, _) = (app.clone(), told.clone());
        let mounting = thread::spawn(move || {
            let mounted = ctx.plugin(define("late").run_boxed(body), theirs);
            mounted.map(|fiber| block_on(fiber.ready()))
        });
        assert!(block_on(app.shutdown()).is_clean());
        before.over();
        told.over();
        assert_eq!((fiber.state(), told.live(), before.live()), (State::Disposed, 0, 0));
        // What was refused has been dropped by the time its thread is told.
        let _ = mounting.join().unwrap();
        before.verify();
        told.verify();
    });
}
