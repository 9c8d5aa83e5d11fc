//! Foreign code that panics or blocks, wherever the host runs or drops it: one failure, and everything else goes on.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends there")]

mod support_lifecycle;

use cordis::{App, BoxError, Context, Disposed, Emit, Key, State, define, keys};
use std::{
    fmt,
    future::pending,
    sync::{Arc, Mutex, mpsc},
    thread,
};
use support_lifecycle::{Log, both_flavours, counts, errors, fine, ms, unblocked};
use tokio::{runtime::Builder, time::sleep};

const PING: Emit<()> = Emit::new("ping");
const BOMB: Key<Bomb> = Key::new("bomb");

/// Panics when it is dropped.
struct Bomb(&'static str);

impl Drop for Bomb {
    fn drop(&mut self) {
        if !thread::panicking() {
            panic!("{} dropped", self.0);
        }
    }
}

/// An error that panics when it is shown.
#[derive(Debug)]
struct Unprintable;

impl fmt::Display for Unprintable {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("cannot be shown")
    }
}

impl std::error::Error for Unprintable {}

/// An error that panics when it is dropped.
#[derive(Debug)]
struct Undroppable;

impl fmt::Display for Undroppable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("undroppable")
    }
}

impl std::error::Error for Undroppable {}

impl Drop for Undroppable {
    fn drop(&mut self) {
        if !thread::panicking() {
            panic!("error dropped");
        }
    }
}

async fn listens(ctx: &Context, _: (), log: &Log) -> Result<(), BoxError> {
    ctx.on(PING).with(log.clone()).run(|log, ()| log.add("ping"))?;
    fine()
}

/// The host is as good as before: plugins load, hear, and unload.
async fn is_well(app: &App) {
    let log = Log::new();
    let fiber = app.plugin(define("healthy").run(listens), log.clone()).unwrap();
    assert_eq!(fiber.ready().await.unwrap(), State::Active);
    app.emit(PING, &());
    assert_eq!(log.take(), ["ping"]);
    assert_eq!(fiber.dispose().await, Disposed::default());
    assert_eq!(app.listeners(PING), 0);
}

// spec: design/P4
#[test]
fn a_body_that_panics_when_it_is_dropped_is_disposed_all_the_same() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let body = async |ctx: &Context, _: (), log: &Log| {
            ctx.effect("undo", log.undo("undo"))?;
            let _bomb = Bomb("body");
            log.add("in");
            pending::<()>().await;
            fine()
        };
        let fiber = app.plugin(define("p").run(body), log.clone()).unwrap();
        log.until_len(1).await;
        app.emit(PING, &());
        assert_eq!(fiber.dispose().await, Disposed::default());
        assert_eq!((fiber.state(), log.take()), (State::Disposed, vec!["in".to_owned(), "undo".to_owned()]));
        is_well(&app).await;
    });
}

// spec: design/P4
#[test]
fn captures_that_panic_when_they_are_dropped_stop_no_unload() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let body = async |ctx: &Context, _: (), log: &Log| {
            ctx.effect("oldest", log.undo("oldest"))?;
            ctx.on(PING).with(Bomb("listener")).run(|_, ()| ())?;
            ctx.provide(BOMB, Arc::new(Bomb("service")))?;
            let bomb = Bomb("disposer");
            ctx.effect("disposer", async move || drop(bomb))?;
            let bomb = Bomb("task");
            ctx.spawn("task", async move {
                let _bomb = bomb;
                pending::<()>().await;
            })?;
            ctx.plugin(
                define("child").run(async |_: &Context, _: (), _: &Bomb| fine()),
                Bomb("configuration"),
            )?;
            ctx.effect("newest", log.undo("newest"))?;
            fine()
        };
        let fiber = app.plugin(define("p").run(body), log.clone()).unwrap();
        fiber.ready().await.unwrap();
        app.quiet().await;
        assert_eq!(fiber.dispose().await, Disposed::default());
        assert_eq!(log.take(), ["newest", "oldest"]);
        assert_eq!(counts(&app.inspect().fiber), (1, 0));
        is_well(&app).await;
    });
}

// spec: design/P4
#[test]
fn a_disposer_that_was_refused_is_dropped_in_the_hands_of_its_caller() {
    both_flavours(async || {
        let app = App::new().unwrap();
        let fiber = app.plugin(define("p").run(listens), Log::new()).unwrap();
        fiber.ready().await.unwrap();
        let ctx = fiber.context();
        fiber.dispose().await;
        let log = Log::new();
        let held = log.on_drop("dropped");
        assert!(ctx.effect("late", async move || drop(held)).is_err());
        let held = log.on_drop("dropped");
        assert!(ctx.on(PING).with(held).run(|_, ()| ()).is_err());
        assert_eq!(log.take(), ["dropped", "dropped"]);
        is_well(&app).await;
    });
}

