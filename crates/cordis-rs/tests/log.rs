//! The buffer of recent records, and the plugin's name on every record that its code makes.

#![cfg(feature = "log")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use cordis::{
    Announce, App, Bail, BoxError, Context, Emit, Handle, Parallel, Serial, Waterfall, define,
    log::{DEFAULT_CAPACITY, LogRecord, RECENT, Recent},
};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tracing::{debug, error, info, subscriber::DefaultGuard, trace, warn};
use tracing_subscriber::layer::SubscriberExt;

const EMIT: Emit<u32> = Emit::new("emit");
const ANNOUNCE: Announce<u32> = Announce::new("announce");
const BAIL: Bail<u32, u32> = Bail::new("bail");
const PARALLEL: Parallel<u32> = Parallel::new("parallel");
const SERIAL: Serial<u32, u32> = Serial::new("serial");
const WATERFALL: Waterfall<u32, u32> = Waterfall::new("waterfall");

/// Records what this thread makes; the tests' runtimes have no other.
fn record(capacity: usize) -> (Recent, DefaultGuard) {
    let recent = Recent::new(capacity);
    let subscriber = tracing_subscriber::registry().with(recent.layer());
    (recent, tracing::subscriber::set_default(subscriber))
}

/// Who said what, of the records that this file makes itself.
fn said(recent: &Recent) -> Vec<(String, String)> {
    let own = |record: &LogRecord| record.target.starts_with(module_path!());
    let pair = |record: LogRecord| (record.plugin.unwrap_or_else(|| "nobody".into()), record.message);
    recent.records().into_iter().filter(own).map(pair).collect()
}

fn pairs(of: &[(&str, &str)]) -> Vec<(String, String)> {
    of.iter().map(|(plugin, message)| ((*plugin).to_owned(), (*message).to_owned())).collect()
}

async fn settle() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

// spec: cordis-core/C122, cordis-core/C124
#[tokio::test]
async fn a_record_has_a_number_a_time_a_level_a_target_and_fields() {
    let (recent, _guard) = record(10);
    let now = || u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap();
    let before = now();
    error!("e");
    warn!(code = 7, who = "me", "w {}", 1);
    info!("i");
    debug!("d");
    trace!("t");
    let after = now();
    let records = recent.records();
    let levels: Vec<_> = records.iter().map(|record| (record.number, record.level)).collect();
    assert_eq!(levels, [(1, "error"), (2, "warn"), (3, "info"), (4, "debug"), (5, "trace")]);
    assert!(records.iter().all(|record| (before..=after).contains(&record.time_ms)));
    assert!(records.iter().all(|record| record.target == module_path!() && record.plugin.is_none()));
    assert_eq!(records[1].message, "w 1");
    assert_eq!(records[1].fields, [("code", "7".to_owned()), ("who", "me".to_owned())]);
    let json = serde_json::to_value(&records[2]).unwrap();
    assert_eq!(
        (&json["number"], &json["level"], &json["message"], &json["plugin"], &json["fields"]),
        (
            &3.into(),
            &"i".replace('i', "info").into(),
            &"i".into(),
            &serde_json::Value::Null,
            &serde_json::json!([])
        )
    );
}

// spec: cordis-core/C126
#[tokio::test]
async fn the_thousand_and_first_record_drops_the_first() {
    assert_eq!(DEFAULT_CAPACITY, 1_000);
    let (recent, _guard) = record(DEFAULT_CAPACITY);
    for n in 1..=1_000 {
        info!("{n}");
    }
    assert_eq!((recent.records().len(), recent.records()[0].message.as_str()), (1_000, "1"));
    info!("1001");
    let records = recent.records();
    let ends = [&records[0], &records[999]].map(|record| (record.number, record.message.as_str()));
    assert_eq!((records.len(), ends), (1_000, [(2, "2"), (1_001, "1001")]));
}

// spec: cordis-core/C126
#[tokio::test]
async fn a_buffer_of_another_size_keeps_that_many_and_numbers_them_all() {
    let (recent, guard) = record(2);
    (0..5).for_each(|n| info!("{n}"));
    let kept: Vec<_> = recent.records().into_iter().map(|record| (record.number, record.message)).collect();
    assert_eq!(kept, [(4, "3".to_owned()), (5, "4".to_owned())]);
    drop(guard);
    info!("nobody records this");
    assert_eq!(recent.records().len(), 2);
    let (none, _guard) = record(0);
    info!("kept by nobody");
    assert_eq!(none.records(), []);
}

