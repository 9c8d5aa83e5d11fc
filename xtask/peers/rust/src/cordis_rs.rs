//! `cordis-rs`: typed events and services, an asynchronous life cycle on tokio.

use std::cell::RefCell;
use std::convert::Infallible;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

use peer_cordis::event::{InvocationFailure, Next, around, observer, observer_sync, responder};
use peer_cordis::{
    Context, Event, FiberHandle, FiberState, InjectSpec, Plugin, PreparedPlugin, QueryOutcome, Routing,
    Service,
};
use tokio::runtime::Runtime;

use crate::{Outcome, Peer, Plan, live, size, time};

pub const PEER: Peer = Peer {
    name: "cordis-rs 0.11.1",
    works: &[
        "emit/1",
        "emit/10",
        "emit/100",
        "emit/1000",
        "emit-two-threads",
        "waterfall/1",
        "waterfall/10",
        "waterfall/100",
        "serial/10",
        "parallel/10",
        "get",
        "scope-1000",
        "load/1",
        "load/100",
        "load/1000",
        "load/10000",
        "swap/250",
        "swap/1000",
        "swap/4000",
        "chain/10000",
        "churn/1000",
        "memory",
        "leak",
    ],
    run,
};

type Never<T> = Result<T, Infallible>;

// ---------------------------------------------------------------- events

const NAMES: [&str; 10] = ["e0", "e1", "e2", "e3", "e4", "e5", "e6", "e7", "e8", "e9"];

/// One of ten events.
struct Ev<const I: usize>;

impl<const I: usize> Event for Ev<I> {
    const NAME: &'static str = NAMES[I];
    type Args = u64;
    type Output = u64;
}

fn touch(_: Context, payload: u64) -> Never<()> {
    black_box(payload);
    Ok(())
}

fn listen<const I: usize>(ctx: &Context) {
    let _ = ctx.on::<Ev<I>, _>(observer_sync(touch)).expect("a listener");
}

fn listen_to_ten(ctx: &Context) {
    listen::<0>(ctx);
    listen::<1>(ctx);
    listen::<2>(ctx);
    listen::<3>(ctx);
    listen::<4>(ctx);
    listen::<5>(ctx);
    listen::<6>(ctx);
    listen::<7>(ctx);
    listen::<8>(ctx);
    listen::<9>(ctx);
}

// ---------------------------------------------------------------- services and plugins

/// One of two services. A chain uses both in turn, each link in a realm of its own.
struct Svc<const I: usize>(u64);

impl<const I: usize> Service for Svc<I> {
    const NAME: &'static str = ["s0", "s1"][I];
}

/// A plugin made of its requirement and a function.
struct Fun {
    needs: Option<&'static str>,
    apply: Box<dyn Fn(&Context) + Send + Sync>,
}

impl Plugin for Fun {
    type Config = ();
    type Input = ();
    type PrepareError = Infallible;
    type ApplyError = Infallible;

    fn inject(&self) -> InjectSpec {
        self.needs.map_or(InjectSpec::none(), |name| InjectSpec::none().require(name))
    }

    fn prepare(&self, (): ()) -> Never<()> {
        Ok(())
    }

    async fn apply(&self, ctx: Context, (): &()) -> Never<()> {
        (self.apply)(&ctx);
        Ok(())
    }
}

async fn load(
    ctx: &Context,
    needs: Option<&'static str>,
    apply: impl Fn(&Context) + Send + Sync + 'static,
) -> FiberHandle {
    let plugin = Fun { needs, apply: Box::new(apply) };
    ctx.spawn(PreparedPlugin::from_input(plugin, ())).await.expect("a loaded plugin")
}

/// The smallest plugin there is.
struct Trivial;

impl Plugin for Trivial {
    type Config = ();
    type Input = ();
    type PrepareError = Infallible;
    type ApplyError = Infallible;

    fn prepare(&self, (): ()) -> Never<()> {
        Ok(())
    }

    async fn apply(&self, _: Context, (): &()) -> Never<()> {
        Ok(())
    }
}

