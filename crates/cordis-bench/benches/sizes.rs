//! What criterion does not measure: two threads at once, and memory. Prints a line of JSON for each work, as the peers do:
//! see `xtask/peers/README.md`.
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot be set up has nothing to report")]

use std::hint::{self, black_box};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cordis::{App, Emit, Fiber, State};
use cordis_bench::host::{app_on, current_thread, load_and_unload, load_trivial, touch};
use cpu_time::ThreadTime;
use peak_alloc::PeakAlloc;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

const EVENT: Emit<u64> = Emit::new("event");

/// How much is measured.
struct Plan {
    quick: bool,
}

type Work = fn(&Plan) -> String;

const WORKS: [(&str, Work); 3] = [("emit-two-threads", emit_two_threads), ("memory", memory), ("leak", leak)];

fn main() {
    let (mut quick, mut only) = (false, String::new());
    for arg in std::env::args().skip(1).filter(|arg| arg != "--bench") {
        match arg.as_str() {
            "--quick" => quick = true,
            word => only = word.to_owned(),
        }
    }
    for (name, work) in WORKS {
        if name.contains(&only) {
            println!(r#"{{"peer":"ours","work":"{name}",{}}}"#, work(&Plan { quick }));
        }
    }
}

/// How much of a sample's time its threads must have had a processor for it to count.
const UNDISTURBED: f64 = 0.95;

/// Throughput of two threads over that of one, by turns. On a busy machine two threads do not get two processors: samples in
/// which a thread had to wait for one are left out while there are enough others.
fn emit_two_threads(plan: &Plan) -> String {
    let runtime = current_thread();
    let app = app_on(&runtime);
    for _ in 0..10 {
        app.on(EVENT).run(touch).unwrap();
    }
    let (wanted, limit) = if plan.quick { (15, 2) } else { (31, 20) };
    run(&app, 2);
    let (start, mut clean, mut all) = (Instant::now(), Vec::new(), Vec::new());
    while clean.len() < wanted && start.elapsed() < Duration::from_secs(limit) {
        let (one, two) = (run(&app, 1), run(&app, 2));
        let ratio = 2.0 * one.seconds / two.seconds;
        all.push(ratio);
        if one.had.min(two.had) >= UNDISTURBED {
            clean.push(ratio);
        }
    }
    let mut ratios = if clean.len() < 5 { all } else { clean };
    ratios.sort_by(f64::total_cmp);
    let at = |part: f64| ratios[((ratios.len() - 1) as f64 * part).round() as usize];
    let spread = (at(0.9) - at(0.1)) / at(0.5);
    format!(r#""ratio":{:.3},"spread":{spread:.3},"samples":{}"#, at(0.5), ratios.len())
}

/// One run of some threads.
struct Ran {
    /// From the first start to the last end.
    seconds: f64,
    /// The part of this in which the least lucky thread had a processor.
    had: f64,
}

fn run(app: &App, threads: usize) -> Ran {
    const EMITS: u32 = 50_000;
    let waiting = AtomicUsize::new(threads);
    let work = || {
        // Spinning: who is woken up starts late.
        waiting.fetch_sub(1, Ordering::AcqRel);
        while waiting.load(Ordering::Acquire) > 0 {
            hint::spin_loop();
        }
        let (start, cpu) = (Instant::now(), ThreadTime::now());
        for _ in 0..EMITS {
            app.emit(EVENT, black_box(&1));
        }
        (start, cpu.elapsed(), Instant::now())
    };
    let times: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let start = times.iter().map(|time| time.0).min().unwrap();
    let end = times.iter().map(|time| time.2).max().unwrap();
    let cpu = times.iter().map(|time| time.1).min().unwrap();
    let seconds = (end - start).as_secs_f64();
    Ran { seconds, had: cpu.as_secs_f64() / seconds }
}

/// Live bytes for each plugin that does nothing, without the handles to them.
fn memory(plan: &Plan) -> String {
    let count = if plan.quick { 1_000 } else { 10_000 };
    let runtime = current_thread();
    let app = app_on(&runtime);
    runtime.block_on(async {
        let mut fibers: Vec<Fiber> = Vec::with_capacity(count + 1);
        fibers.push(load_trivial(&app));
        fibers[0].until(State::Active).await;
        let before = HEAP.current_usage();
        for _ in 0..count {
            let fiber = load_trivial(&app);
            fiber.until(State::Active).await;
            fibers.push(fiber);
        }
        bytes(before, count)
    })
}

/// Live bytes left behind by one load, dispatch and unload.
fn leak(plan: &Plan) -> String {
    let count = if plan.quick { 1_000 } else { 10_000 };
    let runtime = current_thread();
    let app = app_on(&runtime);
    runtime.block_on(async {
        for _ in 0..count / 10 {
            load_and_unload(&app).await;
        }
        let before = HEAP.current_usage();
        for _ in 0..count {
            load_and_unload(&app).await;
        }
        bytes(before, count)
    })
}

fn bytes(before: usize, count: usize) -> String {
    let more = HEAP.current_usage() as f64 - before as f64;
    format!(r#""bytes":{:.1}"#, more / count as f64)
}
