//! Listeners that are called, claimed and removed by several threads at once.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod support_events;

use cordis::{Bail, Emit};
use std::{
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};
use support_events::*;
use tokio::{runtime::Handle, task::yield_now};

const TOLD: Emit<u32> = Emit::new("told");

/// Dispatches of `M` from a thread of its own.
fn dispatch_on_this_thread<M: Mode>(runtime: &Handle, ctx: &cordis::Context) {
    if M::IS_ASYNC {
        runtime.block_on(M::go(ctx));
    } else {
        now(M::go(ctx)).expect("a synchronous dispatch is over when it returns");
    }
}

async fn once_under_contention<M: Mode>() {
    let (app, errors) = host();
    let calls = Arc::new(AtomicU32::new(0));
    let others = Arc::new(AtomicU32::new(0));
    let o = others.clone();
    M::on(
        &app,
        act(move || {
            o.fetch_add(1, SeqCst);
        }),
    );
    let rounds = 300;
    let start = Arc::new(Barrier::new(3));
    let emitters: Vec<_> = (0..2)
        .map(|_| {
            let (ctx, start, runtime) = (app.root(), start.clone(), Handle::current());
            thread::spawn(move || {
                for _ in 0..rounds {
                    start.wait();
                    dispatch_on_this_thread::<M>(&runtime, &ctx);
                    start.wait();
                }
            })
        })
        .collect();
    tokio::task::block_in_place(|| {
        for round in 1..=rounds {
            let c = calls.clone();
            M::once(
                &app,
                act(move || {
                    c.fetch_add(1, SeqCst);
                }),
            );
            start.wait();
            start.wait();
            assert_eq!(calls.load(SeqCst), round, "exactly once in round {round}");
            assert_eq!(M::listeners(&app), 1);
        }
    });
    emitters.into_iter().for_each(|emitter| emitter.join().unwrap());
    assert_eq!((others.load(SeqCst), errors.take()), (2 * rounds, vec![]));
}

// spec: cordis-core/C112, cases/D2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn once_runs_exactly_once_when_two_threads_emit_at_once() {
    once_under_contention::<EmitMode>().await;
    once_under_contention::<BailMode>().await;
}

// spec: cordis-core/C112, cases/D2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn once_runs_exactly_once_when_two_threads_dispatch_asynchronously_at_once() {
    once_under_contention::<SerialMode>().await;
    once_under_contention::<ParallelMode>().await;
    once_under_contention::<WaterfallMode>().await;
}

async fn spinning<M: Mode>() {
    let (app, errors) = host();
    let (inside, release) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (canary, gone) = Canary::new();
    let (i, r) = (inside.clone(), release.clone());
    let effect = M::on(
        &app,
        act(move || {
            let _kept = &canary;
            i.store(true, SeqCst);
            while !r.load(SeqCst) {
                thread::yield_now();
            }
        }),
    );
    let (ctx, runtime) = (app.root(), Handle::current());
    let emitter = thread::spawn(move || dispatch_on_this_thread::<M>(&runtime, &ctx));
    while !inside.load(SeqCst) {
        yield_now().await;
    }
    let (e, g) = (effect.clone(), gone.clone());
    let disposing = tokio::spawn(async move { (e.dispose().await.is_clean(), g.load(SeqCst)) });
    while effect.is_live() || M::listeners(&app) > 0 {
        yield_now().await;
    }
    for _ in 0..100 {
        yield_now().await;
    }
    assert!(!disposing.is_finished() && !gone.load(SeqCst), "it waits for the call");
    release.store(true, SeqCst);
    assert_eq!(disposing.await.unwrap(), (true, true), "the captures are dropped when it returns");
    emitter.join().unwrap();
    assert_eq!(errors.take(), []);
}

// spec: design/P1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dispose_from_another_thread_waits_for_a_listener_that_spins() {
    spinning::<EmitMode>().await;
    spinning::<AnnounceMode>().await;
    spinning::<BailMode>().await;
    spinning::<ParallelMode>().await;
    spinning::<SerialMode>().await;
    spinning::<WaterfallMode>().await;
}