async fn load_trivial(ctx: &Context) -> FiberHandle {
    let handle = ctx.spawn(PreparedPlugin::from_input(Trivial, ())).await.expect("a loaded plugin");
    assert_eq!(handle.state(), FiberState::Active);
    handle
}

fn provide<const I: usize>(ctx: &Context, value: u64) {
    let _ = ctx.provide(Arc::new(Svc::<I>(value))).expect("a service");
}

// ---------------------------------------------------------------- works

fn run(work: &str, plan: &Plan) -> Outcome {
    // As many workers as in this crate's own benchmarks.
    let rt = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().expect("a runtime");
    let root = Context::new();
    match work.split('/').next().unwrap_or(work) {
        "emit" => emit(&rt, &root, size(work), plan),
        "emit-two-threads" => emit_two_threads(&rt, &root, plan),
        "waterfall" => waterfall(&rt, &root, size(work), plan),
        "serial" => serial(&rt, &root, size(work), plan),
        "parallel" => parallel(&rt, &root, size(work), plan),
        "get" => get(&rt, &root, plan),
        "scope-1000" => scope(&rt, &root, plan),
        "load" => load_beside(&rt, &root, size(work), plan),
        "swap" => swap(&rt, &root, size(work), plan),
        "chain" => chain(&rt, &root, size(work), plan),
        "churn" => churn(&rt, &root, size(work), plan),
        "memory" => memory(&rt, &root, plan),
        "leak" => leak(&rt, &root, plan),
        _ => panic!("no such work"),
    }
}

async fn emit_many(ctx: &Context, times: u64) {
    for payload in 0..times {
        ctx.emit::<Ev<0>>(Routing::Unscoped, black_box(payload)).await.expect("an emit");
    }
}

fn emit(rt: &Runtime, root: &Context, listeners: usize, plan: &Plan) -> Outcome {
    for _ in 0..listeners {
        listen::<0>(root);
    }
    Outcome::Ns(plan.ns(1, |n| rt.block_on(timed(emit_many(root, n)))))
}

fn emit_two_threads(rt: &Runtime, root: &Context, plan: &Plan) -> Outcome {
    for _ in 0..10 {
        listen::<0>(root);
    }
    // Long enough that the scheduler has spread the threads for most of it.
    let each = plan.samples() as u64 * 1_300;
    Outcome::Ratio(plan.ratio(|threads| {
        let start = Barrier::new(threads);
        // Timed by the workers: on two cores the main thread may wake up late.
        let work = || {
            start.wait();
            let began = Instant::now();
            rt.block_on(emit_many(root, each));
            (began, Instant::now())
        };
        let times: Vec<_> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            workers.into_iter().map(|worker| worker.join().expect("a worker")).collect()
        });
        let began = times.iter().map(|time| time.0).min().expect("a worker");
        let ended = times.iter().map(|time| time.1).max().expect("a worker");
        ended - began
    }))
}

async fn pass_on(_: Context, args: u64, next: Next<Ev<0>>) -> Result<u64, InvocationFailure> {
    next.call(black_box(args)).await
}

fn waterfall(rt: &Runtime, root: &Context, listeners: usize, plan: &Plan) -> Outcome {
    for _ in 0..listeners {
        let _ = root.on::<Ev<0>, _>(around::<Ev<0>, _>(pass_on)).expect("a listener");
    }
    Outcome::Ns(plan.ns(1, |n| {
        rt.block_on(timed(async {
            for payload in 0..n {
                let out = root
                    .waterfall::<Ev<0>, _, _, _>(Routing::Unscoped, payload, |p| async move { Never::Ok(p) })
                    .await
                    .expect("a waterfall");
                assert_eq!(out, payload);
            }
        }))
    }))
}

fn serial(rt: &Runtime, root: &Context, listeners: usize, plan: &Plan) -> Outcome {
    for _ in 0..listeners {
        let _ = root
            .on::<Ev<0>, _>(responder::<Ev<0>, _>(|_, payload: u64| async move {
                black_box(payload);
                Never::Ok(None::<u64>)
            }))
            .expect("a listener");
    }
    Outcome::Ns(plan.ns(1, |n| {
        rt.block_on(timed(async {
            for payload in 0..n {
                let out = root.query::<Ev<0>>(Routing::Unscoped, payload).await.expect("a query");
                assert_eq!(out, QueryOutcome::Miss);
            }
        }))
    }))
}

