//! Tasks belong to the plugin that spawned them and are gone when it is.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support_scopes;

use cordis::{App, BoxError, Context, Effect, Emit, Fiber, State, define, keys::ERROR};
use futures_util::FutureExt;
use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering::SeqCst},
        mpsc,
    },
    time::Duration,
};
use support_scopes::Log;

const PING: Emit<u32> = Emit::new("ping");

/// Tells of its own drop: a task's captures are gone with it.
struct Guard(Log);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.say("dropped");
    }
}

fn errors(app: &App) -> Log {
    let log = Log::default();
    let said = log.clone();
    app.on(ERROR).run(move |report| said.say(report)).unwrap();
    log
}

async fn forever(ctx: &Context, _: (), log: &Log) -> Result<(), BoxError> {
    let guard = Guard(log.clone());
    ctx.spawn("forever", async move {
        let _guard = guard;
        std::future::pending::<()>().await;
    })?;
    Ok(())
}

// spec: design/P1
#[tokio::test]
async fn a_task_runs_ends_and_leaves_no_effect() {
    let app = App::new().unwrap();
    let log = Log::default();
    let said = log.clone();
    let task = app.spawn("short", async move { said.say("ran") }).unwrap();
    assert!(task.is_live());
    assert_eq!(app.inspect().fiber.effects[0].label, "short");
    // Never inside of the call that spawns it.
    assert_eq!(log.take(), [""; 0]);
    while task.is_live() {
        tokio::task::yield_now().await;
    }
    assert_eq!(log.take(), ["ran"]);
    assert_eq!(app.inspect().fiber.effects, []);
    assert!(task.dispose().await.is_clean());
}

// spec: design/P1
#[tokio::test]
async fn unloading_drops_a_task_and_what_it_captured() {
    let app = App::new().unwrap();
    let log = Log::default();
    let fiber = app.plugin(define("forever").run(forever), log.clone()).unwrap();
    fiber.ready().await.unwrap();
    tokio::task::yield_now().await;
    assert_eq!(log.take(), [""; 0]);
    assert!(fiber.dispose().await.is_clean());
    assert_eq!(log.take(), ["dropped"]);
}

// spec: design/P1
#[tokio::test]
async fn a_task_that_never_started_is_dropped_too() {
    let app = App::new().unwrap();
    let log = Log::default();
    let guard = Guard(log.clone());
    let said = log.clone();
    let task = app
        .spawn("never", async move {
            let _guard = guard;
            said.say("started");
        })
        .unwrap();
    assert!(task.dispose().await.is_clean());
    assert_eq!(log.take(), ["dropped"]);
}

// spec: cordis-core/C65
#[tokio::test]
async fn an_inactive_context_spawns_nothing_and_drops_the_future() {
    let app = App::new().unwrap();
    let log = Log::default();
    let scope = app.scope().unwrap();
    scope.close().await;
    let guard = Guard(log.clone());
    let refused = scope.context().spawn("late", async move { drop(guard) }).unwrap_err();
    assert_eq!(refused.action, "spawn a task");
    assert_eq!(log.take(), ["dropped"]);
}

// spec: design/P4
#[tokio::test]
async fn a_panic_ends_only_the_task_and_is_reported_with_its_names() {
    async fn body(ctx: &Context, _: (), log: &Log) -> Result<(), BoxError> {
        let guard = Guard(log.clone());
        ctx.spawn("fragile", async move {
            let _guard = guard;
            tokio::task::yield_now().await;
            panic!("broken");
        })?;
        ctx.on(PING).run(|_| ())?;
        Ok(())
    }
    let app = App::new().unwrap();
    let (log, errors) = (Log::default(), errors(&app));
    let fiber = app.plugin(define("host").run(body), log.clone()).unwrap();
    fiber.ready().await.unwrap();
    for _ in 0..5 {
        tokio::task::yield_now().await;
    }
    assert_eq!(errors.take(), [format!("`fragile` of `host#{}`: panicked: broken", fiber.uid())]);
    assert_eq!(log.take(), ["dropped"]);
    assert_eq!((fiber.state(), app.listeners(PING)), (State::Active, 1));
    let labels: Vec<_> =
        fiber.context().inspect().fiber.effects.iter().map(|effect| effect.label.clone()).collect();
    assert_eq!(labels, [r#"ctx.on("ping")"#]);
    assert!(fiber.dispose().await.is_clean());
}

// spec: design/P4
#[tokio::test]
async fn a_panic_while_a_task_is_dropped_is_contained() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("in drop");
        }
    }
    let app = App::new().unwrap();
    let bomb = Bomb;
    let task = app
        .spawn("bomb", async move {
            let _bomb = bomb;
            std::future::pending::<()>().await;
        })
        .unwrap();
    tokio::task::yield_now().await;
    assert!(task.dispose().await.is_clean());
    assert_eq!(app.inspect().fiber.effects, []);
}

async fn a_task_disposes_its_own_effect() {
    let app = App::new().unwrap();
    let log = Log::default();
    let slot: Arc<OnceLock<Effect>> = Arc::default();
    let (own, said, guard) = (slot.clone(), log.clone(), Guard(log.clone()));
    let task = app
        .spawn("self", async move {
            let _guard = guard;
            while own.get().is_none() {
                tokio::task::yield_now().await;
            }
            // Only a request: it cannot wait for itself. It is dropped at its next await.
            own.get().unwrap().dispose().await;
            said.say("requested");
            tokio::task::yield_now().await;
            said.say("unreachable");
        })
        .unwrap();
    slot.set(task.clone()).unwrap();
    while task.is_live() {
        tokio::task::yield_now().await;
    }
    assert!(task.dispose().await.is_clean());
    assert_eq!(log.take(), ["requested", "dropped"]);
}

