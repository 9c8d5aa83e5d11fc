//! `parallel` and `serial`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod support_events;

use cordis::{Failures, ListenerPanic, Parallel, Serial, Waterfall, keys};
use std::{
    error::Error,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering::SeqCst},
    },
    time::Duration,
};
use support_events::*;
use tokio::{sync::Barrier, task::yield_now, time};

const ALL: Parallel<u32> = Parallel::new("all");
const ASK: Serial<u32, u32> = Serial::new("ask");

/// The causes as (plugin without its number, text).
fn causes(failures: &Failures) -> Vec<(String, String)> {
    let short = |plugin: &str| plugin.split('#').next().unwrap_or_default().to_owned();
    failures.causes.iter().map(|failure| (short(&failure.plugin), failure.cause.to_string())).collect()
}

fn cause(plugin: &str, text: &str) -> (String, String) {
    (plugin.into(), text.into())
}

on_both_flavours! {
    // spec: cordis-core/C108
    #[test]
    async fn parallel_starts_all_in_order_and_waits_for_the_last() {
        let (app, _) = host();
        let log = Log::default();
        let meet = Arc::new(Barrier::new(3));
        for name in ["a", "b", "c"] {
            app.on(ALL).with((log.clone(), meet.clone(), name)).run(async |(log, meet, name), n| {
                log.add(format!("{name} starts {n}"));
                // None gets past this before all have started.
                meet.wait().await;
                log.add("met");
                Ok(())
            }).unwrap();
        }
        app.parallel(ALL, &1).await.unwrap();
        assert_eq!(log.take(), ["a starts 1", "b starts 1", "c starts 1", "met", "met", "met"]);
    }

    // spec: cordis-core/C108, cases/D4, cases/D6, design/P4
    #[test]
    async fn parallel_runs_all_to_the_end_and_returns_every_failure_in_listener_order() {
        let (app, errors) = host();
        let log = Log::default();
        let l = log.clone();
        plugin(&app, "one", move |ctx| {
            ctx.on(ALL).run(async |_| { yield_now().await; Err("late error".into()) })?;
            ctx.on(ALL).with(l.clone()).run(async |log, _| { yield_now().await; log.add("fine"); Ok(()) })?;
            ctx.on(ALL).run(async |n| if *n > 0 { panic!("at once {n}") } else { Ok(()) })?;
            Ok(())
        }).await;
        plugin(&app, "two", |ctx| {
            ctx.on(ALL).run(async |_| { yield_now().await; yield_now().await; panic!("late") })?;
            ctx.on(ALL).run(async |_| Err("at once".into()))?;
            Ok(())
        }).await;
        app.on(ALL).with(log.clone()).run(async |log, _| { log.add("last"); Ok(()) }).unwrap();
        let failures = app.parallel(ALL, &1).await.unwrap_err();
        assert_eq!((failures.event, causes(&failures)), ("all", vec![
            cause("one", "late error"),
            cause("one", "panicked: at once 1"),
            cause("two", "panicked: late"),
            cause("two", "at once"),
        ]));
        assert_eq!(log.take(), ["last", "fine"]);
        let text = failures.to_string();
        assert!(text.starts_with("4 listener(s) of `all` failed: `one#"), "{text}");
        assert!(text.contains("`: late error; `") && text.ends_with("`: at once"), "{text}");
        // Its text has all causes already.
        assert!(failures.source().is_none());
        // What has a caller to go to is not reported besides.
        assert_eq!(errors.take(), []);
    }

    // spec: cordis-core/C108
    #[test]
    async fn a_single_failure_of_parallel_is_an_aggregate_too() {
        let (app, _) = host();
        app.on(ALL).run(async |_| Err("test".into())).unwrap();
        let failures = app.parallel(ALL, &1).await.unwrap_err();
        assert_eq!(causes(&failures), [cause("root", "test")]);
    }

    // spec: cases/D6
    #[test]
    async fn of_four_parallel_listeners_one_is_cancelled_by_its_owner_and_all_four_are_accounted_for() {
        let (app, errors) = host();
        let log = Log::default();
        let l = log.clone();
        let owner = plugin(&app, "owner", move |ctx| {
            let log = l.clone();
            ctx.on(ALL).with(log.clone()).run(async |log, n| { yield_now().await; log.add(format!("fine {n}")); Ok(()) })?;
            ctx.on(ALL).run(async |n| { yield_now().await; Err(format!("error {n}").into()) })?;
            ctx.on(ALL).run(async |n| { yield_now().await; panic!("panic {n}") })?;
            ctx.on(ALL).with(ctx.clone()).run(async |ctx, n| {
                ctx.sleep(Duration::from_secs(3600)).await.map_err(|gone| format!("cancelled {n}: {gone}"))?;
                Ok(())
            })?;
            Ok(())
        }).await;
        let (failures, disposed) = tokio::join!(app.parallel(ALL, &7), async {
            time::sleep(Duration::from_millis(20)).await;
            owner.dispose().await
        });
        let failures = failures.unwrap_err();
        let gone = format!("cancelled 7: the context of `owner#{}` has been disposed", owner.uid());
        assert_eq!(causes(&failures), [
            cause("owner", "error 7"),
            cause("owner", "panicked: panic 7"),
            cause("owner", &gone),
        ]);
        assert_eq!((log.take(), disposed, errors.take()), (vec!["fine 7".to_owned()], Default::default(), vec![]));
    }

    // spec: cordis-core/C109
    #[test]
    async fn serial_awaits_each_in_turn_and_returns_the_first_answer() {
        let (app, errors) = host();
        let log = Log::default();
        app.on(ASK).with(log.clone()).run(async |log, _| {
            log.add("first starts");
            yield_now().await;
            log.add("first ends");
            Ok(None)
        }).unwrap();
        app.on(ASK).with(log.clone()).run(async |log, n| {
            log.add("second");
            // Nought is an answer.
            Ok((*n > 0).then_some(0))
        }).unwrap();
        app.on(ASK).with(log.clone()).run(async |log, _| { log.add("third"); Ok(Some(3)) }).unwrap();
        assert_eq!(app.serial(ASK, &1).await.unwrap(), Some(0));
        assert_eq!(log.take(), ["first starts", "first ends", "second"]);
        assert_eq!(app.serial(ASK, &0).await.unwrap(), Some(3));
        assert_eq!((log.take().len(), errors.take()), (4, vec![]));
    }

    // spec: cordis-core/C109
    #[test]
    async fn an_empty_text_is_an_answer_of_serial() {
        const TEXT: Serial<u32, String> = Serial::new("text");
        let (app, _) = host();
        app.on(TEXT).run(async |_| Ok(Some(String::new()))).unwrap();
        app.on(TEXT).run(async |_| Ok(Some("second".into()))).unwrap();
        assert_eq!(app.serial(TEXT, &1).await.unwrap().as_deref(), Some(""));
    }

    // spec: cordis-core/C109, cases/D4, design/P4
    #[test]
    async fn serial_stops_at_the_first_error_or_panic_and_returns_it() {
        let (app, errors) = host();
        let calls = Arc::new(AtomicU32::new(0));
        let bad = plugin(&app, "bad", |ctx| {
            ctx.on(ASK).run(async |n| { yield_now().await; if *n == 1 { Err("error".into()) } else { Ok(None) } })?;
            ctx.on(ASK).run(async |n| { yield_now().await; if *n == 2 { panic!("late") } else { Ok(None) } })?;
            ctx.on(ASK).run(async |n| if *n == 3 { panic!("at once") } else { Ok(None) })?;
            Ok(())
        }).await;
        app.on(ASK).with(calls.clone()).run(async |calls, _| { calls.fetch_add(1, SeqCst); Ok(Some(9)) }).unwrap();
        let error = app.serial(ASK, &1).await.unwrap_err();
        assert_eq!(error.to_string(), "error");
        for (n, message) in [(2, "late"), (3, "at once")] {
            let error = app.serial(ASK, &n).await.unwrap_err();
            let panic = error.downcast_ref::<ListenerPanic>().unwrap();
            let expected = ("ask", format!("bad#{}", bad.uid()), message);
            assert_eq!((panic.event, panic.plugin.clone(), &*panic.message), expected);
        }
        assert_eq!(calls.load(SeqCst), 0);
        assert_eq!((app.serial(ASK, &4).await.unwrap(), errors.take()), (Some(9), vec![]));
    }

    // spec: cordis-core/C112
    #[test]
    async fn a_boxed_listener_may_capture_and_borrow_its_payload() {
        const SEEN: Parallel<String> = Parallel::new("seen");
        const LENGTH: Serial<String, usize> = Serial::new("length");
        let (app, _) = host();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = seen.clone();
        app.on(SEEN).run_boxed(move |text| {
            let sink = sink.clone();
            Box::pin(async move {
                yield_now().await;
                sink.lock().unwrap().push(text.as_str().to_owned());
                Ok(())
            })
        }).unwrap();
        let more = 10;
        app.on(LENGTH).run_boxed(move |text| Box::pin(async move { yield_now().await; Ok(Some(text.len() + more)) })).unwrap();
        let text = "four".to_owned();
        app.parallel(SEEN, &text).await.unwrap();
        assert_eq!(*seen.lock().unwrap(), ["four"]);
        assert_eq!(app.serial(LENGTH, &text).await.unwrap(), Some(14));
    }
}