fn parallel(rt: &Runtime, root: &Context, listeners: usize, plan: &Plan) -> Outcome {
    for _ in 0..listeners {
        let _ = root
            .on::<Ev<0>, _>(observer(|_: Context, payload: u64| async move {
                black_box(payload);
                Never::Ok(())
            }))
            .expect("a listener");
    }
    Outcome::Ns(plan.ns(1, |n| {
        rt.block_on(timed(async {
            for payload in 0..n {
                root.emit_parallel::<Ev<0>>(Routing::Unscoped, payload).await.expect("an emit");
            }
        }))
    }))
}

fn get(rt: &Runtime, root: &Context, plan: &Plan) -> Outcome {
    rt.block_on(load(root, None, |ctx| provide::<0>(ctx, 1)));
    let mut ctx = root.clone();
    for level in 0..5 {
        let inner = Arc::new(Mutex::new(None));
        let out = inner.clone();
        let needs = (level == 0).then_some(Svc::<0>::NAME);
        rt.block_on(load(&ctx, needs, move |ctx| {
            *out.lock().expect("a lock") = Some(ctx.clone());
        }));
        ctx = inner.lock().expect("a lock").take().expect("an active plugin");
    }
    Outcome::Ns(plan.ns(1, |n| {
        time(|| {
            for _ in 0..n {
                let svc = black_box(&ctx).try_service::<Svc<0>>().expect("a service");
                black_box(svc.0);
            }
        })
    }))
}

fn scope(rt: &Runtime, root: &Context, plan: &Plan) -> Outcome {
    let heard = Arc::new(AtomicUsize::new(0));
    let scopes: Vec<_> = (0..1000)
        .map(|_| {
            let ctx = root.with_child_scope();
            let heard = heard.clone();
            let _ = ctx
                .on::<Ev<0>, _>(observer_sync(move |_: Context, payload: u64| {
                    black_box(payload);
                    heard.fetch_add(1, Ordering::Relaxed);
                    Never::Ok(())
                }))
                .expect("a listener");
            ctx.scope()
        })
        .collect();
    let mut sent = 0;
    let stat = plan.ns(1, |n| {
        sent += n as usize;
        rt.block_on(timed(async {
            for payload in 0..n {
                let routing = Routing::Scoped(scopes[517].clone());
                root.emit::<Ev<0>>(routing, payload).await.expect("an emit");
            }
        }))
    });
    assert_eq!(heard.load(Ordering::Relaxed), sent, "one listener for each emit");
    Outcome::Ns(stat)
}

fn load_beside(rt: &Runtime, root: &Context, neighbours: usize, plan: &Plan) -> Outcome {
    rt.block_on(async {
        for _ in 0..neighbours {
            let handle = load(root, None, listen_to_ten).await;
            assert_eq!(handle.state(), FiberState::Active);
        }
    });
    Outcome::Ns(plan.ns(1, |n| {
        rt.block_on(timed(async {
            for _ in 0..n {
                let handle = load(root, None, |ctx| {
                    listen_to_ten(ctx);
                    provide::<0>(ctx, 1);
                })
                .await;
                assert_eq!(handle.state(), FiberState::Active);
                handle.dispose().await.expect("a disposal");
            }
        }))
    }))
}

fn swap(rt: &Runtime, root: &Context, dependants: usize, plan: &Plan) -> Outcome {
    let applied = Arc::new(AtomicUsize::new(0));
    let new_provider = || load(root, None, |ctx| provide::<0>(ctx, 1));
    let mut provider = rt.block_on(new_provider());
    let handles = rt.block_on(async {
        let mut handles = Vec::new();
        for _ in 0..dependants {
            let applied = applied.clone();
            let handle = load(root, Some(Svc::<0>::NAME), move |ctx| {
                black_box(ctx.try_service::<Svc<0>>().expect("a service").0);
                applied.fetch_add(1, Ordering::Relaxed);
            });
            handles.push(handle.await);
        }
        handles
    });
    let mut rounds = 1;
    Outcome::Ns(plan.ns(dependants, |n| {
        rt.block_on(timed(async {
            for _ in 0..n {
                provider.dispose().await.expect("a disposal");
                provider = new_provider().await;
                for handle in &handles {
                    let state = handle.ready().await.expect("a settled dependant");
                    assert_eq!(state, FiberState::Active);
                }
                rounds += 1;
                assert_eq!(applied.load(Ordering::Relaxed), rounds * dependants);
            }
        }))
    }))
}

