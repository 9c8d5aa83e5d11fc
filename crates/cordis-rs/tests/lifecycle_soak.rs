//! Ten thousand random lifecycles: fibers, effects, listeners, captures and memory return to where they were.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends there")]

mod support_lifecycle;

use cordis::{App, BoxError, Context, Disposed, Emit, Fiber, Key, Serial, State, define};
use std::sync::Arc;
use support_lifecycle::{counts, fine, ms, secs, unblocked};
use tokio::runtime::Builder;

const PING: Emit<u32> = Emit::new("ping");
const ASK: Serial<u32, u32> = Serial::new("ask");
const NUMBER: Key<u32> = Key::new("number");

/// A small generator; the same numbers every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// What a plugin captures everywhere; its count tells whether all of that is gone.
type Held = Arc<()>;

async fn body(ctx: &Context, _: (), (seed, held): &(u64, Held)) -> Result<(), BoxError> {
    let mut dice = Dice(*seed);
    for _ in 0..dice.roll(6) {
        let held = held.clone();
        match dice.roll(9) {
            0 => drop(ctx.on(PING).with(held).run(|_, _| ())?),
            1 => drop(ctx.on(PING).once().with(held).run(|_, _| ())?),
            2 => drop(ctx.on(ASK).with(held).run(async |_, n| Ok((*n > 1_000).then_some(*n)))?),
            3 => drop(ctx.effect("effect", async move || drop(held))?),
            4 => drop(ctx.spawn("task", async move {
                let _held = held;
                std::future::pending::<()>().await;
            })?),
            5 => drop(ctx.interval(ms(5), move || _ = &held)?),
            6 => drop(
                ctx.effect_with("group", async move |e| {
                    e.on(PING).with(held.clone()).run(|_, _| ())?;
                    Ok(async move || drop(held))
                })
                .await?,
            ),
            7 => {
                let scope = ctx.scope()?;
                scope.context().on(PING).with(held).run(|_, _| ())?;
                let _ = ctx.effect("scope", async move || drop(scope))?;
            }
            _ => {
                let _ = ctx.isolate(NUMBER).provide(NUMBER, Arc::new(1))?;
            }
        }
    }
    match dice.roll(5) {
        0 => Err("unlucky".into()),
        1 => {
            tokio::task::yield_now().await;
            fine()
        }
        _ => fine(),
    }
}

async fn life(app: &App, dice: &mut Dice, held: &Held) {
    let seed = dice.roll(u64::MAX).max(1);
    let fiber: Fiber = app.plugin(define("soaked").run(body), (seed, held.clone())).unwrap();
    for _ in 0..dice.roll(4) {
        match dice.roll(6) {
            0 => drop(fiber.ready().await),
            1 => drop(fiber.restart().await),
            2 => drop(fiber.update((dice.roll(u64::MAX).max(1), held.clone())).await),
            3 => app.emit(PING, &1),
            4 => drop(app.serial(ASK, &1).await),
            _ => drop(fiber.context().plugin(define("child").run(body), (seed / 2 + 1, held.clone()))),
        }
    }
    if dice.roll(8) == 0 {
        fiber.cancel();
    }
    assert_eq!(fiber.dispose().await, Disposed::default());
    assert_eq!(fiber.state(), State::Disposed);
}

/// Resident memory in bytes, where the system tells it.
fn resident() -> Option<usize> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(statm.split_whitespace().nth(1)?.parse::<usize>().ok()? * 4096)
}

fn soak(workers: usize) {
    let runtime = match workers {
        0 => Builder::new_current_thread().enable_time().build().unwrap(),
        n => Builder::new_multi_thread().worker_threads(n).enable_time().build().unwrap(),
    };
    let (app, held) = runtime.block_on(async {
        let app = App::new().unwrap();
        app.on(PING).run(|_| ()).unwrap();
        (app, Held::default())
    });
    let before = counts(&app.inspect().fiber);
    let round = |seed| {
        runtime.block_on(async {
            let mut dice = Dice(seed);
            for _ in 0..5_000 {
                life(&app, &mut dice, &held).await;
            }
            app.quiet().await;
        });
        assert_eq!(counts(&app.inspect().fiber), before);
        assert_eq!((app.listeners(PING), app.listeners(ASK), app.registry().len()), (1, 0, 0));
        assert_eq!(Arc::strong_count(&held), 1, "something that a plugin captured is still there");
        assert!(app.get(NUMBER).is_none());
        resident()
    };
    // The first half warms the allocator up; the second must need no more.
    let (half, full) = (round(0x9e37_79b9_7f4a_7c15), round(0x2545_f491_4f6c_dd1d));
    if let (Some(half), Some(full)) = (half, full) {
        assert!(full < half + 500_000, "{half} bytes after 5,000 lifecycles, {full} after 10,000");
    }
    runtime.block_on(app.shutdown());
    drop(app);
    runtime.shutdown_timeout(secs(5));
}

// spec: design/P1, design/P6
#[test]
fn ten_thousand_random_lifecycles_leave_nothing_behind() {
    unblocked(|| {
        soak(0);
        soak(2);
    });
}