// spec: cordis-core/C104
#[tokio::test(start_paused = true)]
async fn all_asynchronous_dispatches_begin_at_the_same_moment() {
    const WORK: Waterfall<u32, u32> = Waterfall::new("work");
    let (app, _) = host();
    let log = Log::default();
    let listen = |line: &'static str| {
        let state = (log.clone(), line);
        app.on(ALL)
            .with(state.clone())
            .run(async |(log, line), _| {
                log.add(*line);
                Ok(())
            })
            .unwrap();
        app.on(ASK)
            .with(state.clone())
            .run(async |(log, line), _| {
                log.add(*line);
                Ok(None)
            })
            .unwrap();
        app.on(WORK)
            .with(state)
            .run(async |(log, line), n, next| {
                log.add(*line);
                next.run(n).await
            })
            .unwrap();
    };
    let dispatches = Arc::new(AtomicU32::new(0));
    let d = dispatches.clone();
    app.on(keys::DISPATCH)
        .run(move |_| {
            d.fetch_add(1, SeqCst);
        })
        .unwrap();
    listen("before");
    let (mut n, ctx) = (1, app.root());
    let (all, ask, work) =
        (ctx.parallel(ALL, &1), ctx.serial(ASK, &1), ctx.waterfall(WORK, &mut n, &(), async |_, n| *n));
    let told = dispatches.load(SeqCst);
    listen("between the call and the first poll");
    let mut heard = Vec::new();
    all.await.unwrap();
    heard.push(log.take());
    ask.await.unwrap();
    heard.push(log.take());
    work.await.unwrap();
    heard.push(log.take());
    assert_eq!((&heard[0], &heard[1]), (&heard[1], &heard[2]), "parallel, serial, waterfall");
    // Told when it begins, and so are its listeners looked at.
    assert_eq!(told, if heard[0].len() == 1 { 3 } else { 0 });
}