fn chain(rt: &Runtime, root: &Context, links: usize, plan: &Plan) -> Outcome {
    // Link i needs one service in realm i and provides the other in realm i + 1.
    let names = [Svc::<0>::NAME, Svc::<1>::NAME];
    let realms: Vec<_> = (0..=links).map(|_| root.new_service_realm()).collect();
    let contexts: Vec<_> = realms
        .windows(2)
        .enumerate()
        .map(|(i, pair)| {
            root.with_service_realms([(names[i % 2], pair[0].clone()), (names[(i + 1) % 2], pair[1].clone())])
                .expect("distinct names")
        })
        .collect();
    let handles = rt.block_on(async {
        let mut handles = Vec::new();
        for (i, ctx) in contexts.iter().enumerate() {
            let handle = load(ctx, Some(names[i % 2]), move |ctx| match i % 2 {
                0 => provide::<1>(ctx, 1),
                _ => provide::<0>(ctx, 1),
            })
            .await;
            assert_eq!(handle.state(), FiberState::Pending);
            handles.push(handle);
        }
        handles
    });
    let all_are = async |state| {
        for handle in handles.iter().rev() {
            handle.wait_state(state, Duration::from_secs(60)).await.expect("a settled link");
        }
    };
    let base = RefCell::new(None);
    let up = || {
        rt.block_on(timed(async {
            let handle = load(&contexts[0], None, |ctx| provide::<0>(ctx, 1)).await;
            base.replace(Some(handle));
            all_are(FiberState::Active).await;
        }))
    };
    let down = || {
        rt.block_on(timed(async {
            let handle = base.take().expect("a base");
            handle.dispose().await.expect("a disposal");
            all_are(FiberState::Pending).await;
        }))
    };
    plan.chain(up, down)
}

fn churn(rt: &Runtime, root: &Context, listeners: usize, plan: &Plan) -> Outcome {
    for _ in 0..listeners {
        listen::<0>(root);
    }
    Outcome::Ns(plan.ns(1, |n| {
        rt.block_on(timed(async {
            for payload in 0..n {
                let own = root.on::<Ev<0>, _>(observer_sync(touch)).expect("a listener");
                root.emit::<Ev<0>>(Routing::Unscoped, payload).await.expect("an emit");
                assert!(own.remove());
                root.emit::<Ev<0>>(Routing::Unscoped, payload).await.expect("an emit");
            }
        }))
    }))
}

fn memory(rt: &Runtime, root: &Context, plan: &Plan) -> Outcome {
    rt.block_on(async {
        // Whatever is made once, on the first use, is not the price of a plugin.
        load_trivial(root).await;
        let mut handles = Vec::with_capacity(plan.population());
        let before = live();
        for _ in 0..plan.population() {
            handles.push(load_trivial(root).await);
        }
        Outcome::Bytes((live() - before) as f64 / plan.population() as f64)
    })
}

fn leak(rt: &Runtime, root: &Context, plan: &Plan) -> Outcome {
    let cycle = async |times| {
        for _ in 0..times {
            let handle = load(root, None, |ctx| {
                listen_to_ten(ctx);
                provide::<0>(ctx, 1);
            });
            handle.await.dispose().await.expect("a disposal");
        }
    };
    rt.block_on(async {
        cycle(plan.population() / 10).await;
        let before = live();
        cycle(plan.population()).await;
        Outcome::Bytes((live() - before) as f64 / plan.population() as f64)
    })
}

async fn timed(work: impl Future<Output = ()>) -> Duration {
    let start = Instant::now();
    work.await;
    start.elapsed()
}
