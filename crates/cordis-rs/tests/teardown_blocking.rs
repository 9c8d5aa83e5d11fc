//! Teardown steps that block their thread: given up after their limit and named, and nobody else waits for them.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use cordis::{testing::TestApp, *};
use std::{
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};

const TOLD: Emit<()> = Emit::new("told");
const SERVICE: Key<u32> = Key::new("service");
/// Of what blocks already when its disposal begins.
const LIMIT: Duration = Duration::from_millis(200);
/// Of what has to come to where it blocks first, which takes its time on a machine that is busy.
const LONGER: Duration = Duration::from_secs(1);

/// Blocks threads until it is opened; counts those that wait and those that got through.
#[derive(Clone, Default)]
struct Gate(Arc<(Mutex<Passage>, Condvar)>);

#[derive(Default)]
struct Passage {
    open: bool,
    came: usize,
    passed: usize,
}

impl Gate {
    fn block(&self) {
        let (state, changed) = &*self.0;
        let mut state = state.lock().unwrap();
        state.came += 1;
        while !state.open {
            state = changed.wait(state).unwrap();
        }
        state.passed += 1;
    }

    fn waiting(&self) -> usize {
        self.0.0.lock().unwrap().came
    }

    fn open(&self) {
        self.0.0.lock().unwrap().open = true;
        self.0.1.notify_all();
    }

    async fn passed(&self, count: usize) {
        while self.0.0.lock().unwrap().passed < count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

impl Drop for Gate {
    /// A test that fails lets its threads go, or its runtime would wait for them.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.open();
        }
    }
}

/// Where a disposer blocks.
#[derive(Clone, Copy)]
enum Blocks {
    BeforeItsFirstAwait,
    AfterIt,
}

async fn blocking(blocks: Blocks, gate: Gate) {
    if let Blocks::AfterIt = blocks {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    gate.block();
}

type Config = (Blocks, Gate, Arc<AtomicBool>);

async fn body(ctx: &Context, _: (), (blocks, gate, older): &Config) -> Result<(), BoxError> {
    let (blocks, gate, older) = (*blocks, gate.clone(), older.clone());
    ctx.provide(SERVICE, Arc::new(1))?;
    ctx.effect("older", async move || older.store(true, SeqCst))?;
    ctx.effect("blocks", async move || blocking(blocks, gate).await)?.with_limit(LONGER);
    Ok(())
}

/// As `body`, and the blocking effect is part of another one.
async fn nested(ctx: &Context, _: (), (blocks, gate, older): &Config) -> Result<(), BoxError> {
    let (blocks, gate, older) = (*blocks, gate.clone(), older.clone());
    ctx.effect_with("outer", async |e| {
        e.effect("older", async move || older.store(true, SeqCst))?;
        e.effect("blocks", async move || blocking(blocks, gate).await)?.with_limit(LONGER);
        Ok(())
    })
    .await?;
    Ok(())
}

async fn is_given_up(app: &TestApp, fiber: Fiber, gate: Gate, older: Arc<AtomicBool>) {
    let on_a_worker = tokio::spawn(async move {
        let left = fiber.dispose().await;
        (left, fiber)
    });
    let given = tokio::time::timeout(Duration::from_secs(60), on_a_worker).await;
    let (left, fiber) = given.expect("the dispose waits for a disposer that never ends").unwrap();
    assert_eq!(left.to_string(), format!("`blocks` of `{}` is still running", left.still_running[0].plugin));
    assert_eq!((left.still_running.len(), left.leases.len()), (1, 0));
    assert!(older.load(SeqCst), "the steps after it were not taken");
    assert_eq!((fiber.state(), gate.waiting()), (State::Disposed, 1));
    assert!(app.get(SERVICE).is_none());
    // Told aside, by a task of its own.
    let mut told = app.take_errors();
    while told.is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
        told = app.take_errors();
    }
    assert_eq!(told.len(), 1);
    assert!(told[0].message.contains("did not end within its limit"), "{}", told[0].message);
    // It ends as if nothing had happened.
    gate.open();
    gate.passed(1).await;
    app.quiet().await;
    assert!(app.take_errors().is_empty());
}

// spec: design/P1
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_disposer_that_blocks_its_thread_is_given_up_after_its_limit_and_named() {
    for blocks in [Blocks::BeforeItsFirstAwait, Blocks::AfterIt] {
        let app = TestApp::new();
        let (gate, older) = (Gate::default(), Arc::new(AtomicBool::new(false)));
        let config = (blocks, gate.clone(), older.clone());
        let fiber = app.plugin(define("plain").run(body), config.clone()).unwrap();
        fiber.ready().await.unwrap();
        is_given_up(&app, fiber, gate.clone(), older).await;

        let (gate, older) = (Gate::default(), Arc::new(AtomicBool::new(false)));
        let fiber = app.plugin(define("nested").run(nested), (blocks, gate.clone(), older.clone())).unwrap();
        fiber.ready().await.unwrap();
        is_given_up(&app, fiber, gate.clone(), older).await;
    }
}