// spec: design/P4
#[test]
fn a_task_that_panics_is_reported_and_ends_alone() {
    both_flavours(async || {
        let app = App::new().unwrap();
        let failures = errors(&app);
        let body = async |ctx: &Context, _: (), _: &()| {
            ctx.spawn("task", async { panic!("task down") })?;
            fine()
        };
        let fiber = app.plugin(define("p").run(body), ()).unwrap();
        fiber.ready().await.unwrap();
        while failures.len() == 0 {
            sleep(ms(1)).await;
        }
        assert_eq!(failures.take(), ["p#1 task: panicked: task down"]);
        assert_eq!(fiber.state(), State::Active);
        is_well(&app).await;
    });
}

// spec: design/P4
#[test]
fn an_error_that_panics_when_it_is_shown_fails_its_fiber_only() {
    both_flavours(async || {
        let app = App::new().unwrap();
        let body = async |_: &Context, _: (), _: &()| Err(Unprintable.into());
        let fiber = app.plugin(define("p").run(body), ()).unwrap();
        assert!(fiber.ready().await.is_err());
        assert_eq!(fiber.state(), State::Failed);
        is_well(&app).await;
        fiber.dispose().await;
        assert_eq!(fiber.state(), State::Disposed);
    });
}

// spec: design/P4
#[test]
fn an_error_that_panics_when_it_is_dropped_stops_no_reload() {
    both_flavours(async || {
        let app = App::new().unwrap();
        let body =
            async |_: &Context, _: (), fails: &bool| if *fails { Err(Undroppable.into()) } else { fine() };
        let fiber = app.plugin(define("p").run(body), true).unwrap();
        assert!(fiber.ready().await.is_err());
        fiber.update(false).await.unwrap();
        assert_eq!(fiber.state(), State::Active);
        is_well(&app).await;
    });
}

// spec: design/P4
#[test]
fn a_disposer_whose_error_panics_when_it_is_shown_stops_no_unload() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let body = async |ctx: &Context, _: (), log: &Log| {
            ctx.effect("older", log.undo("older"))?;
            ctx.effect("odd", async || Err::<(), _>(Unprintable))?;
            fine()
        };
        let fiber = app.plugin(define("p").run(body), log.clone()).unwrap();
        fiber.ready().await.unwrap();
        assert_eq!(fiber.dispose().await, Disposed::default());
        assert_eq!(log.take(), ["older"]);
        is_well(&app).await;
    });
}

// spec: design/P4
#[test]
fn observers_of_states_and_failures_that_panic_stop_nothing() {
    both_flavours(async || {
        let app = App::new().unwrap();
        app.on(keys::STATUS).run(|_| panic!("status observer down")).unwrap();
        app.on(keys::SERVICE).run(|_| panic!("service observer down")).unwrap();
        app.on(keys::ERROR).run(|_| panic!("failure observer down")).unwrap();
        let failures = errors(&app);
        let provided = app.provide(Key::<u32>::new("n"), Arc::new(1)).unwrap();
        is_well(&app).await;
        provided.dispose().await;
        let failures = failures.take();
        // Two changes of state up, two down; the service came, was about to go, and went.
        assert_eq!(failures.iter().filter(|line| line.contains("status observer down")).count(), 4);
        assert_eq!(failures.iter().filter(|line| line.contains("service observer down")).count(), 3);
    });
}

type Held = Arc<Mutex<mpsc::Receiver<()>>>;

/// Blocks the thread until the test sends.
fn let_through(held: &Held) {
    held.lock().unwrap().recv().unwrap();
}

// spec: design/P4
#[test]
fn a_body_and_a_disposer_that_block_their_thread_hold_up_nobody_else() {
    unblocked(|| {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
        runtime.block_on(async {
            let (app, log) = (App::new().unwrap(), Log::new());
            let (let_go, held) = mpsc::channel::<()>();
            let body = async |ctx: &Context, _: (), (log, held): &(Log, Held)| {
                let (end, go) = (log.clone(), held.clone());
                ctx.effect("blocks", async move || {
                    end.add("disposer in");
                    let_through(&go);
                    end.add("disposer done");
                })?;
                log.add("body in");
                let_through(held);
                log.add("body done");
                sleep(ms(60_000)).await;
                fine()
            };
            let config = (log.clone(), Arc::new(Mutex::new(held)));
            let fiber = app.plugin(define("blocks").run(body), config).unwrap();
            log.until_len(1).await;
            // Another plugin loads and unloads meanwhile.
            is_well(&app).await;
            assert_eq!(log.take(), ["body in"]);
            fiber.cancel();
            let_go.send(()).unwrap();
            log.until_len(2).await;
            is_well(&app).await;
            assert_eq!(log.take(), ["body done", "disposer in"]);
            let_go.send(()).unwrap();
            assert_eq!(fiber.dispose().await, Disposed::default());
            assert_eq!(log.take(), ["disposer done"]);
        });
    });
}