/// Registers and disposes while two threads dispatch without a pause; counts what must not happen.
async fn churn<M: Mode>(rounds: u32) {
    let (app, errors) = host();
    let (stop, calls, late) =
        (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)), Arc::new(AtomicUsize::new(0)));
    let emitters: Vec<_> = (0..2)
        .map(|_| {
            let (ctx, stop, runtime) = (app.root(), stop.clone(), Handle::current());
            thread::spawn(move || {
                while !stop.load(SeqCst) {
                    dispatch_on_this_thread::<M>(&runtime, &ctx);
                }
            })
        })
        .collect();
    let (mut kept, mut undropped, mut unclean) = (0, 0, 0);
    for round in 0..rounds {
        let over = Arc::new(AtomicBool::new(false));
        let (canary, gone) = Canary::new();
        let (o, c, l) = (over.clone(), calls.clone(), late.clone());
        let how = How { prepend: round % 3 == 0, once: round % 5 == 0, global: false };
        let effect = M::place(
            &app,
            how,
            act(move || {
                let _kept = &canary;
                c.fetch_add(1, SeqCst);
                l.fetch_add(usize::from(o.load(SeqCst)), SeqCst);
            }),
        );
        let effect = effect.unwrap();
        if round % 7 == 0 {
            thread::yield_now();
        }
        unclean += u32::from(!effect.dispose().await.is_clean());
        over.store(true, SeqCst);
        undropped += u32::from(!gone.load(SeqCst));
        kept += M::listeners(&app);
    }
    stop.store(true, SeqCst);
    emitters.into_iter().for_each(|emitter| emitter.join().unwrap());
    assert_eq!(
        (late.load(SeqCst), undropped, unclean, kept),
        (0, 0, 0, 0),
        "late calls, captures, exceptions, leftovers"
    );
    assert!(calls.load(SeqCst) > 0, "the threads did meet");
    assert_eq!(
        (app.inspect().fiber.effects.len(), errors.take()),
        (1, vec![]),
        "only the observer of failures is left"
    );
}

// spec: design/P1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_begins_after_dispose_has_returned_in_emit() {
    churn::<EmitMode>(10_000).await;
}

// spec: design/P1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_begins_after_dispose_has_returned_in_bail() {
    churn::<BailMode>(2_000).await;
}

// spec: design/P1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_begins_after_dispose_has_returned_in_serial_and_parallel() {
    churn::<SerialMode>(2_000).await;
    churn::<ParallelMode>(2_000).await;
}

// spec: design/P1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_begins_after_dispose_has_returned_in_waterfall() {
    churn::<WaterfallMode>(4_000).await;
}

// spec: design/P1, design/P3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_threads_dispose_one_effect_and_both_wait_for_the_same_end() {
    let (app, _) = host();
    for _ in 0..500 {
        let (canary, gone) = Canary::new();
        let effect = app
            .on(TOLD)
            .run(move |_| {
                let _kept = &canary;
            })
            .unwrap();
        let ctx = app.root();
        let emitting = tokio::spawn(async move { ctx.emit(TOLD, &1) });
        let disposing = [0, 1].map(|_| {
            let (effect, gone) = (effect.clone(), gone.clone());
            tokio::spawn(async move { (effect.dispose().await.is_clean(), gone.load(SeqCst)) })
        });
        for one in disposing {
            assert_eq!(one.await.unwrap(), (true, true));
        }
        emitting.await.unwrap();
    }
}

// spec: cases/L8, design/P3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_of_the_user_around_the_hosts_calls_never_deadlocks_with_a_listener_that_takes_it() {
    const ASKED: Bail<u32, u32> = Bail::new("asked");
    let (app, errors) = host();
    let lock = Arc::new(std::sync::Mutex::new(0u64));
    let l = lock.clone();
    app.on(TOLD).run(move |n| *l.lock().unwrap() += u64::from(*n)).unwrap();
    let (ctx, l) = (app.root(), lock.clone());
    let emitter = thread::spawn(move || {
        for _ in 0..10_000 {
            ctx.emit(TOLD, &1);
            drop(l.lock().unwrap());
        }
    });
    let ctx = app.root();
    let registrar = thread::spawn(move || {
        for _ in 0..10_000 {
            let held = lock.lock().unwrap();
            // Whatever the host locks inside is never held while it calls the listener above.
            let effect = ctx.on(TOLD).run(|_| ()).unwrap();
            ctx.bail(ASKED, &1);
            effect.cancel();
            drop(held);
        }
    });
    let joined = tokio::task::spawn_blocking(move || {
        emitter.join().unwrap();
        registrar.join().unwrap();
    });
    tokio::time::timeout(Duration::from_secs(60), joined).await.expect("no deadlock").unwrap();
    assert_eq!((app.listeners(TOLD), errors.take()), (1, vec![]));
}