/// Registers code of every kind; each says what it is.
async fn says_everything(ctx: &Context, _: (), _: &()) -> Result<(), BoxError> {
    info!("body");
    ctx.on(EMIT).run(|_| info!("emit"))?;
    ctx.on(ANNOUNCE).run(|_| {
        info!("announce");
        Ok(())
    })?;
    ctx.on(BAIL).run(|_| {
        info!("bail");
        None
    })?;
    ctx.on(PARALLEL).run(async |_| {
        info!("parallel");
        tokio::task::yield_now().await;
        info!("parallel resumed");
        Ok(())
    })?;
    ctx.on(SERIAL).run(async |_| {
        info!("serial");
        tokio::task::yield_now().await;
        info!("serial resumed");
        Ok(None)
    })?;
    ctx.on(WATERFALL).run(async |args, next| {
        info!("waterfall");
        tokio::task::yield_now().await;
        let result = next.run(args).await;
        info!("waterfall resumed");
        result
    })?;
    ctx.spawn("task", async {
        info!("task");
        tokio::task::yield_now().await;
        info!("task resumed");
    })?;
    ctx.timeout(Duration::from_millis(1), || info!("timeout"))?;
    ctx.effect("undo", async || {
        info!("disposer");
        tokio::task::yield_now().await;
        info!("disposer resumed");
    })?;
    ctx.effect_with("set-up", async |_| {
        info!("set-up");
        tokio::task::yield_now().await;
        info!("set-up resumed");
        Ok(async || info!("clean-up"))
    })
    .await?;
    tokio::task::yield_now().await;
    info!("body resumed");
    Ok(())
}

// spec: cordis-core/C123
#[tokio::test(start_paused = true)]
async fn every_kind_of_code_of_a_plugin_carries_its_name() {
    let (recent, _guard) = record(100);
    let app = App::new().unwrap();
    let fiber = app.plugin(define("speaker").run(says_everything), ()).unwrap();
    fiber.ready().await.unwrap();
    settle().await;
    tokio::time::sleep(Duration::from_millis(2)).await;
    let name = format!("speaker#{}", fiber.uid());
    let (own, others): (Vec<_>, Vec<_>) = said(&recent).into_iter().partition(|(plugin, _)| *plugin == name);
    assert_eq!(others, []);
    let mut loaded: Vec<_> = own.into_iter().map(|(_, message)| message).collect();
    loaded.sort();
    let mut expected =
        ["body", "body resumed", "set-up", "set-up resumed", "task", "task resumed", "timeout"];
    expected.sort();
    assert_eq!(loaded, expected);

    let from = recent.records().len();
    info!("before");
    app.emit(EMIT, &1);
    app.announce(ANNOUNCE, &1).unwrap();
    app.bail(BAIL, &1);
    app.parallel(PARALLEL, &1).await.unwrap();
    app.serial(SERIAL, &1).await.unwrap();
    let inner = async |_: &(), _: &mut u32| {
        info!("inner");
        0
    };
    app.waterfall(WATERFALL, &mut 1, &(), inner).await.unwrap();
    fiber.dispose().await;
    info!("after");
    let own = [
        ("nobody", "before"),
        (&name, "emit"),
        (&name, "announce"),
        (&name, "bail"),
        (&name, "parallel"),
        (&name, "parallel resumed"),
        (&name, "serial"),
        (&name, "serial resumed"),
        (&name, "waterfall"),
    ];
    let rest = [
        (&*name, "waterfall resumed"),
        (&name, "clean-up"),
        (&name, "disposer"),
        (&name, "disposer resumed"),
        ("nobody", "after"),
    ];
    let mut heard = said(&recent).split_off(from);
    // The innermost step is the dispatcher's; here it runs below the plugin's listener.
    let inner = heard.remove(own.len());
    assert_eq!(inner.1, "inner");
    assert_eq!(heard, pairs(&[&own[..], &rest[..]].concat()));
}