// spec: cordis-core/C108
#[tokio::test(start_paused = true)]
async fn parallel_takes_as_long_as_the_slowest_and_serial_as_long_as_all() {
    let (app, _) = host();
    for ms in [30, 10, 20] {
        app.on(ALL)
            .with(ms)
            .run(async |ms, _| {
                time::sleep(Duration::from_millis(*ms)).await;
                Ok(())
            })
            .unwrap();
        app.on(ASK)
            .with(ms)
            .run(async |ms, _| {
                time::sleep(Duration::from_millis(*ms)).await;
                Ok(None)
            })
            .unwrap();
    }
    let start = time::Instant::now();
    app.parallel(ALL, &1).await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_millis(30));
    let start = time::Instant::now();
    app.serial(ASK, &1).await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_millis(60));
}

// spec: cordis-core/C108
#[tokio::test(start_paused = true)]
async fn parallel_with_a_thousand_suspended_listeners_ends() {
    let (app, _) = host();
    let calls = Arc::new(AtomicU32::new(0));
    for _ in 0..1000 {
        app.on(ALL)
            .with(calls.clone())
            .run(async |calls, n| {
                for _ in 0..3 {
                    yield_now().await;
                }
                calls.fetch_add(*n, SeqCst);
                Ok(())
            })
            .unwrap();
    }
    app.parallel(ALL, &1).await.unwrap();
    assert_eq!(calls.load(SeqCst), 1000);
}