// spec: cases/L9
#[tokio::test]
async fn a_task_may_dispose_its_own_effect() {
    a_task_disposes_its_own_effect().await;
}

// spec: cases/L9
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_may_dispose_its_own_effect_on_threads() {
    a_task_disposes_its_own_effect().await;
}

async fn a_task_disposes_its_plugin() {
    async fn body(ctx: &Context, _: (), log: &Log) -> Result<(), BoxError> {
        let (fiber, said, guard) = (ctx.fiber(), log.clone(), Guard(log.clone()));
        ctx.spawn("unloads", async move {
            let _guard = guard;
            fiber.until(State::Active).await;
            fiber.dispose().await;
            said.say("requested");
            std::future::pending::<()>().await;
        })?;
        let said = log.clone();
        ctx.effect("last", async move || said.say("undone"))?;
        Ok(())
    }
    let app = App::new().unwrap();
    let log = Log::default();
    let fiber = app.plugin(define("host").run(body), log.clone()).unwrap();
    fiber.until(State::Disposed).await;
    assert!(fiber.dispose().await.is_clean());
    let mut lines = log.take();
    // The unload goes on beside the task until it needs the task's end, which comes last.
    assert_eq!(lines.pop().as_deref(), Some("dropped"));
    lines.sort();
    assert_eq!(lines, ["requested", "undone"]);
}

// spec: cases/L9
#[tokio::test]
async fn a_task_may_dispose_its_plugin() {
    a_task_disposes_its_plugin().await;
}

// spec: cases/L9
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_may_dispose_its_plugin_on_threads() {
    a_task_disposes_its_plugin().await;
}

// spec: design/P1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn disposing_waits_for_a_task_that_blocks_its_thread() {
    let app = App::new().unwrap();
    let (tell_begun, begun) = mpsc::channel();
    let (go, wait) = mpsc::channel::<()>();
    let ended = Arc::new(AtomicBool::new(false));
    let end = ended.clone();
    let task = app
        .spawn("blocks", async move {
            tell_begun.send(()).unwrap();
            wait.recv().unwrap();
            end.store(true, SeqCst);
        })
        .unwrap();
    begun.recv().unwrap();
    let mut disposing = Box::pin(task.dispose());
    assert!((&mut disposing).now_or_never().is_none());
    assert!(!ended.load(SeqCst));
    go.send(()).unwrap();
    assert!(disposing.await.is_clean());
    assert!(ended.load(SeqCst));
}

// spec: design/P2
#[tokio::test]
async fn tasks_end_in_their_place_of_the_teardown() {
    let app = App::new().unwrap();
    let log = Log::default();
    let scope = app.scope().unwrap();
    let leaves = |what: &'static str| {
        let log = log.clone();
        async move || log.say(what)
    };
    scope.context().effect("first", leaves("first")).unwrap();
    let guard = Guard(log.clone());
    scope
        .context()
        .spawn("task", async move {
            let _guard = guard;
            std::future::pending::<()>().await;
        })
        .unwrap();
    scope.context().effect("last", leaves("last")).unwrap();
    scope.close().await;
    assert_eq!(log.take(), ["last", "dropped", "first"]);
}

// spec: cases/L3
#[tokio::test]
async fn what_a_task_registers_later_belongs_to_the_plugin_too() {
    async fn body(ctx: &Context, _: (), fiber: &Arc<OnceLock<Fiber>>) -> Result<(), BoxError> {
        let (inside, fiber) = (ctx.clone(), fiber.clone());
        ctx.spawn("registers", async move {
            inside.on(PING).run(|_| ()).unwrap();
            let nested = inside.clone();
            inside.spawn("nested", async move { nested.on(PING).run(|_| ()).map(drop).unwrap() }).unwrap();
            let _ = fiber.set(inside.fiber());
        })?;
        Ok(())
    }
    let app = App::new().unwrap();
    let slot: Arc<OnceLock<Fiber>> = Arc::default();
    let fiber = app.plugin(define("host").run(body), slot.clone()).unwrap();
    while app.listeners(PING) < 2 {
        tokio::task::yield_now().await;
    }
    assert_eq!(slot.get(), Some(&fiber));
    fiber.dispose().await;
    assert_eq!(app.listeners(PING), 0);
}

// spec: design/P1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spawning_races_with_unloading_and_nothing_is_left_running() {
    let app = App::new().unwrap();
    for _ in 0..200 {
        let token = Arc::new(());
        let scope = app.scope().unwrap();
        let (ctx, held) = (scope.context().clone(), token.clone());
        let spawning = std::thread::spawn(move || {
            loop {
                let held = held.clone();
                let task = async move {
                    let _held = held;
                    std::future::pending::<()>().await;
                };
                if ctx.spawn("one of many", task).is_err() {
                    return;
                }
            }
        });
        tokio::time::timeout(Duration::from_secs(60), scope.close()).await.unwrap();
        spawning.join().unwrap();
        assert_eq!(Arc::strong_count(&token), 1);
    }
}