// spec: cordis-core/C123
#[tokio::test]
async fn the_innermost_step_is_not_the_plugins_whose_listener_wraps_it() {
    async fn wraps(ctx: &Context, _: (), _: &()) -> Result<(), BoxError> {
        ctx.on(WATERFALL).run(async |args, next| next.run(args).await)?;
        Ok(())
    }
    let (recent, _guard) = record(100);
    let app = App::new().unwrap();
    app.plugin(define("wrapper").run(wraps), ()).unwrap().ready().await.unwrap();
    async fn inner(_: &(), _: &mut u32) -> u32 {
        info!("inner");
        tokio::task::yield_now().await;
        info!("inner resumed");
        0
    }
    app.waterfall(WATERFALL, &mut 1, &(), inner).await.unwrap();
    assert_eq!(said(&recent), pairs(&[("nobody", "inner"), ("nobody", "inner resumed")]));
    // Dispatched by a plugin it is that one's.
    async fn dispatches(ctx: &Context, _: (), _: &()) -> Result<(), BoxError> {
        ctx.waterfall(WATERFALL, &mut 1, &(), inner).await?;
        Ok(())
    }
    let fiber = app.plugin(define("caller").run(dispatches), ()).unwrap();
    fiber.ready().await.unwrap();
    let own = format!("caller#{}", fiber.uid());
    assert_eq!(said(&recent)[2..], pairs(&[(&own, "inner"), (&own, "inner resumed")]));
}

// spec: cordis-core/C123
#[tokio::test]
async fn code_of_the_root_carries_its_name_only_inside_of_its_own_listeners() {
    let (recent, _guard) = record(100);
    let app = App::new().unwrap();
    info!("outside");
    app.on(EMIT).run(|_| info!("listener")).unwrap();
    app.emit(EMIT, &1);
    assert_eq!(said(&recent), pairs(&[("nobody", "outside"), ("root", "listener")]));
}

/// Mounts a plugin that dispatches from inside of its listener, and one that is called there.
async fn nests(dispatch: impl AsyncFnOnce(&Context)) -> Vec<(String, String)> {
    async fn outer(ctx: &Context, _: (), _: &()) -> Result<(), BoxError> {
        ctx.on(EMIT).with(ctx.clone()).run(|ctx, n| {
            info!("outer before");
            ctx.bail(BAIL, n);
            info!("outer after");
        })?;
        ctx.on(SERIAL).with(ctx.clone()).run(async |ctx, n| {
            info!("outer before");
            tokio::task::yield_now().await;
            ctx.parallel(PARALLEL, n).await?;
            info!("outer after");
            Ok(None)
        })?;
        ctx.on(WATERFALL).run(async |n, next| {
            info!("outer before");
            let result = next.run(n).await;
            info!("outer after");
            result
        })?;
        Ok(())
    }
    async fn inner(ctx: &Context, _: (), _: &()) -> Result<(), BoxError> {
        ctx.on(BAIL).run(|_| {
            info!("inner");
            None
        })?;
        ctx.on(PARALLEL).run(async |_| {
            tokio::task::yield_now().await;
            info!("inner");
            Ok(())
        })?;
        ctx.on(WATERFALL).run(async |n, next| {
            tokio::task::yield_now().await;
            info!("inner");
            next.run(n).await
        })?;
        Ok(())
    }
    let (recent, _guard) = record(100);
    let app = App::new().unwrap();
    let fibers = [app.plugin(define("outer").run(outer), ()), app.plugin(define("inner").run(inner), ())];
    let [outer, inner] = fibers.map(|fiber| fiber.unwrap());
    outer.ready().await.unwrap();
    inner.ready().await.unwrap();
    assert_eq!((outer.uid(), inner.uid()), (1, 2));
    dispatch(&app).await;
    said(&recent)
}

// spec: cordis-core/C123
#[tokio::test]
async fn records_of_a_nested_dispatch_carry_the_inner_listeners_plugin() {
    let expected = pairs(&[("outer#1", "outer before"), ("inner#2", "inner"), ("outer#1", "outer after")]);
    assert_eq!(nests(async |ctx| ctx.emit(EMIT, &1)).await, expected);
    assert_eq!(nests(async |ctx| assert_eq!(ctx.serial(SERIAL, &1).await.unwrap(), None)).await, expected);
    let waterfall = async |ctx: &Context| {
        ctx.waterfall(WATERFALL, &mut 1, &(), async |_: &(), _: &mut u32| 0).await.unwrap();
    };
    assert_eq!(nests(waterfall).await, expected);
}

