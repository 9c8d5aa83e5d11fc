//! An app that is dropped while its runtime runs on: its teardown goes to its end.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use cordis::*;
use std::{sync::{Arc, atomic::{AtomicUsize, Ordering::SeqCst}}, time::Duration};

const COUNT: usize = 1_000;
const NUMBER: Key<u32> = Key::new("number");
const TOLD: Emit<()> = Emit::new("told");

/// Counts when it is dropped.
#[derive(Clone)]
struct Held(#[allow(dead_code, reason = "held")] Arc<()>);

fn fill(app: &App, kind: &str, held: &Held, ended: &Arc<AtomicUsize>) {
    for _ in 0..COUNT {
        let (held, ended) = (held.clone(), ended.clone());
        match kind {
            "effect" => drop(app.effect("e", async move || { let _held = held; ended.fetch_add(1, SeqCst); })),
            "task" => drop(app.spawn("t", async move { let _held = held; std::future::pending::<()>().await })),
            "listener" => drop(app.on(TOLD).run(move |()| drop(held.clone()))),
            _ => unreachable!(),
        }
    }
}

async fn left_of(kind: &str) -> usize {
    let app = App::new().unwrap();
    let (held, ended) = (Held(Arc::new(())), Arc::new(AtomicUsize::new(0)));
    fill(&app, kind, &held, &ended);
    tokio::time::sleep(Duration::from_millis(20)).await;
    drop(app);
    for _ in 0..100 {
        if Arc::strong_count(&held.0) == 1 { break; }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let left = Arc::strong_count(&held.0) - 1;
    println!("{kind}: left {left}, ran {}", ended.load(SeqCst));
    if kind == "effect" { COUNT - ended.load(SeqCst) } else { left }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_effects_of_a_dropped_app_are_all_undone() {
    assert_eq!(left_of("effect").await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tasks_of_a_dropped_app_all_end() {
    assert_eq!(left_of("task").await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_listeners_of_a_dropped_app_are_all_gone() {
    assert_eq!(left_of("listener").await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plugins_in_a_chain_of_needs_and_groups_of_a_dropped_app_are_all_undone() {
    let ended = Arc::new(AtomicUsize::new(0));
    let mut wrong = Vec::new();
    for round in 0..30 {
        ended.store(0, SeqCst);
        let app = App::new().unwrap();
        let provider = define("p").provides(NUMBER).run(async |ctx: &Context, _: (), ended: &Arc<AtomicUsize>| {
            let one = ended.clone();
            ctx.effect("oldest", async move || { one.fetch_add(1, SeqCst); })?;
            ctx.provide(NUMBER, Arc::new(1))?;
            Ok(())
        });
        let p = app.plugin(provider, ended.clone()).unwrap();
        let user = define("u").needs(NUMBER).run(async |ctx: &Context, _: Handle<u32>, ended: &Arc<AtomicUsize>| {
            let ended = ended.clone();
            ctx.effect_with("g", async |e| {
                for _ in 0..10 {
                    let one = ended.clone();
                    e.effect("part", async move || { tokio::task::yield_now().await; one.fetch_add(1, SeqCst); })?;
                }
                Ok(())
            }).await?;
            Ok(())
        });
        let u = app.plugin(user, ended.clone()).unwrap();
        u.ready().await.unwrap();
        drop((p, u));
        drop(app);
        for _ in 0..50 { if ended.load(SeqCst) == 11 { break; } tokio::time::sleep(Duration::from_millis(4)).await; }
        if ended.load(SeqCst) != 11 { wrong.push((round, ended.load(SeqCst))); }
    }
    assert!(wrong.is_empty(), "{} of 30: {wrong:?}", wrong.len());
}
