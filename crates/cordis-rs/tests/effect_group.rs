//! Effects made of others by a set-up that waits for nothing.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support_lifecycle;

use cordis::{App, BoxError, Context, Disposed, Effect, Emit, Fiber, Inactive, Lent, define};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::{Arc, Mutex, OnceLock},
    task::{Context as Cx, Poll, Waker},
};
use support_lifecycle::{Log, both_flavours, effects, errors, fine, ms};

const PING: Emit<()> = Emit::new("ping");

async fn active(app: &App) -> Fiber {
    let fiber = app.plugin(define("p").run(async |_: &Context, _: (), _: &()| fine()), ()).unwrap();
    fiber.ready().await.unwrap();
    fiber
}

// spec: design/P2
#[test]
fn what_the_set_up_registers_is_listed_as_one_effect_and_undone_newest_first() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let group = app.effects("outer", |outer| {
            outer.effect("a", log.undo("a"))?;
            outer.effects("inner", |inner| {
                inner.on(PING).run(|()| ())?;
                inner.effect("b", log.slow_undo("b", ms(5)))?;
                fine()
            })?;
            // Made through the plugin's own context, so it is no part.
            app.effect("beside", log.undo("beside"))?;
            outer.lend("lent", log.on_drop("lent"))?;
            fine()
        });
        let group = group.unwrap();
        assert_eq!(effects(&app), ["outer[a, inner[ctx.on(\"ping\"), b], lent]", "beside"]);
        assert!(group.is_live());
        assert_eq!(group.dispose().await, Disposed::default());
        assert_eq!(log.take(), ["lent", "b start", "b end", "a"]);
        assert_eq!((effects(&app), app.listeners(PING)), (vec!["beside".to_owned()], 0));
        assert_eq!(group.dispose().await, Disposed::default());
    });
}

// spec: design/P1
#[test]
fn a_set_up_that_fails_has_been_undone_when_its_error_comes_back() {
    #[derive(Debug, PartialEq, Eq)]
    enum Why {
        Taken(u16),
        Inactive,
    }
    impl From<Inactive> for Why {
        fn from(_: Inactive) -> Self {
            Why::Inactive
        }
    }
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let lent = Mutex::new(None::<Lent<_>>);
        let failed = app.effects("half", |half| {
            half.effect("a", log.undo("a"))?;
            half.effects("part", |part| part.effect("b", log.undo("b")).map(drop))?;
            *lent.lock().unwrap() = Some(half.lend("lent", log.on_drop("lent"))?.1);
            half.effect("c", log.undo("c"))?;
            Err(Why::Taken(80))
        });
        assert_eq!(failed.unwrap_err(), Why::Taken(80));
        // Without an await: none of them waits for anything.
        assert_eq!(log.take(), ["c", "lent", "b", "a"]);
        assert!(!lent.lock().unwrap().as_ref().unwrap().is_live());
        assert_eq!(effects(&app), Vec::<String>::new());
        // What waits is requested, and the older parts wait for it.
        let failed = app.effects("half", |half| {
            half.effect("a", log.undo("a"))?;
            half.effect("b", log.slow_undo("b", ms(5)))?;
            Err::<(), _>(Why::Taken(81))
        });
        assert_eq!(failed.unwrap_err(), Why::Taken(81));
        log.until_len(3).await;
        assert_eq!(log.take(), ["b start", "b end", "a"]);
        let fiber = active(&app).await;
        fiber.dispose().await;
        let refused =
            fiber.context().effects("late", |_| -> Result<(), Why> { unreachable!("it is refused") });
        assert_eq!(refused.unwrap_err(), Why::Inactive);
    });
}

// spec: design/P4
#[test]
fn a_set_up_that_panics_is_undone_and_the_panic_is_its_callers() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let failures = errors(&app);
        let loud = catch_unwind(AssertUnwindSafe(|| {
            app.effects("loud", |loud| {
                loud.effect("a", log.undo("a"))?;
                loud.effect("b", async || -> () { panic!("b blew up") })?;
                let why: Result<(), BoxError> = Err("boom".into());
                why.map_err(|why| panic!("{why}"))
            })
            .map_err(|error: BoxError| error.to_string())
        }));
        assert_eq!(loud.unwrap_err().downcast_ref::<String>().unwrap(), "boom");
        assert_eq!(log.take(), ["a"]);
        assert_eq!(failures.take(), ["root b: panicked: b blew up"]);
        assert_eq!(effects(&app), ["ctx.on(\"internal/error\")"]);
        // What comes later is not taken for something inside of that set-up.
        let slow = app.effect("slow", log.slow_undo("slow", ms(5))).unwrap();
        assert_eq!(slow.dispose().await, Disposed::default());
        assert_eq!(log.take(), ["slow start", "slow end"]);
    });
}