// spec: cordis-core/C123
#[tokio::test]
async fn a_record_inside_of_a_plugins_own_spans_carries_its_name() {
    async fn body(_: &Context, _: (), _: &()) -> Result<(), BoxError> {
        tracing::info_span!("work", name = "not the plugin's").in_scope(|| {
            tracing::debug_span!("step").in_scope(|| info!("deep"));
        });
        info!(plugin = "another", "named by hand");
        Ok(())
    }
    let (recent, _guard) = record(100);
    let app = App::new().unwrap();
    let fiber = app.plugin(define("host").run(body), ()).unwrap();
    fiber.ready().await.unwrap();
    let own = format!("host#{}", fiber.uid());
    assert_eq!(said(&recent), pairs(&[(&own, "deep"), ("another", "named by hand")]));
}

// spec: cordis-core/C123
#[tokio::test]
async fn what_a_plugin_drops_when_it_is_unloaded_speaks_in_its_name() {
    struct Speaks(&'static str);
    impl Drop for Speaks {
        fn drop(&mut self) {
            info!("{}", self.0);
        }
    }
    async fn body(ctx: &Context, _: (), _: &()) -> Result<(), BoxError> {
        let task = Speaks("task");
        ctx.spawn("task", async move {
            let _task = task;
            std::future::pending::<()>().await;
        })?;
        ctx.on(EMIT).with(Speaks("listener")).run(|_, _| ())?;
        Ok(())
    }
    let (recent, _guard) = record(100);
    let app = App::new().unwrap();
    let fiber = app.plugin(define("host").run(body), ()).unwrap();
    fiber.ready().await.unwrap();
    settle().await;
    fiber.dispose().await;
    let own = format!("host#{}", fiber.uid());
    assert_eq!(said(&recent), pairs(&[(&own, "listener"), (&own, "task")]));
}

// spec: cordis-core/C125, design/P4
#[tokio::test]
async fn failures_without_a_caller_are_recorded_once_at_error_level_with_plugin_and_step() {
    async fn body(ctx: &Context, _: (), _: &()) -> Result<(), BoxError> {
        ctx.on(EMIT).run(|_| panic!("listener broke"))?;
        ctx.effect("undo", async || Err::<(), _>("disposer broke"))?;
        ctx.spawn("task", async { panic!("task broke") })?;
        Ok(())
    }
    let (recent, _guard) = record(100);
    let app = App::new().unwrap();
    let fiber = app.plugin(define("host").run(body), ()).unwrap();
    fiber.ready().await.unwrap();
    settle().await;
    app.emit(EMIT, &1);
    fiber.dispose().await;
    let failing = async |_: &Context, _: (), _: &()| Err("body broke".into());
    let failed = app.plugin(define("failing").run(failing), ()).unwrap();
    failed.ready().await.unwrap_err();
    let records: Vec<_> = recent.records().into_iter().filter(|record| record.target == "cordis").collect();
    let lines: Vec<_> = records
        .iter()
        .map(|record| {
            (record.level, record.plugin.as_deref().unwrap(), record.fields[1].1.as_str(), &*record.message)
        })
        .collect();
    let (host, failing) = (format!("host#{}", fiber.uid()), format!("failing#{}", failed.uid()));
    let expected = [
        ("error", &*host, "task", "panicked: task broke"),
        ("error", &host, r#"ctx.on("emit")"#, "panicked: listener broke"),
        ("error", &host, "undo", "disposer broke"),
        ("error", &failing, "body", "body broke"),
    ];
    assert_eq!(lines, expected);
}

// spec: cordis-core/C122, cordis-core/C127
#[tokio::test]
async fn plugins_read_the_buffer_as_a_service() {
    async fn shows(_: &Context, recent: Handle<Recent>, _: &()) -> Result<(), BoxError> {
        let messages: Vec<_> = recent.get()?.records().into_iter().map(|record| record.message).collect();
        assert_eq!(messages, ["hello"]);
        Ok(())
    }
    let (recent, _guard) = record(10);
    info!("hello");
    let app = App::new().unwrap();
    app.provide(RECENT, std::sync::Arc::new(recent)).unwrap();
    app.plugin(define("shows").needs(RECENT).run(shows), ()).unwrap().ready().await.unwrap();
}
