//! Schedules of set-ups and tasks against the unloading of their plugin.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use cordis_shuttle::{App, BoxError, Context, EffectError, Emit, Fiber, State, define};
use shuttle::{future::block_on, thread};
use std::{future::pending, sync::Arc, time::Duration};
use support::{Capture, Count, Watch, explore, pause, step};

const TICK: Emit<u32> = Emit::new("tick");

fn active(app: &App) -> Fiber {
    let fiber = app.plugin(define("plugin").run(async |_: &Context, (): (), (): &()| Ok(())), ()).unwrap();
    block_on(fiber.until(State::Active));
    fiber
}

/// What a set-up acquires and its teardown gives back.
#[derive(Clone, Default)]
struct Held {
    acquired: Count,
    released: Count,
}

impl Held {
    fn now(&self) -> usize {
        self.acquired.get() - self.released.get()
    }
}

type Undo = Box<dyn FnOnce() -> cordis_shuttle::BoxFuture<'static, ()> + Send>;

/// Acquires twice, with an effect for the first and a disposer for the second.
async fn set_up(e: Context, watch: Arc<Watch>, held: Held) -> Result<Undo, BoxError> {
    let (capture, first) = (watch.capture(), held.clone());
    e.effect("inner", async move || {
        pause().await;
        first.released.add();
    })?;
    held.acquired.add();
    e.on(TICK).with(watch.capture()).run(|capture: &Capture, _| drop(capture.run()))?;
    pause().await;
    held.acquired.add();
    Ok(Box::new(|| {
        Box::pin(async move {
            let _run = capture.run();
            pause().await;
            held.released.add();
        })
    }))
}

// spec: design/P1
#[test]
fn set_up_under_way_is_waited_for_and_undone_as_a_whole() {
    explore("effect_with set-up x dispose", || {
        let app = App::new().unwrap();
        let fiber = active(&app);
        let (watch, held) = (Watch::new(), Held::default());
        let setting_up = {
            let (ctx, watch, held) = (fiber.context(), watch.clone(), held.clone());
            thread::spawn(move || {
                let made = block_on(ctx.effect_with("group", |e| set_up(e, watch, held)));
                made.map(|effect| effect.is_live())
            })
        };
        assert!(block_on(fiber.dispose()).is_clean());
        watch.over();
        let now = held.now();
        app.emit(TICK, &1);
        let made = setting_up.join().unwrap();
        assert_eq!((now, held.now()), (0, 0), "{made:?}");
        if let Err(error) = made {
            assert!(matches!(error, EffectError::Inactive(_) | EffectError::Setup { .. }), "{error}");
        }
        block_on(app.shutdown());
        watch.verify();
    });
}

// spec: design/P1
#[test]
fn two_who_undo_a_group_undo_each_part_once() {
    explore("effect_with x dispose x dispose of the plugin", || {
        let app = App::new().unwrap();
        let fiber = active(&app);
        let (watch, held) = (Watch::new(), Held::default());
        let (of_setup, holding) = (watch.clone(), held.clone());
        let group = block_on(fiber.context().effect_with("group", |e| set_up(e, of_setup, holding))).unwrap();
        assert_eq!(held.now(), 2);
        let other = {
            let held = held.clone();
            thread::spawn(move || {
                assert!(block_on(group.dispose()).is_clean());
                held.now()
            })
        };
        assert!(block_on(fiber.dispose()).is_clean());
        watch.over();
        assert_eq!((held.now(), other.join().unwrap()), (0, 0));
        assert_eq!(held.released.get(), 2);
        block_on(app.shutdown());
        watch.verify();
    });
}

// spec: design/P1
#[test]
fn set_up_that_is_dropped_half_way_is_undone() {
    explore("effect_with dropped x dispose", || {
        let app = App::new().unwrap();
        let fiber = active(&app);
        let (watch, held) = (Watch::new(), Held::default());
        let setting_up = {
            let (ctx, watch, held) = (fiber.context(), watch.clone(), held.clone());
            thread::spawn(move || {
                block_on(async {
                    let mut set_up = Box::pin(ctx.effect_with("group", |e| set_up(e, watch, held)));
                    let once = std::future::poll_fn(|cx| {
                        std::task::Poll::Ready(set_up.as_mut().poll(cx).is_ready())
                    });
                    once.await
                })
            })
        };
        assert!(block_on(fiber.dispose()).is_clean());
        watch.over();
        let now = held.now();
        setting_up.join().unwrap();
        assert_eq!((now, held.now()), (0, 0));
        block_on(app.shutdown());
        watch.verify();
    });
}

fn forever(watch: &Arc<Watch>) -> impl Future<Output = ()> + Send + 'static {
    let capture = watch.capture();
    async move {
        let _run = capture.run();
        pause().await;
        step();
        pending::<()>().await;
    }
}

// spec: design/P1
#[test]
fn task_is_dropped_by_the_time_its_plugin_is_gone() {
    explore("spawn x dispose", || {
        let app = App::new().unwrap();
        let fiber = active(&app);
        let watch = Watch::new();
        let spawner = {
            let (ctx, future) = (fiber.context(), forever(&watch));
            thread::spawn(move || ctx.spawn("task", future).map(|task| task.is_live()))
        };
        fiber.context().spawn("task", forever(&watch)).unwrap();
        assert!(block_on(fiber.dispose()).is_clean());
        // The other task was refused if it came too late; then its thread drops it when it likes.
        let _ = spawner.join().unwrap();
        watch.over();
        block_on(app.shutdown());
        watch.verify();
    });
}

// spec: design/P1
#[test]
fn task_that_ends_while_two_dispose_it_is_over_for_both() {
    explore("task ends x dispose x dispose of its plugin", || {
        let app = App::new().unwrap();
        let fiber = active(&app);
        let watch = Watch::new();
        let capture = watch.capture();
        let task = fiber.context().spawn("task", async move {
            let _run = capture.run();
            pause().await;
        });
        let task = task.unwrap();
        let other = {
            let watch = watch.clone();
            thread::spawn(move || {
                assert!(block_on(task.dispose()).is_clean());
                watch.over();
            })
        };
        assert!(block_on(fiber.dispose()).is_clean());
        watch.over();
        other.join().unwrap();
        block_on(app.shutdown());
        watch.verify();
    });
}

// spec: design/P1
#[test]
fn who_sleeps_is_told_when_the_plugin_goes() {
    explore("sleep, timeout x dispose", || {
        // Longer than any schedule.
        const FOREVER: Duration = Duration::from_secs(24 * 60 * 60);
        let app = App::new().unwrap();
        let fiber = active(&app);
        let (watch, timed) = (Watch::new(), Count::default());
        let sleeper = fiber.context();
        let sleeper = thread::spawn(move || block_on(sleeper.sleep(FOREVER)).is_err());
        let capture = watch.capture();
        fiber.context().timeout(FOREVER, move || drop(capture.run())).unwrap();
        let (capture, count) = (watch.capture(), timed.clone());
        let soon = fiber.context().timeout(Duration::ZERO, move || {
            let _run = capture.run();
            count.add();
        });
        drop(soon.unwrap());
        assert!(block_on(fiber.dispose()).is_clean());
        watch.over();
        assert!(sleeper.join().unwrap(), "the sleeper was not told");
        // The far one never came, the near one at most once.
        assert_eq!(watch.started(), timed.get());
        assert!(timed.get() <= 1);
        block_on(app.shutdown());
        watch.verify();
    });
}
