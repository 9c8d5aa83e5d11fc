//! Runs a test's body under many schedules, and watches foreign code that must not outlive its registration.
#![allow(dead_code, reason = "each test file uses its part")]

use shuttle::{
    Config, FailurePersistence, Runner,
    scheduler::{
        PctScheduler, RandomScheduler, ReplayScheduler, Scheduler, UncontrolledNondeterminismCheckScheduler,
    },
};
use std::{
    cell::Cell,
    env,
    io::Write,
    path::PathBuf,
    sync::{
        Arc, Once,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    task::Poll,
    time::Duration,
};

/// How many schedules each of the two schedulers explores of a test unless `CORDIS_SCHEDULES` says otherwise.
const SHORT: usize = 200;
/// The second scheduler places one preemption fewer than this; few are enough for most races.
const DEPTH: usize = 3;

/// How many schedules are run twice.
const REPLAYED: usize = 10;

thread_local! { static EXPLORED: Cell<Option<&'static str>> = const { Cell::new(None) } }

/// Explores `body` with random schedules, and with few, well placed preemptions.
///
/// The short form explores the same schedules each time. `CORDIS_SCHEDULES=n` makes it the long form, with another seed
/// each time unless `CORDIS_SEED` names one; `CORDIS_SECONDS=n` ends each of the two explorations early. A schedule
/// that fails is written to a file; `CORDIS_REPLAY=file` runs that one alone.
///
/// A panic anywhere in `body` ends the process, even one that the host would contain.
pub(crate) fn explore(name: &'static str, body: fn()) {
    end_with_the_first_panic();
    EXPLORED.set(Some(name));
    if let Ok(file) = env::var("CORDIS_REPLAY") {
        run(ReplayScheduler::new_from_file(file).expect("the schedule to replay"), body);
        return;
    }
    let schedules = number("CORDIS_SCHEDULES");
    let seed = number("CORDIS_SEED").unwrap_or_else(|| match schedules {
        None => 1,
        Some(_) => std::time::UNIX_EPOCH.elapsed().map_or(1, |age| u64::from(age.subsec_nanos())),
    });
    let schedules = schedules.map_or(SHORT, |n| n as usize);
    // What depends on anything but the schedule could not be replayed.
    run(UncontrolledNondeterminismCheckScheduler::new(RandomScheduler::new_from_seed(seed, REPLAYED)), body);
    let random = run(RandomScheduler::new_from_seed(seed, schedules), body);
    let pct = run(PctScheduler::new_from_seed(seed, DEPTH, schedules), body);
    println!("{name}: {random} random schedules, {pct} by PCT of depth {DEPTH}, seed {seed}");
    EXPLORED.set(None);
}

fn number(variable: &str) -> Option<u64> {
    env::var(variable).ok().map(|n| n.parse().unwrap_or_else(|_| panic!("{variable} is not a number: `{n}`")))
}

fn run(scheduler: impl Scheduler + 'static, body: fn()) -> usize {
    let mut config = Config::new();
    config.stack_size = 256 * 1024;
    config.silence_warnings = true;
    config.failure_persistence = FailurePersistence::File(Some(folder()));
    config.max_time = number("CORDIS_SECONDS").map(Duration::from_secs);
    Runner::new(scheduler, config).run(body)
}

fn folder() -> PathBuf {
    env!("CARGO_TARGET_TMPDIR").into()
}

/// A failure stops all threads of a schedule where they are. Unwinding them would run the host's own clean-up outside of
/// any schedule, which aborts the process before the test harness has shown a word; so it is told and ended here.
fn end_with_the_first_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // The explorer sets its own hook, which writes the schedule down, at its first run.
        Runner::new(RandomScheduler::new(1), Config::new()).run(|| {});
        let explorer = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let Some(name) = EXPLORED.get() else { return explorer(panic) };
            explorer(panic);
            let _ = writeln!(std::io::stderr(), "\n{name}: {panic}");
            let schedules = std::fs::read_dir(folder()).into_iter().flatten().flatten();
            let last = schedules.max_by_key(|file| file.metadata().and_then(|file| file.modified()).ok());
            if let Some(last) = last {
                let file = last.path();
                let _ = writeln!(
                    std::io::stderr(),
                    "to see it again: CORDIS_REPLAY={} and this test",
                    file.display()
                );
            }
            std::process::exit(101);
        }));
    });
}

/// A point at which another thread may run.
pub(crate) fn step() {
    shuttle::sync::atomic::AtomicBool::new(false).load(shuttle::sync::atomic::Ordering::SeqCst);
}

/// Suspends once and wakes itself. Not the explorer's own yield, which takes the thread that polls for one that spins and
/// lets everybody else go first.
pub(crate) async fn pause() {
    let mut paused = false;
    std::future::poll_fn(|cx| {
        if std::mem::replace(&mut paused, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// What is known of one piece of foreign code. Its own counters are no schedule points.
#[derive(Default)]
pub(crate) struct Watch {
    pub(crate) started: AtomicUsize,
    running: AtomicUsize,
    captures: AtomicUsize,
    over: AtomicBool,
    started_late: AtomicUsize,
    running_late: AtomicUsize,
    captured_late: AtomicUsize,
}

/// A run of watched code, until dropped.
pub(crate) struct Run(Arc<Watch>);

/// What watched code holds, until dropped.
pub(crate) struct Capture(Arc<Watch>);

impl Watch {
    pub(crate) fn new() -> Arc<Watch> {
        Arc::default()
    }

    pub(crate) fn capture(self: &Arc<Watch>) -> Capture {
        self.captures.fetch_add(1, SeqCst);
        Capture(self.clone())
    }

    /// From now on nothing of it may run, start or be held.
    pub(crate) fn over(&self) {
        self.over.store(true, SeqCst);
        self.running_late.fetch_add(self.running.load(SeqCst), SeqCst);
        self.captured_late.fetch_add(self.captures.load(SeqCst), SeqCst);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(SeqCst)
    }

    pub(crate) fn started(&self) -> usize {
        self.started.load(SeqCst)
    }

    /// Asserts what `over` and later runs have found.
    pub(crate) fn verify(&self) {
        let late = [&self.started_late, &self.running_late, &self.captured_late].map(|n| n.load(SeqCst));
        assert_eq!(late, [0; 3], "[started late, still running, still held] when it was to be over");
        assert!(self.is_over(), "it was never declared over");
        assert_eq!(self.running.load(SeqCst), 0, "it still runs");
        assert_eq!(self.captures.load(SeqCst), 0, "its captures are still held");
    }
}

impl Capture {
    pub(crate) fn run(&self) -> Run {
        let watch = self.0.clone();
        watch.started.fetch_add(1, SeqCst);
        watch.running.fetch_add(1, SeqCst);
        if watch.is_over() {
            watch.started_late.fetch_add(1, SeqCst);
        }
        Run(watch)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, SeqCst);
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.0.captures.fetch_sub(1, SeqCst);
    }
}

/// A counter that is no schedule point.
#[derive(Clone, Default)]
pub(crate) struct Count(Arc<AtomicUsize>);

impl Count {
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, SeqCst);
    }

    pub(crate) fn get(&self) -> usize {
        self.0.load(SeqCst)
    }
}
