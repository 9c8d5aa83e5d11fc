//! What it costs to load, to unload, and to follow what others do. What stays on one thread and never waits is timed by that
//! thread's own clock, the rest by the wall's.
#![allow(clippy::unwrap_used, missing_docs, reason = "a benchmark; criterion's macros document nothing")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cordis::{App, Effect, Emit, Fiber, Key, State};
use cordis_bench::host::{
    app_on, current_thread, load_and_unload, load_dependant, load_link, multi_thread, neighbours, touch,
};
use cordis_bench::measure::{alone, pair, settings};
use cpu_time::ThreadTime;
use criterion::{Criterion, criterion_group, criterion_main};
use tokio::runtime::Runtime;

const EVENT: Emit<u64> = Emit::new("event");
const NEEDED: Key<u64> = Key::new("needed");

/// Where the loading future runs.
#[derive(Clone, Copy)]
enum From {
    CurrentThread,
    Worker,
    BlockOn,
}

/// An app with neighbours, to load a plugin into.
struct Place {
    runtime: Arc<Runtime>,
    app: Arc<App>,
    from: From,
}

impl Place {
    fn beside(runtime: &Arc<Runtime>, from: From, count: usize) -> Self {
        let app = Arc::new(app_on(runtime));
        runtime.block_on(neighbours(&app, count));
        Self { runtime: runtime.clone(), app, from }
    }

    fn cycles(&self, times: u64) -> Duration {
        let app = self.app.clone();
        let work = async move {
            for _ in 0..times {
                load_and_unload(&app).await;
            }
        };
        match self.from {
            From::CurrentThread => {
                let start = ThreadTime::now();
                self.runtime.block_on(work);
                start.elapsed()
            }
            From::Worker | From::BlockOn => {
                let timed = async {
                    let start = Instant::now();
                    work.await;
                    start.elapsed()
                };
                match self.from {
                    From::Worker => self.runtime.block_on(self.runtime.spawn(timed)).unwrap(),
                    _ => self.runtime.block_on(timed),
                }
            }
        }
    }
}

/// Beside more than one plugin the floor is the same beside one.
fn load(c: &mut Criterion) {
    for (name, from) in
        [("load", From::CurrentThread), ("load-worker", From::Worker), ("load-block-on", From::BlockOn)]
    {
        let runtime = Arc::new(match from {
            From::CurrentThread => current_thread(),
            From::Worker | From::BlockOn => multi_thread(),
        });
        let beside_one = Place::beside(&runtime, from, 1);
        alone(c, &format!("{name}/1"), |n| beside_one.cycles(n));
        for count in [100, 1_000, 10_000] {
            let place = Place::beside(&runtime, from, count);
            pair(c, &format!("{name}/{count}"), 100, |n| place.cycles(n), |n| beside_one.cycles(n));
        }
    }
}

/// A provider and its dependants.
struct Provided<'r> {
    runtime: &'r Runtime,
    app: App,
    provider: Effect,
    dependants: Vec<Fiber>,
}

impl<'r> Provided<'r> {
    fn new(runtime: &'r Runtime, count: usize) -> Self {
        let app = app_on(runtime);
        let provider = app.provide(NEEDED, Arc::new(1)).unwrap();
        let dependants: Vec<_> = (0..count).map(|_| load_dependant(&app, NEEDED)).collect();
        runtime.block_on(all_are(&dependants, State::Active));
        Self { runtime, app, provider, dependants }
    }

    /// The time for one dependant, which is what is reported.
    fn swaps(&mut self, times: u64) -> Duration {
        let took = self.runtime.block_on(async {
            let start = ThreadTime::now();
            for value in 0..times {
                self.provider.dispose().await;
                self.provider = self.app.provide(NEEDED, Arc::new(value)).unwrap();
                all_are(&self.dependants, State::Active).await;
            }
            start.elapsed()
        });
        took / u32::try_from(self.dependants.len()).unwrap()
    }
}

