//! Updates: when a new configuration counts, and what an update that does not come through leaves behind.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support_errors;
mod support_services;

use cordis::{
    App, BoxError, Context, Emit, Fiber, Handle, Plugin, Serial, State, UpdateError, define,
    testing::Recorder,
};
use std::{
    future::poll_fn,
    pin::{Pin, pin},
    sync::Arc,
    task::Poll,
    time::Duration,
};
use support_errors::with_causes;
use support_services::{FOO, Log, on_both_flavours, states};
use tokio::sync::Semaphore;

const PING: Emit<u32> = Emit::new("ping");
const ASK: Serial<u32, u32> = Serial::new("ask");

/// What the plugin of these tests is told.
#[derive(Clone)]
struct Config {
    name: &'static str,
    log: Log,
    /// The body waits for a permit of each.
    body: Arc<Semaphore>,
    undo: Arc<Semaphore>,
    fails: bool,
}

impl Config {
    fn free(name: &'static str, log: &Log) -> Config {
        let open = || Arc::new(Semaphore::new(1_000));
        Config { name, log: log.clone(), body: open(), undo: open(), fails: false }
    }

    fn named(&self, name: &'static str) -> Config {
        Config { name, ..self.clone() }
    }
}

async fn apply(ctx: &Context, (): (), config: &Config) -> Result<(), BoxError> {
    let Config { name, log, undo, .. } = config.clone();
    log.add(format!("{name} begins"));
    let told = log.clone();
    ctx.effect("farewell", async move || {
        undo.acquire().await.unwrap().forget();
        told.add(format!("{name} undone"));
    })?;
    config.body.acquire().await?.forget();
    if config.fails {
        return Err(format!("{name} fails").into());
    }
    log.add(format!("{name} is active"));
    Ok(())
}

async fn with_foo(ctx: &Context, _: Handle<u32>, config: &Config) -> Result<(), BoxError> {
    apply(ctx, (), config).await
}

fn plugin() -> impl Plugin<Config = Config> {
    let check = |config: &Config| if config.name == "bad" { Err("bad".into()) } else { Ok(()) };
    define("p").validate(check).run(apply)
}

fn mount(ctx: &Context, config: Config) -> Fiber {
    ctx.plugin(plugin(), config).unwrap()
}

/// Gives other tasks time to come to rest.
async fn turns() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