// spec: design/P1
#[test]
fn one_who_blocks_on_a_dispose_is_not_blocked_by_its_disposers() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let app = TestApp::new();
        let (gate, older) = (Gate::default(), Arc::new(AtomicBool::new(false)));
        let config = (Blocks::BeforeItsFirstAwait, gate.clone(), older.clone());
        let fiber = app.plugin(define("plain").run(body), config).unwrap();
        fiber.ready().await.unwrap();
        let left = tokio::time::timeout(Duration::from_secs(60), fiber.dispose()).await;
        assert_eq!(left.expect("it blocked its caller").still_running.len(), 1);
        gate.open();
    });
}

// spec: design/P1
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_request_that_is_blocked_by_a_disposer_blocks_no_dispose_of_the_plugin() {
    let app = TestApp::new();
    let (gate, older) = (Gate::default(), Arc::new(AtomicBool::new(false)));
    let effect = Arc::new(Mutex::new(None));
    let body = async |ctx: &Context, _: (), (gate, older, kept): &(Gate, Arc<AtomicBool>, Kept)| {
        let (gate, older) = (gate.clone(), older.clone());
        ctx.effect("older", async move || older.store(true, SeqCst))?;
        let effect = ctx.effect("blocks", async move || gate.block())?.with_limit(LONGER);
        *kept.lock().unwrap() = Some(effect);
        Ok(())
    };
    let config = (gate.clone(), older.clone(), effect.clone());
    let fiber = app.plugin(define("asked").run(body), config).unwrap();
    fiber.ready().await.unwrap();
    let effect = effect.lock().unwrap().take().unwrap();
    // What does not wait runs on the stack of the request: here it is that one's thread which is held.
    let requester = std::thread::spawn(move || effect.cancel());
    while gate.waiting() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    is_given_up(&app, fiber, gate, older).await;
    requester.join().unwrap();
}

type Kept = Arc<Mutex<Option<Effect>>>;

// spec: design/P1
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_kind_of_effect_keeps_to_a_limit_of_its_own() {
    async fn body(ctx: &Context, _: (), (gate, older): &(Gate, Arc<AtomicBool>)) -> Result<(), BoxError> {
        let older = older.clone();
        ctx.effect("older", async move || older.store(true, SeqCst))?;
        let blocks = gate.clone();
        ctx.timeout(Duration::from_millis(1), move || blocks.block())?.with_limit(LIMIT);
        let blocks = gate.clone();
        ctx.spawn("task", async move { blocks.block() })?.with_limit(LIMIT);
        let blocks = gate.clone();
        ctx.on(TOLD).run(move |()| blocks.block())?.with_limit(LIMIT);
        Ok(())
    }
    let app = TestApp::new();
    let (gate, older) = (Gate::default(), Arc::new(AtomicBool::new(false)));
    let fiber = app.plugin(define("busy").run(body), (gate.clone(), older.clone())).unwrap();
    fiber.ready().await.unwrap();
    let ctx = app.root();
    let emitter = std::thread::spawn(move || ctx.emit(TOLD, &()));
    while gate.waiting() < 3 {
        // Not a timer: the worker that attends to those may be the one that is held.
        std::thread::sleep(Duration::from_millis(5));
    }
    // Less than three times the ten seconds of a step without a limit.
    let left =
        tokio::time::timeout(Duration::from_secs(25), fiber.dispose()).await.expect("ten seconds each");
    let names: Vec<_> = left.still_running.iter().map(|late| late.step.as_str()).collect();
    assert_eq!(names, ["ctx.on(\"told\")", "task", "ctx.timeout()"]);
    assert!(older.load(SeqCst));
    gate.open();
    gate.passed(3).await;
    emitter.join().unwrap();
}

/// Blocks the thread that drops it.
struct Heavy(Gate);

impl Drop for Heavy {
    fn drop(&mut self) {
        self.0.block();
    }
}

/// Looks again and again, without working off what there is to do, as one who awaits the fiber would.
async fn comes_true(what: impl Fn() -> bool) -> bool {
    for _ in 0..12_000 {
        if what() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    false
}

// spec: design/P4
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_capture_whose_drop_blocks_its_thread_holds_up_no_other_plugin() {
    async fn body(ctx: &Context, _: (), gate: &Gate) -> Result<(), BoxError> {
        let heavy = Heavy(gate.clone());
        ctx.on(TOLD).run(move |()| assert!(!heavy.0.0.0.lock().unwrap().open))?;
        Ok(())
    }
    let (app, gate) = (TestApp::new(), Gate::default());
    let fiber = app.plugin(define("heavy").run(body), gate.clone()).unwrap();
    fiber.ready().await.unwrap();
    fiber.cancel();
    assert!(comes_true(|| gate.waiting() == 1).await);
    let other = app.plugin(define("other").run(async |_: &Context, _: (), _: &()| Ok(())), ()).unwrap();
    assert!(comes_true(|| other.state() == State::Active).await, "nobody works the queue off");
    assert_eq!(fiber.state(), State::Unloading);
    gate.open();
    assert!(fiber.dispose().await.is_clean());
    app.assert_no_errors();
}