#[test]
fn the_context_of_a_set_up_serves_as_long_as_the_group_does() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let kept = Mutex::new(None);
        let group = app.effects("group", |inside| {
            *kept.lock().unwrap() = Some(inside.clone());
            fine()
        });
        let (group, kept) = (group.unwrap(), kept.into_inner().unwrap().unwrap());
        kept.effect("later", log.undo("later")).unwrap();
        assert_eq!(effects(&app), ["group[later]"]);
        assert!(group.dispose().await.is_clean());
        assert!(matches!(kept.effect("too late", log.undo("no")), Err(Inactive { .. })));
        let refused = kept.effects("too late", |_| fine()).unwrap_err();
        assert!(
            refused.to_string().starts_with("cannot create an effect on inactive context `root`: "),
            "{refused}"
        );
        assert_eq!((log.take(), effects(&app)), (vec!["later".to_owned()], Vec::new()));
    });
}

/// The group, known to its parts only after the set-up.
type Own = Arc<OnceLock<Effect>>;

// spec: design/P1, design/P3
#[test]
fn a_group_that_is_disposed_from_inside_of_one_of_its_parts_goes_all_the_same() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let make = |own: &Own| {
            let group = app.effects("group", |inside| {
                inside.effect("older", log.undo("older"))?;
                let (itself, told) = (own.clone(), log.clone());
                inside.on(PING).run(move |()| {
                    let asked =
                        pin!(itself.get().unwrap().dispose()).poll(&mut Cx::from_waker(Waker::noop()));
                    told.add(format!(
                        "listener: {}",
                        asked.map(|asked| asked.requested) == Poll::Ready(true)
                    ));
                })?;
                inside.effect("newer", log.undo("newer"))?;
                fine()
            });
            own.set(group.unwrap()).unwrap();
        };
        let own = Own::default();
        make(&own);
        app.emit(PING, &());
        assert_eq!(own.get().unwrap().dispose().await, Disposed::default());
        let told = log.take();
        assert_eq!((told.len(), told.contains(&"listener: true".to_owned())), (3, true), "{told:?}");
        assert_eq!((effects(&app), app.listeners(PING)), (Vec::new(), 0));
        // A task is inside of it at its own await.
        let own = Own::default();
        let group = app.effects("group", |inside| {
            inside.effect("older", log.undo("older"))?;
            let (itself, told) = (own.clone(), log.clone());
            inside.spawn("task", async move {
                while itself.get().is_none() {
                    tokio::task::yield_now().await;
                }
                told.add(format!("task: {}", itself.get().unwrap().dispose().await.requested));
            })?;
            fine()
        });
        own.set(group.unwrap()).unwrap();
        log.until_len(2).await;
        assert_eq!(own.get().unwrap().dispose().await, Disposed::default());
        assert_eq!(log.take(), ["task: true", "older"]);
        assert_eq!(effects(&app), Vec::<String>::new());
    });
}

// spec: design/P1, design/P3
#[test]
fn a_set_up_that_disposes_its_plugin_only_requests_it_is_refused_its_next_part_and_undone() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let fiber = active(&app).await;
        let failed = fiber.context().effects("suicidal", |inside| {
            inside.effect("a", log.undo("a"))?;
            let asked = pin!(fiber.dispose()).poll(&mut Cx::from_waker(Waker::noop()));
            log.add(format!("requested: {}", asked.map(|asked| asked.requested) == Poll::Ready(true)));
            inside.effect("b", log.undo("b"))?;
            fine()
        });
        assert!(failed.unwrap_err().to_string().contains("inactive context `p#1`"));
        assert_eq!(fiber.dispose().await, Disposed::default());
        assert_eq!(log.take(), ["requested: true", "a"]);
    });
}

// spec: design/P1
#[test]
fn a_part_that_is_lent_and_running_holds_up_the_parts_before_it() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let mut lent = None;
        let group = app.effects("group", |inside| {
            inside.effect("older", log.undo("older"))?;
            lent = Some(inside.lend("lent", log.on_drop("lent"))?.1);
            inside.effect("newer", log.undo("newer"))?;
            fine()
        });
        let (group, lent) = (group.unwrap(), lent.unwrap());
        let call = lent.start(|_| Box::pin(std::future::pending::<()>())).unwrap();
        let mut dispose = pin!(group.dispose());
        let polled = std::future::poll_fn(|cx| Poll::Ready(dispose.as_mut().poll(cx))).await;
        assert!(polled.is_pending());
        log.until_len(1).await;
        assert_eq!(
            (log.take(), effects(&app)),
            (vec!["newer".to_owned()], vec!["group[older, lent]".to_owned()])
        );
        drop(call);
        assert_eq!(dispose.await, Disposed::default());
        assert_eq!(log.take(), ["lent", "older"]);
    });
}
