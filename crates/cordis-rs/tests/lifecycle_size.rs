//! Many plugins at once, and plugins nested deeply: no recursion over them, and nothing is left.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends there")]

mod support_lifecycle;

use cordis::{App, BoxError, Context, Disposed, Emit, State, define};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::SeqCst},
};
use support_lifecycle::{both_flavours, counts, fine};

const PING: Emit<()> = Emit::new("ping");

/// What is up and how many were in all.
#[derive(Clone, Default)]
struct Tally {
    up: Arc<AtomicUsize>,
    ever: Arc<AtomicUsize>,
}

async fn leaf(ctx: &Context, _: (), tally: &Tally) -> Result<(), BoxError> {
    tally.up.fetch_add(1, SeqCst);
    tally.ever.fetch_add(1, SeqCst);
    let up = tally.up.clone();
    ctx.effect("down", async move || _ = up.fetch_sub(1, SeqCst))?;
    ctx.on(PING).run(|()| ())?;
    fine()
}

// spec: design/P1
#[test]
fn a_body_mounts_a_thousand_plugins_and_they_go_with_it() {
    both_flavours(async || {
        let (app, tally) = (App::new().unwrap(), Tally::default());
        let body = async |ctx: &Context, _: (), tally: &Tally| {
            for _ in 0..1_000 {
                ctx.plugin(define("leaf").run(leaf), tally.clone())?;
            }
            fine()
        };
        let fiber = app.plugin(define("parent").run(body), tally.clone()).unwrap();
        fiber.ready().await.unwrap();
        app.quiet().await;
        assert_eq!((tally.up.load(SeqCst), app.listeners(PING)), (1_000, 1_000));
        assert_eq!(counts(&app.inspect().fiber), (1_002, 3_001));
        fiber.restart().await.unwrap();
        app.quiet().await;
        assert_eq!((tally.up.load(SeqCst), tally.ever.load(SeqCst)), (1_000, 2_000));
        assert_eq!(fiber.dispose().await, Disposed::default());
        assert_eq!((tally.up.load(SeqCst), app.listeners(PING)), (0, 0));
        assert_eq!(counts(&app.inspect().fiber), (1, 0));
    });
}

/// Mounts itself below itself until it is deep enough.
fn nested<'a>(
    ctx: &'a Context,
    _: (),
    config: &'a (usize, Tally),
) -> cordis::BoxFuture<'a, Result<(), BoxError>> {
    Box::pin(async move {
        let (deeper, tally) = config;
        leaf(ctx, (), tally).await?;
        if *deeper > 0 {
            ctx.plugin(define("nested").run_boxed(nested), (deeper - 1, tally.clone()))?;
        }
        fine()
    })
}

// spec: design/P1
#[test]
fn a_thousand_nested_plugins_are_inspected_and_disposed_from_the_root() {
    const DEPTH: usize = 1_000;
    both_flavours(async || {
        let (app, tally) = (App::new().unwrap(), Tally::default());
        let top = app.plugin(define("nested").run_boxed(nested), (DEPTH - 1, tally.clone())).unwrap();
        app.quiet().await;
        assert_eq!(tally.up.load(SeqCst), DEPTH);
        let seen = app.inspect();
        assert_eq!(counts(&seen.fiber), (1 + DEPTH, 3 * DEPTH));
        let text = seen.to_string();
        assert_eq!(text.lines().count(), 1 + 3 * DEPTH);
        let indent = |line: &str| line.len() - line.trim_start().len();
        assert_eq!(text.lines().map(indent).max(), Some(2 * (DEPTH + 1)));
        assert_eq!(seen.clone(), seen);
        drop(seen);
        assert_eq!(app.fiber().dispose().await, Disposed::default());
        assert_eq!((top.state(), tally.up.load(SeqCst), app.listeners(PING)), (State::Disposed, 0, 0));
        assert_eq!(counts(&app.inspect().fiber), (1, 0));
    });
}

// spec: design/P1
#[test]
fn a_thousand_nested_plugins_go_when_the_innermost_asks_for_the_end_of_the_outermost() {
    both_flavours(async || {
        let (app, tally) = (App::new().unwrap(), Tally::default());
        let top = app.plugin(define("nested").run_boxed(nested), (999, tally.clone())).unwrap();
        app.quiet().await;
        let innermost = app.registry().plugins()[0].fibers[999].clone();
        let outermost = top.clone();
        innermost.context().on(PING).run(move |()| outermost.cancel()).unwrap();
        app.emit(PING, &());
        assert_eq!(top.dispose().await, Disposed::default());
        assert_eq!((innermost.state(), tally.up.load(SeqCst), app.listeners(PING)), (State::Disposed, 0, 0));
    });
}
