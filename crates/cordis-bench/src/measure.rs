//! A work next to its floor, by turns, so that what disturbs one disturbs the other.

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use cpu_time::ThreadTime;
use criterion::{Criterion, SamplingMode};

/// What every benchmark of this crate is run with; the command line goes first.
pub fn settings() -> Criterion {
    Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_millis(1_000))
        .sample_size(30)
        .nresamples(1_001)
        .without_plots()
}

/// Measures a work that has no floor.
pub fn alone(c: &mut Criterion, work: &str, mut ours: impl FnMut(u64) -> Duration) {
    let mut group = c.benchmark_group(work);
    group.sampling_mode(SamplingMode::Flat);
    group.bench_function("ours", |b| b.iter_custom(&mut ours));
}

/// Measures a work and its floor as the ids `WORK/ours` and `WORK/floor`. Each is given a number of operations and returns
/// the time they took; `slice` operations of one are followed by as many of the other, whichever is being measured.
pub fn pair(
    c: &mut Criterion,
    work: &str,
    slice: u64,
    mut ours: impl FnMut(u64) -> Duration,
    mut floor: impl FnMut(u64) -> Duration,
) {
    let mut group = c.benchmark_group(work);
    group.sampling_mode(SamplingMode::Flat);
    group.bench_function("ours", |b| b.iter_custom(|n| by_turns(n, slice, &mut ours, &mut floor).0));
    group.bench_function("floor", |b| b.iter_custom(|n| by_turns(n, slice, &mut ours, &mut floor).1));
}

fn by_turns(
    operations: u64,
    slice: u64,
    ours: &mut impl FnMut(u64) -> Duration,
    floor: &mut impl FnMut(u64) -> Duration,
) -> (Duration, Duration) {
    let mut times = (Duration::ZERO, Duration::ZERO);
    let mut left = operations;
    while left > 0 {
        let turn = left.min(slice);
        times.0 += ours(turn);
        times.1 += floor(turn);
        left -= turn;
    }
    times
}

/// Turns one operation into a number of them, timed by the thread's own clock: what never waits takes as long as it
/// computes, and the time in which the machine was taken away by others does not count.
pub fn repeat(mut operation: impl FnMut()) -> impl FnMut(u64) -> Duration {
    move |times| {
        let start = ThreadTime::now();
        for _ in 0..times {
            operation();
        }
        start.elapsed()
    }
}

/// The result of a future that never suspends. A runtime would add its own time to every dispatch.
pub fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the work suspended: it is to be measured on a runtime"),
    }
}