/// Polls a future once; gives none when it is not ready.
async fn once<T>(mut future: Pin<&mut impl Future<Output = T>>) -> Option<T> {
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

fn updating(fiber: &Fiber, config: Config) -> tokio::task::JoinHandle<Result<(), UpdateError>> {
    let fiber = fiber.clone();
    tokio::spawn(async move { fiber.update(config).await })
}

on_both_flavours! {
    // spec: cordis-core/C99
    #[test]
    async fn an_update_of_an_active_plugin_reloads_it_and_waits_for_the_end_of_that() {
        let app = App::new().unwrap();
        let log = Log::default();
        let changes = Recorder::status(&app).unwrap();
        let fiber = mount(&app, Config::free("a", &log));
        fiber.ready().await.unwrap();
        changes.take();
        fiber.update(Config::free("b", &log)).await.unwrap();
        assert_eq!(fiber.state(), State::Active);
        assert_eq!(log.take(), ["a begins", "a is active", "a undone", "b begins", "b is active"]);
        let states: Vec<_> = changes.take().into_iter().map(|(_, _, to)| to).collect();
        assert_eq!(states, [State::Unloading, State::Loading, State::Active]);
        // It stays.
        fiber.restart().await.unwrap();
        assert_eq!(log.take(), ["b undone", "b begins", "b is active"]);
    }

    // spec: cordis-core/C99
    #[test]
    async fn a_refused_update_leaves_the_old_configuration_running_and_in_force() {
        let app = App::new().unwrap();
        let log = Log::default();
        let changes = Recorder::status(&app).unwrap();
        let fiber = mount(&app, Config::free("a", &log));
        fiber.ready().await.unwrap();
        changes.take();
        log.take();
        let refused = fiber.update(Config::free("bad", &log)).await.unwrap_err();
        assert_eq!(with_causes(&refused), "cannot update `p#1`: invalid configuration: bad");
        assert!(matches!(refused, UpdateError::Invalid { .. }));
        assert_eq!((fiber.state(), changes.take(), log.take()), (State::Active, vec![], vec![]));
        fiber.restart().await.unwrap();
        assert_eq!(log.take(), ["a undone", "a begins", "a is active"]);
    }

    // spec: cordis-core/C99, design/P5
    #[test]
    async fn an_update_with_a_value_of_another_type_names_both_types() {
        let app = App::new().unwrap();
        let log = Log::default();
        let fiber = mount(&app, Config::free("a", &log));
        fiber.ready().await.unwrap();
        log.take();
        let refused = fiber.update("b").await.unwrap_err();
        assert_eq!(
            refused.to_string(),
            "cannot update `p#1`: its configuration is a `config_update::Config`, not a `&str`"
        );
        assert!(matches!(refused, UpdateError::Type { .. }));
        assert_eq!((fiber.state(), log.take()), (State::Active, vec![]));
        // A shared configuration is another type too.
        assert!(fiber.update(Arc::new(Config::free("b", &log))).await.is_err());
    }

    // spec: cordis-core/C99
    #[test]
    async fn a_plugin_that_is_gone_is_not_updated() {
        let app = App::new().unwrap();
        let log = Log::default();
        let config = Config { undo: Arc::new(Semaphore::new(0)), ..Config::free("a", &log) };
        let fiber = mount(&app, config.clone());
        fiber.ready().await.unwrap();
        fiber.cancel();
        let refused = fiber.update(Config::free("b", &log)).await.unwrap_err();
        assert!(matches!(refused, UpdateError::Disposed { .. }), "{refused}");
        config.undo.add_permits(1);
        fiber.dispose().await;
        let refused = fiber.update(Config::free("b", &log)).await.unwrap_err();
        assert_eq!(refused.to_string(), "cannot update `p#1`: it is disposed; mount it again");
        assert_eq!(log.take(), ["a begins", "a is active", "a undone"]);
        // The root has no configuration.
        assert!(app.fiber().update(()).await.is_err());
        assert_eq!(app.fiber().state(), State::Active);
    }

    // spec: cordis-core/C99
    #[test]
    async fn an_update_of_a_waiting_plugin_counts_when_it_starts() {
        let app = App::new().unwrap();
        let log = Log::default();
        let fiber = app.plugin(define("p").needs(FOO).run(with_foo), Config::free("a", &log)).unwrap();
        fiber.ready().await.unwrap();
        fiber.update(Config::free("b", &log)).await.unwrap();
        fiber.update(Config::free("c", &log)).await.unwrap();
        assert_eq!((fiber.state(), log.take()), (State::Pending, vec![]));
        app.provide(FOO, Arc::new(1)).unwrap();
        assert_eq!(states(&app, [&fiber]).await, [State::Active]);
        assert_eq!(log.take(), ["c begins", "c is active"]);
    }

    // spec: cordis-core/C102
    #[test]
    async fn an_update_of_a_failed_plugin_makes_it_active_and_forgets_the_error() {
        let app = App::new().unwrap();
        let log = Log::default();
        let fiber = mount(&app, Config { fails: true, ..Config::free("a", &log) });
        assert!(fiber.ready().await.is_err());
        let refused = fiber.update(Config::free("bad", &log)).await.unwrap_err();
        assert!(matches!(refused, UpdateError::Invalid { .. }), "{refused}");
        assert_eq!(fiber.state(), State::Failed);
        fiber.update(Config::free("b", &log)).await.unwrap();
        assert_eq!((fiber.state(), fiber.ready().await.unwrap()), (State::Active, State::Active));
        assert!(fiber.error().is_none());
        assert_eq!(log.take(), ["a begins", "a undone", "b begins", "b is active"]);
    }

    // spec: cordis-core/C99, cordis-core/C102
    #[test]
    async fn an_update_that_the_plugin_fails_with_says_so_and_the_next_one_mends_it() {
        let app = App::new().unwrap();
        let log = Log::default();
        let fiber = mount(&app, Config::free("a", &log));
        fiber.ready().await.unwrap();
        let failed = fiber.update(Config { fails: true, ..Config::free("b", &log) }).await.unwrap_err();
        assert_eq!(with_causes(&failed), "plugin `p#1` failed: b fails");
        assert!(matches!(failed, UpdateError::Failed(_)));
        assert_eq!(fiber.state(), State::Failed);
        fiber.update(Config::free("c", &log)).await.unwrap();
        assert_eq!(fiber.state(), State::Active);
        assert_eq!(
            log.take(),
            ["a begins", "a is active", "a undone", "b begins", "b undone", "c begins", "c is active"]
        );
    }

    // spec: cordis-core/C99, cases/L2
    #[test]
    async fn of_updates_during_a_load_the_last_wins_and_all_callers_wait_for_it() {
        let app = App::new().unwrap();
        let log = Log::default();
        let shut = Config { body: Arc::new(Semaphore::new(0)), ..Config::free("a", &log) };
        let fiber = mount(&app, shut.clone());
        while log.take().is_empty() {
            tokio::task::yield_now().await;
        }
        let mut first = pin!(fiber.update(shut.named("b")));
        let mut second = pin!(fiber.update(shut.named("c")));
        assert!(once(first.as_mut()).await.is_none());
        turns().await;
        assert!(once(second.as_mut()).await.is_none());
        turns().await;
        assert!(once(first.as_mut()).await.is_none() && once(second.as_mut()).await.is_none());
        assert!(matches!(fiber.state(), State::Loading | State::Unloading));
        shut.body.add_permits(10);
        first.await.unwrap();
        second.await.unwrap();
        assert_eq!(fiber.state(), State::Active);
        let lines = log.take();
        assert_eq!(lines.last().map(String::as_str), Some("c is active"), "{lines:?}");
        assert_eq!(lines.iter().filter(|line| line.ends_with("active")).count(), 1, "{lines:?}");
        assert_eq!(
            lines.iter().filter(|line| line.ends_with("undone")).count(),
            lines.iter().filter(|line| line.ends_with("begins")).count(),
            "{lines:?}"
        );
    }

    // spec: cordis-core/C99
    #[test]
    async fn an_update_during_an_unload_counts_for_the_load_after_it() {
        let app = App::new().unwrap();
        let log = Log::default();
        let slow = Config { undo: Arc::new(Semaphore::new(0)), ..Config::free("a", &log) };
        let fiber = mount(&app, slow.clone());
        fiber.ready().await.unwrap();
        let first = updating(&fiber, slow.named("b"));
        fiber.until(State::Unloading).await;
        let mut second = pin!(fiber.update(slow.named("c")));
        assert!(once(second.as_mut()).await.is_none());
        slow.undo.add_permits(10);
        first.await.unwrap().unwrap();
        second.await.unwrap();
        assert_eq!(log.take(), ["a begins", "a is active", "a undone", "c begins", "c is active"]);
    }

    // spec: cordis-core/C99
    #[test]
    async fn a_caller_that_stops_waiting_for_an_update_does_not_stop_it() {
        let app = App::new().unwrap();
        let log = Log::default();
        let fiber = mount(&app, Config::free("a", &log));
        fiber.ready().await.unwrap();
        let slow = Config { body: Arc::new(Semaphore::new(0)), ..Config::free("b", &log) };
        let caller = updating(&fiber, slow.clone());
        while !log.take().iter().any(|line| line == "b begins") {
            tokio::task::yield_now().await;
        }
        caller.abort();
        assert!(caller.await.unwrap_err().is_cancelled());
        slow.body.add_permits(1);
        assert_eq!(fiber.ready().await.unwrap(), State::Active);
        assert_eq!(log.take(), ["b is active"]);
    }

    // spec: cordis-core/C99, cases/L9
    #[test]
    async fn a_plugin_updates_itself_from_its_listener_its_task_and_its_body() {
        #[derive(Clone)]
        struct Own {
            step: u32,
            log: Log,
        }
        async fn own(ctx: &Context, (): (), config: &Own) -> Result<(), BoxError> {
            config.log.add(format!("{} loads", config.step));
            let next = Own { step: config.step + 1, ..config.clone() };
            match config.step {
                0 => {
                    // From the body: it is dropped at its next await.
                    ctx.fiber().update(next).await?;
                    config.log.add("requested");
                    tokio::time::sleep(Duration::from_secs(3600)).await;
                    config.log.add("never");
                }
                1 => {
                    ctx.on(ASK).with((ctx.fiber(), next)).run(async |(fiber, next), _| {
                        fiber.update(next.clone()).await?;
                        next.log.add("listener goes on");
                        Ok(Some(1))
                    })?;
                }
                2 => {
                    let (fiber, log) = (ctx.fiber(), config.log.clone());
                    ctx.spawn("updater", async move {
                        fiber.update(next).await.unwrap();
                        log.add("task goes on");
                    })?;
                }
                _ => {}
            }
            config.log.add(format!("{} is active", config.step));
            Ok(())
        }
        let app = App::new().unwrap();
        let log = Log::default();
        let fiber = app.plugin(define("own").run(own), Own { step: 0, log: log.clone() }).unwrap();
        fiber.until(State::Active).await;
        app.quiet().await;
        assert_eq!(log.take(), ["0 loads", "requested", "1 loads", "1 is active"]);
        assert_eq!(app.serial(ASK, &0).await.unwrap(), Some(1));
        let mut lines = Vec::new();
        while !lines.iter().any(|line| line == "3 is active") {
            tokio::task::yield_now().await;
            lines.extend(log.take());
        }
        lines.retain(|line| line != "task goes on");
        assert_eq!(lines, ["listener goes on", "2 loads", "2 is active", "3 loads", "3 is active"]);
        assert_eq!(states(&app, [&fiber]).await, [State::Active]);
        assert_eq!(app.serial(ASK, &0).await.unwrap(), None);
    }

    // spec: cordis-core/C99, design/P3
    #[test]
    async fn a_sync_listener_may_start_an_update_of_its_own_plugin() {
        async fn listens(ctx: &Context, (): (), config: &Config) -> Result<(), BoxError> {
            let next = config.named("b");
            ctx.on(PING).with((ctx.fiber(), next)).run(|(fiber, next), _| {
                drop(updating(fiber, next.clone()));
            })?;
            apply(ctx, (), config).await
        }
        let app = App::new().unwrap();
        let log = Log::default();
        let fiber = app.plugin(define("p").run(listens), Config::free("a", &log)).unwrap();
        fiber.ready().await.unwrap();
        log.take();
        app.emit(PING, &1);
        let mut lines = Vec::new();
        while lines.last().is_none_or(|line| line != "b is active") {
            tokio::task::yield_now().await;
            lines.extend(log.take());
        }
        assert_eq!(lines, ["a undone", "b begins", "b is active"]);
        assert_eq!(states(&app, [&fiber]).await, [State::Active]);
    }
}

// spec: cordis-core/C99, design/P3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn updates_from_many_tasks_leave_one_of_them_running_and_every_load_undone_once() {
    let app = App::new().unwrap();
    let log = Log::default();
    let fiber = mount(&app, Config::free("first", &log));
    fiber.ready().await.unwrap();
    let names = ["a", "b", "c", "d"];
    for _ in 0..100 {
        let tasks: Vec<_> =
            names.map(|name| updating(&fiber, Config::free(name, &log))).into_iter().collect();
        for task in tasks {
            support_services::within(task).await.unwrap().unwrap();
        }
        assert_eq!(fiber.state(), State::Active);
    }
    assert!(fiber.dispose().await.is_clean());
    let lines = log.take();
    let mut open: Option<&str> = None;
    for line in &lines {
        let (name, what) = line.split_once(' ').unwrap();
        match what {
            "begins" => assert_eq!(open.replace(name), None, "{lines:?}"),
            "is active" => assert_eq!(open, Some(name), "{lines:?}"),
            _ => assert_eq!(open.take(), Some(name), "{lines:?}"),
        }
    }
    assert_eq!(open, None);
}
