//! `emit`, `announce` and `bail`: the modes that run on the dispatcher's stack.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod support_events;

use cordis::{Announce, Bail, BoxError, BoxFuture, Emit, ListenerPanic};
use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering::SeqCst},
};
use support_events::*;

const TOLD: Emit<u32> = Emit::new("told");
const ASKED: Announce<u32> = Announce::new("asked");
const WHICH: Bail<u32, u32> = Bail::new("which");

#[derive(Debug, PartialEq)]
struct Refused(u32);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "refused {}", self.0)
    }
}

impl std::error::Error for Refused {}

on_both_flavours! {
    // spec: cordis-core/C107, cases/D4, design/P4
    #[test]
    async fn emit_contains_a_panic_reports_it_with_plugin_and_key_and_runs_the_rest() {
        let (app, errors) = host();
        let log = Log::default();
        let (l, m) = (log.clone(), log.clone());
        app.on(TOLD).run(move |n| l.add(format!("first {n}"))).unwrap();
        plugin(&app, "bad", |ctx| {
            ctx.on(TOLD).run(|n| panic!("at {n}"))?;
            ctx.on(TOLD).run(|_| std::panic::panic_any(7u8))?;
            Ok(())
        }).await;
        app.on(TOLD).run(move |n| m.add(format!("last {n}"))).unwrap();
        for n in [1, 2] {
            app.emit(TOLD, &n);
            assert_eq!(log.take(), [format!("first {n}"), format!("last {n}")]);
            let step = "ctx.on(\"told\")";
            let first = report("bad", step, &format!("panicked: at {n}"));
            let second = report("bad", step, "panicked: panicked with a value that is no text");
            assert_eq!(errors.take(), [first, second]);
        }
    }

    // spec: cordis-core/C107
    #[test]
    async fn emit_runs_on_the_callers_stack_and_is_over_when_it_returns() {
        let (app, errors) = host();
        let (thread, sum) = (std::thread::current().id(), Arc::new(AtomicU32::new(0)));
        let s = sum.clone();
        app.on(TOLD).with(10u32).run(move |factor, n| {
            assert_eq!(std::thread::current().id(), thread);
            s.fetch_add(factor * n, SeqCst);
        }).unwrap();
        app.emit(TOLD, &4);
        assert_eq!((sum.load(SeqCst), errors.take()), (40, vec![]));
    }

    // spec: cases/D4
    #[test]
    async fn announce_stops_at_the_first_error_and_returns_it_as_it_is() {
        let (app, errors) = host();
        let log = Log::default();
        let (l, m) = (log.clone(), log.clone());
        app.on(ASKED).run(move |_| { l.add("first"); Ok(()) }).unwrap();
        app.on(ASKED).run(|n| if *n > 1 { Err(Refused(*n).into()) } else { Ok(()) }).unwrap();
        app.on(ASKED).run(move |_| { m.add("last"); Ok(()) }).unwrap();
        assert!(app.announce(ASKED, &1).is_ok());
        assert_eq!(log.take(), ["first", "last"]);
        let error = app.announce(ASKED, &2).unwrap_err();
        assert_eq!(error.downcast_ref(), Some(&Refused(2)));
        assert_eq!((log.take(), errors.take()), (vec!["first".to_owned()], vec![]));
    }

    // spec: cases/D4, design/P4
    #[test]
    async fn announce_takes_a_panic_for_an_error_that_names_plugin_and_key() {
        let (app, errors) = host();
        let log = Log::default();
        let bad = plugin(&app, "bad", |ctx| {
            ctx.on(ASKED).with(()).run(|_, _| panic!("no"))?;
            Ok(())
        }).await;
        let l = log.clone();
        app.on(ASKED).run(move |_| { l.add("last"); Ok(()) }).unwrap();
        let error = app.announce(ASKED, &1).unwrap_err();
        let panic = error.downcast_ref::<ListenerPanic>().unwrap();
        let expected = ("asked", format!("bad#{}", bad.uid()), "no");
        assert_eq!((panic.event, panic.plugin.clone(), &*panic.message), expected);
        assert_eq!(error.to_string(), format!("a listener of `asked` of plugin `bad#{}` panicked: no", bad.uid()));
        assert_eq!((log.take(), errors.take()), (vec![], vec![]));
    }

    // spec: cordis-core/C110
    #[test]
    async fn bail_returns_the_first_answer_and_asks_no_further() {
        let (app, errors) = host();
        let log = Log::default();
        let (l, m) = (log.clone(), log.clone());
        app.on(WHICH).run(move |_| { l.add("first"); None }).unwrap();
        app.on(WHICH).run(|n| (*n > 1).then_some(0)).unwrap();
        app.on(WHICH).with(5u32).run(move |s, n| { m.add("last"); (*n == 1).then_some(*s) }).unwrap();
        assert_eq!((app.bail(WHICH, &0), log.take().len()), (None, 2));
        assert_eq!((app.bail(WHICH, &1), log.take().len()), (Some(5), 2));
        // Nought is an answer.
        assert_eq!((app.bail(WHICH, &2), log.take()), (Some(0), vec!["first".to_owned()]));
        assert_eq!(errors.take(), []);
    }

    // spec: cases/D4, design/P4
    #[test]
    async fn bail_reports_a_panic_and_asks_the_rest() {
        let (app, errors) = host();
        plugin(&app, "bad", |ctx| {
            ctx.on(WHICH).run(|_| panic!("no"))?;
            Ok(())
        }).await;
        app.on(WHICH).run(|n| Some(n + 1)).unwrap();
        assert_eq!(app.bail(WHICH, &1), Some(2));
        assert_eq!(errors.take(), [report("bad", "ctx.on(\"which\")", "panicked: no")]);
    }

    // spec: cordis-core/C110
    #[test]
    async fn a_future_is_an_answer_of_bail_like_any_other() {
        const LATER: Bail<u32, BoxFuture<'static, u32>> = Bail::new("later");
        let (app, _) = host();
        let calls = Arc::new(AtomicU32::new(0));
        app.on(LATER).run(|n| { let n = *n; Some(Box::pin(async move { tokio::task::yield_now().await; n })) }).unwrap();
        let c = calls.clone();
        app.on(LATER).run(move |_| { c.fetch_add(1, SeqCst); None }).unwrap();
        assert_eq!(app.bail(LATER, &3).unwrap().await, 3);
        assert_eq!(calls.load(SeqCst), 0);
    }
}

