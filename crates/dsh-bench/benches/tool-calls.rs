//! Calls of tools: bare, with policies, beside other agents, with long arguments, and what each station adds.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "a benchmark that cannot be set up has nothing to report"
)]

use std::hint::black_box;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use cpu_time::ThreadTime;

use cordis_bench::host::{current_thread, multi_thread};
use cordis_bench::measure::{pair, settings};
use criterion::{Criterion, criterion_group, criterion_main};
use dsh_bench::by_hand::ByHand;
use dsh_bench::calls::{EACH, Host, TEXT, long_arguments, long_text};
use dsh_tools::{ToolError, ToolRun, tool};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::runtime::Runtime;

criterion_group! { name = benches; config = settings(); targets = calls, agents, arguments, stations, worker }
criterion_main!(benches);

/// How many calls are made before it is the other side's turn.
const SLICE: u64 = 64;

/// Repeats a call inside of `block_on`, timed by the thread's own clock: no call here ever waits.
fn repeated<T>(runtime: &Runtime, call: impl AsyncFn() -> T) -> impl FnMut(u64) -> Duration {
    move |times| {
        runtime.block_on(async {
            let start = ThreadTime::now();
            for _ in 0..times {
                black_box(call().await);
            }
            start.elapsed()
        })
    }
}

/// A call on an app with nothing but its tool, and with policies; by hand it is a map of async functions, the reading of the
/// arguments, both schemas, and as many wrappers, guards and observers.
fn calls(c: &mut Criterion) {
    let runtime = current_thread();
    let (bare, by_hand) = (Host::bare(&runtime), ByHand::bare());
    let ours = repeated(&runtime, async || bare.call(TEXT).await);
    pair(c, "tool-call/bare", SLICE, ours, repeated(&runtime, async || by_hand.call(TEXT).await));

    let typed = Host::offering(&runtime, tool("echo", "Gives back its text.").run(echo).into());
    let ours = repeated(&runtime, async || typed.call(TEXT).await);
    pair(c, "tool-call/typed", SLICE, ours, repeated(&runtime, async || bare.call(TEXT).await));

    let (policies, by_hand) = (Host::policies(&runtime), ByHand::policies());
    let ours = repeated(&runtime, async || policies.call(TEXT).await);
    pair(c, "tool-call/policies", SLICE, ours, repeated(&runtime, async || by_hand.call(TEXT).await));
}

#[derive(Deserialize, JsonSchema)]
struct Echo {
    text: String,
}

async fn echo(echo: Echo, _run: ToolRun) -> Result<String, ToolError> {
    Ok(echo.text)
}

/// A call of an agent among 1,000 others that have a listener and a guard each, as it has itself; the floor is the same
/// without the others.
fn agents(c: &mut Criterion) {
    let runtime = current_thread();
    let (alone, many) = (Host::beside(&runtime, 0), Host::beside(&runtime, 1_000));
    let ours = repeated(&runtime, async || many.call(TEXT).await);
    pair(c, "tool-call/agents/1000", SLICE, ours, repeated(&runtime, async || alone.call(TEXT).await));
}

/// A call with policies and 200 objects as arguments: read already, and from the model's text.
fn arguments(c: &mut Criterion) {
    let runtime = current_thread();
    let (host, by_hand) = (Host::policies(&runtime), ByHand::policies());
    let (read, text) = (long_arguments(), long_text());
    let ours = repeated(&runtime, async || host.call(read.clone()).await);
    let floor = repeated(&runtime, async || host.call(TEXT).await);
    pair(c, "tool-call/arguments/parsed", SLICE, ours, floor);
    let ours = repeated(&runtime, async || host.call(&*text).await);
    pair(c, "tool-call/arguments/text", 8, ours, repeated(&runtime, async || by_hand.call(&text).await));
}

/// What three listeners of a station, three guards, or the policy of time limits add to a call; the floor is the bare call.
fn stations(c: &mut Criterion) {
    let runtime = current_thread();
    let bare = Host::bare(&runtime);
    type Add = fn(&mut Host);
    let stations: [(&str, Add); 5] = [
        ("pre-execute", Host::listen_before),
        ("guards", Host::guard),
        ("execute", Host::listen_around),
        ("post-execute", Host::listen_after),
        ("result", Host::listen_to_results),
    ];
    let mut hosts: Vec<(&str, Host)> = Vec::new();
    for (name, add) in stations {
        let mut host = Host::bare(&runtime);
        (0..EACH).for_each(|_| add(&mut host));
        hosts.push((name, host));
    }
    hosts.push(("timeout-policy", Host::limited(&runtime)));
    for (name, host) in hosts {
        let ours = repeated(&runtime, async || host.call(TEXT).await);
        let floor = repeated(&runtime, async || bare.call(TEXT).await);
        pair(c, &format!("tool-call-station/{name}"), SLICE, ours, floor);
    }
}

/// The same calls by a task on a worker of a runtime of two.
fn worker(c: &mut Criterion) {
    let (runtime, local) = (multi_thread(), current_thread());
    for (work, make) in [
        ("tool-call-worker/bare", Host::bare as fn(&Runtime) -> Host),
        ("tool-call-worker/policies", Host::policies),
    ] {
        let (host, here) = (Arc::new(make(&runtime)), make(&local));
        let ours = |times| {
            let host = host.clone();
            let task = async move {
                // As a duration: the clock itself stays on its thread.
                let (start, on) = (ThreadTime::now().as_duration(), thread::current().id());
                for _ in 0..times {
                    black_box(host.call(TEXT).await);
                }
                assert_eq!(on, thread::current().id(), "the task moved, and its thread's clock with it");
                ThreadTime::now().as_duration() - start
            };
            runtime.block_on(runtime.spawn(task)).unwrap()
        };
        pair(c, work, SLICE, ours, repeated(&local, async || here.call(TEXT).await));
    }
}