/// Beside 250 dependants the floor is as many swaps of 250 as make the same number of reloads; the time is for each of them.
fn swap(c: &mut Criterion) {
    let runtime = current_thread();
    let mut few = Provided::new(&runtime, 250);
    alone(c, "swap/250", |n| few.swaps(n));
    for count in [1_000, 4_000] {
        let mut many = Provided::new(&runtime, count);
        let times = u32::try_from(count / 250).unwrap();
        let floor = |n| few.swaps(n * u64::from(times)) / times;
        pair(c, &format!("swap/{count}"), 1, |n| many.swaps(n), floor);
    }
}

/// Plugins each of which needs what the one before provides.
struct Chain<'r> {
    runtime: &'r Runtime,
    app: App,
    first: Key<u64>,
    links: Vec<Fiber>,
}

#[derive(Clone, Copy)]
enum Step {
    Up,
    Down,
    Back,
}

impl<'r> Chain<'r> {
    fn new(runtime: &'r Runtime, length: usize) -> Self {
        let app = app_on(runtime);
        let keys: Vec<Key<u64>> = (0..=length).map(|link| Key::new(format!("link {link}").leak())).collect();
        let links: Vec<_> = keys.windows(2).map(|pair| load_link(&app, pair[0], pair[1])).collect();
        runtime.block_on(all_are(&links, State::Pending));
        Self { runtime, app, first: keys[0], links }
    }

    /// Goes up, down, up again and down again, and gives the time of one of these.
    fn rounds(&self, step: Step, times: u64) -> Duration {
        self.runtime.block_on(async {
            let mut took = Duration::ZERO;
            for _ in 0..times {
                let (up, provider) = self.up().await;
                let down = self.down(provider).await;
                let (back, provider) = self.up().await;
                self.down(provider).await;
                took += match step {
                    Step::Up => up,
                    Step::Down => down,
                    Step::Back => back,
                };
            }
            took
        })
    }
    async fn up(&self) -> (Duration, Effect) {
        let start = ThreadTime::now();
        let provider = self.app.provide(self.first, Arc::new(1)).unwrap();
        all_are(&self.links, State::Active).await;
        (start.elapsed(), provider)
    }

    async fn down(&self, provider: Effect) -> Duration {
        let start = ThreadTime::now();
        provider.dispose().await;
        all_are(&self.links, State::Pending).await;
        start.elapsed()
    }
}

/// The floor is what the same step of a chain of 1,000 takes ten times over.
fn chain(c: &mut Criterion) {
    let runtime = current_thread();
    let (long, short) = (Chain::new(&runtime, 10_000), Chain::new(&runtime, 1_000));
    for (name, step) in [("up", Step::Up), ("down", Step::Down), ("back", Step::Back)] {
        pair(c, &format!("chain/10000/{name}"), 1, |n| long.rounds(step, n), |n| short.rounds(step, 10 * n));
    }
}

/// Each change is followed by a dispatch: what a snapshot that is built on demand costs at its worst.
fn churn(c: &mut Criterion) {
    let runtime = current_thread();
    let app = app_on(&runtime);
    for _ in 0..1_000 {
        app.on(EVENT).run(touch).unwrap();
    }
    alone(c, "churn/1000", |n| {
        runtime.block_on(async {
            let start = ThreadTime::now();
            for _ in 0..n {
                let listener = app.on(EVENT).run(touch).unwrap();
                app.emit(EVENT, black_box(&1));
                listener.dispose().await;
                app.emit(EVENT, black_box(&1));
            }
            start.elapsed()
        })
    });
}

async fn all_are(fibers: &[Fiber], state: State) {
    for fiber in fibers {
        fiber.until(state).await;
    }
}

criterion_group! { name = quick; config = settings(); targets = load, swap, churn }
criterion_group! { name = slow; config = settings().sample_size(10); targets = chain }
criterion_main!(quick, slow);