// spec: cordis-core/C103
#[tokio::test(start_paused = true)]
async fn a_dispatch_that_nobody_listens_to_gives_the_neutral_answer() {
    let (app, errors) = host();
    app.emit(TOLD, &1);
    assert_eq!(app.announce(ASKED, &1).map_err(|e: BoxError| e.to_string()), Ok(()));
    assert_eq!(app.bail(WHICH, &1), None);
    assert_eq!(errors.take(), []);
}

// spec: cases/D4, design/P4
#[tokio::test(start_paused = true)]
async fn a_panic_in_one_of_several_scopes_stops_no_listener_of_the_others() {
    let (app, errors) = host();
    let log = Log::default();
    let (outer, inner) = (app.scope().unwrap(), app.scope().unwrap());
    let _ = inner.bind_parent(&outer).unwrap();
    let note = |line: &'static str| {
        let log = log.clone();
        move |_: &u32| log.add(line)
    };
    outer.context().on(TOLD).run(note("outer")).unwrap();
    inner.context().on(TOLD).run(|_| panic!("inner")).unwrap();
    app.on(TOLD).run(|_| panic!("root")).unwrap();
    outer.context().on(TOLD).run(note("outer again")).unwrap();
    app.on(TOLD).run(note("root")).unwrap();
    app.at(&inner).emit(TOLD, &1);
    assert_eq!(log.take(), ["outer", "outer again", "root"]);
    let step = "ctx.on(\"told\")";
    assert_eq!(
        errors.take(),
        [report("scope", step, "panicked: inner"), report("root", step, "panicked: root")]
    );
    inner.context().on(ASKED).run(|_| Ok(())).unwrap();
    outer.context().on(ASKED).run(|_| panic!("outer")).unwrap();
    app.on(ASKED).run(|_| unreachable!("behind the one that panics")).unwrap();
    let error = app.at(&inner).announce(ASKED, &1).unwrap_err();
    assert_eq!(error.downcast_ref::<ListenerPanic>().map(|panic| &*panic.message), Some("outer"));
    inner.context().on(WHICH).run(|_| panic!("asked")).unwrap();
    outer.context().on(WHICH).run(|n| Some(n * 2)).unwrap();
    assert_eq!(app.at(&inner).bail(WHICH, &4), Some(8));
    assert_eq!(errors.take(), [report("scope", "ctx.on(\"which\")", "panicked: asked")]);
}
