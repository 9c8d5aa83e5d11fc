//! Waterfalls: wrapping, short-circuits, retries, panics.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod support_events;

use cordis::{ListenerPanic, Next, Waterfall};
use std::{
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::SeqCst},
    },
    task::Poll,
    time::Duration,
};
use support_events::*;
use tokio::task::yield_now;

const WORK: Waterfall<u32, u32> = Waterfall::new("work");
const TEXT: Waterfall<String, Result<String, String>> = Waterfall::new("text");

/// A dispatcher with a step of its own.
#[derive(Default)]
struct Base {
    calls: AtomicU32,
}

impl Base {
    async fn body(&self, n: &mut u32) -> u32 {
        self.calls.fetch_add(1, SeqCst);
        yield_now().await;
        *n
    }
}

async fn add_one(n: &mut u32, next: Next<'_, u32, u32>) -> u32 {
    next.run(n).await + 1
}

on_both_flavours! {
    // spec: cordis-core/C111, cases/D5
    #[test]
    async fn listeners_wrap_the_inner_step_and_one_without_next_ends_the_chain() {
        let (app, errors) = host();
        let base = Base::default();
        app.on(WORK).run(add_one).unwrap();
        app.on(WORK).run(add_one).unwrap();
        assert_eq!(app.waterfall(WORK, &mut 2, &base, Base::body).await.unwrap(), 4);
        let fourth = Arc::new(AtomicU32::new(0));
        app.on(WORK).run(async |n, _next| *n).unwrap();
        app.on(WORK).with(fourth.clone()).run(async |calls, n, next| { calls.fetch_add(1, SeqCst); next.run(n).await }).unwrap();
        assert_eq!(app.waterfall(WORK, &mut 1, &base, Base::body).await.unwrap(), 3);
        assert_eq!((base.calls.load(SeqCst), fourth.load(SeqCst), errors.take()), (1, 0, vec![]));
    }

    // spec: cordis-core/C111
    #[test]
    async fn a_waterfall_without_listeners_is_its_inner_step() {
        let (app, _) = host();
        assert_eq!(app.waterfall(WORK, &mut 5, &Base::default(), Base::body).await.unwrap(), 5);
    }

    // spec: cordis-core/C111
    #[test]
    async fn arguments_are_changed_on_the_way_down_and_results_on_the_way_up() {
        let (app, _) = host();
        app.on(TEXT).with("outer".to_owned()).run(async |name, text, next| {
            text.push_str(" <outer>");
            yield_now().await;
            next.run(text).await.map(|result| format!("{result} </{name}>"))
        }).unwrap();
        app.on(TEXT).run(async |text, next| {
            text.push_str(" <inner>");
            let result = next.run(text).await;
            text.push_str(" seen");
            result.map(|result| format!("{result} </inner>"))
        }).unwrap();
        let mut text = "in".to_owned();
        let result = app.waterfall(TEXT, &mut text, &(), async |_, text| Ok(format!("[{text}]"))).await.unwrap();
        assert_eq!(result.unwrap(), "[in <outer> <inner>] </inner> </outer>");
        assert_eq!(text, "in <outer> <inner> seen");
    }

    // spec: cases/D8
    #[test]
    async fn a_retry_runs_everything_below_it_again() {
        let (app, errors) = host();
        let log = Log::default();
        app.on(TEXT).with(log.clone()).run(async |log, text, next| {
            log.add("above");
            next.run(text).await
        }).unwrap();
        app.on(TEXT).with(log.clone()).run(async |log, text, next| {
            let mut first = text.clone();
            match next.clone().run(&mut first).await {
                Ok(result) => Ok(result),
                Err(error) => {
                    log.add(format!("retry after {error}"));
                    text.push_str(" again");
                    next.run(text).await
                }
            }
        }).unwrap();
        for wrapper in ["guard", "metrics"] {
            app.on(TEXT).with((log.clone(), wrapper)).run(async |(log, wrapper), text, next| {
                log.add(*wrapper);
                yield_now().await;
                next.run(text).await
            }).unwrap();
        }
        let step = async |log: &Log, text: &mut String| {
            log.add(format!("body {text}"));
            if text.ends_with("again") { Ok("done".to_owned()) } else { Err("no".to_owned()) }
        };
        let result = app.waterfall(TEXT, &mut "call".to_owned(), &log, step).await.unwrap();
        assert_eq!(result.as_deref(), Ok("done"));
        let all = ["above", "guard", "metrics", "body call", "retry after no", "guard", "metrics", "body call again"];
        assert_eq!((&log.take()[..], errors.take()), (&all.map(str::to_owned)[..], vec![]));
    }

    // spec: cases/D8, cases/D7
    #[test]
    async fn a_once_below_a_retry_takes_part_in_the_first_run_only() {
        let (app, _) = host();
        let log = Log::default();
        app.on(WORK).run(async |n, next| next.clone().run(n).await + next.run(n).await).unwrap();
        app.on(WORK).once().with(log.clone()).run(async |log, n, next| { log.add("once"); next.run(n).await }).unwrap();
        app.on(WORK).with(log.clone()).run(async |log, n, next| { log.add("always"); next.run(n).await }).unwrap();
        assert_eq!(app.waterfall(WORK, &mut 3, &Base::default(), Base::body).await.unwrap(), 6);
        assert_eq!(log.take(), ["once", "always", "always"]);
    }

    // spec: cordis-core/C104, cases/D3
    #[test]
    async fn a_listener_removed_while_the_chain_is_suspended_above_it_is_passed_over_and_a_new_one_waits() {
        let (app, _) = host();
        let log = Log::default();
        let (go, wait) = tokio::sync::oneshot::channel::<()>();
        let (arrived, here) = tokio::sync::oneshot::channel::<()>();
        let gate = tokio::sync::Mutex::new(Some((arrived, wait)));
        app.on(WORK).once().with(gate).run(async |gate, n, next| {
            let (arrived, wait) = gate.lock().await.take().unwrap();
            arrived.send(()).unwrap();
            wait.await.unwrap();
            next.run(n).await
        }).unwrap();
        let removed = app.on(WORK).with(log.clone()).run(async |log, n, next| { log.add("removed"); next.run(n).await }).unwrap();
        app.on(WORK).with(log.clone()).run(async |log, n, next| { log.add("kept"); next.run(n).await }).unwrap();
        let (ctx, base) = (app.root(), Base::default());
        let mut n = 1;
        let (result, ()) = tokio::join!(ctx.waterfall(WORK, &mut n, &base, Base::body), async {
            here.await.unwrap();
            assert!(removed.dispose().await.is_clean());
            app.on(WORK).with(log.clone()).run(async |log, n, next| { log.add("new"); next.run(n).await }).unwrap();
            go.send(()).unwrap();
        });
        assert_eq!((result.unwrap(), log.take()), (1, vec!["kept".to_owned()]));
        app.waterfall(WORK, &mut n, &base, Base::body).await.unwrap();
        assert_eq!(log.take(), ["kept", "new"]);
    }

    // spec: cases/D4, design/P4
    #[test]
    async fn a_panic_unwinds_through_the_wrappers_and_is_returned_with_plugin_and_key() {
        let (app, errors) = host();
        let log = Log::default();
        let (sink, after) = (log.clone(), log.clone());
        plugin(&app, "outer", move |ctx| {
            ctx.on(WORK).with(sink.clone()).run(async |log, n, next| {
                let _unwound = Unwound(log.clone());
                next.run(n).await
            })?;
            Ok(())
        }).await;
        let bad = plugin(&app, "bad", |ctx| {
            ctx.on(WORK).run(async |n, next| {
                if *n == 1 {
                    yield_now().await;
                    panic!("late");
                }
                if *n == 2 {
                    panic!("at once");
                }
                next.run(n).await
            })?;
            Ok(())
        }).await;
        app.on(WORK).with(after).run(async |log, n, next| { log.add("behind"); next.run(n).await }).unwrap();
        let base = Base::default();
        for (mut n, message) in [(1, "late"), (2, "at once")] {
            let panic: ListenerPanic = app.waterfall(WORK, &mut n, &base, Base::body).await.unwrap_err();
            let expected = ("work", format!("bad#{}", bad.uid()), message);
            assert_eq!((panic.event, panic.plugin.clone(), &*panic.message), expected);
            assert_eq!(log.take(), ["unwound"]);
        }
        assert_eq!(app.waterfall(WORK, &mut 3, &base, Base::body).await.unwrap(), 3);
        assert_eq!((base.calls.load(SeqCst), errors.take()), (1, vec![]));
    }

    // spec: design/P4
    #[test]
    async fn a_panic_of_the_inner_step_is_the_dispatchers_own_with_listeners_around_it_or_without() {
        let (app, _) = host();
        let step = async |_: &(), n: &mut u32| -> u32 { panic!("inner {n}") };
        for round in [1, 2] {
            let panic = app.waterfall(WORK, &mut 1, &(), step).await.unwrap_err();
            let expected = ("work", "dispatcher", "inner 1");
            assert_eq!((panic.event, &*panic.plugin, &*panic.message), expected, "round {round}");
            app.on(WORK).run(add_one).unwrap();
        }
    }

    // spec: design/P4
    #[test]
    async fn a_panic_that_a_listener_caught_is_not_taken_for_the_culprit_of_the_next_one() {
        let (app, _) = host();
        app.on(WORK).run(async |n, next| {
            let mut run = next.run(n);
            poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| Pin::new(&mut run).poll(cx))) {
                Ok(polled) => polled,
                Err(_) => Poll::Ready(100),
            }).await
        }).unwrap();
        let below = plugin(&app, "below", |ctx| {
            ctx.on(WORK).run(async |_, _| panic!("caught"))?;
            Ok(())
        }).await;
        assert_eq!(app.waterfall(WORK, &mut 1, &Base::default(), Base::body).await.unwrap(), 100);
        below.dispose().await;
        const OTHER: Waterfall<u32, u32> = Waterfall::new("other");
        let panic = app.waterfall(OTHER, &mut 1, &(), async |_, _| panic!("mine")).await.unwrap_err();
        assert_eq!((&*panic.plugin, &*panic.message), ("dispatcher", "mine"));
    }

    // spec: cordis-core/C112
    #[test]
    async fn a_boxed_wrapper_may_capture() {
        let (app, _) = host();
        let factor = 3;
        app.on(WORK).run_boxed(move |n, next| Box::pin(async move { next.run(n).await * factor })).unwrap();
        assert_eq!(app.waterfall(WORK, &mut 2, &Base::default(), Base::body).await.unwrap(), 6);
    }
}

struct Unwound(Log);

impl Drop for Unwound {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.add("unwound");
        }
    }
}

// spec: cordis-core/C111
#[tokio::test(start_paused = true)]
async fn a_deadline_around_next_drops_what_is_below() {
    let (app, _) = host();
    let (canary, gone) = Canary::new();
    app.on(TEXT)
        .run(async |text, next| {
            let below = tokio::time::timeout(Duration::from_secs(2), next.run(text)).await;
            below.unwrap_or_else(|_| Err("late".into()))
        })
        .unwrap();
    let held = std::sync::Mutex::new(Some(canary));
    app.on(TEXT)
        .with(held)
        .run(async |held, text, next| {
            let _canary = held.lock().unwrap().take();
            tokio::time::sleep(Duration::from_secs(3600)).await;
            next.run(text).await
        })
        .unwrap();
    let result = app.waterfall(TEXT, &mut String::new(), &(), async |_, _| Ok(String::new())).await.unwrap();
    assert_eq!(result, Err("late".to_owned()));
    assert!(gone.load(SeqCst), "the future below was dropped at its await");
}
