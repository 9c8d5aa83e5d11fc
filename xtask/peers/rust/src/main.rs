//! Benchmarks of two peer plugin hosts. Prints one JSON object per line; see ../README.md.
//!
//! Every work runs in a process of its own: what one leaves behind (heap, threads, a broken
//! stack) cannot touch the next, and one that aborts or hangs is reported and left behind.

mod cordis_rs;
mod spatio;

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// One peer: its label, the works it can express, and how to run one of them.
struct Peer {
    name: &'static str,
    works: &'static [&'static str],
    run: fn(&str, &Plan) -> Outcome,
}

const PEERS: [Peer; 2] = [cordis_rs::PEER, spatio::PEER];

/// What one cycle of the chain may take, and what any other work may take in all.
const CHAIN_LIMIT: Duration = Duration::from_secs(20);
const CHAIN_SETUP_LIMIT: Duration = Duration::from_secs(60);
const WORK_LIMIT: Duration = Duration::from_secs(120);
const QUICK_WORK_LIMIT: Duration = Duration::from_secs(10);

// ---------------------------------------------------------------- measuring

/// How much is measured.
pub struct Plan {
    quick: bool,
}

/// Median, (p90 - p10) / median, and the number of samples.
pub struct Stat {
    pub median: f64,
    pub spread: f64,
    pub samples: usize,
}

/// The result of one work.
pub enum Outcome {
    Ns(Stat),
    /// `Ns`, and a second figure of the same work under a name of its own.
    NsWith(Stat, &'static str, f64),
    Ratio(Stat),
    Bytes(f64),
    Chain {
        total: Stat,
        up: f64,
        down: f64,
        back: f64,
    },
}

impl Plan {
    pub fn samples(&self) -> usize {
        if self.quick { 15 } else { 31 }
    }

    fn sample_time(&self) -> Duration {
        Duration::from_millis(if self.quick { 3 } else { 20 })
    }

    pub fn time_box(&self) -> Duration {
        Duration::from_millis(if self.quick { 1_500 } else { 10_000 })
    }

    /// Plugins held by the `memory` work, and cycles of the `leak` work.
    pub fn population(&self) -> usize {
        if self.quick { 1_000 } else { 10_000 }
    }

    /// Nanoseconds of one operation. `run(n)` does it `n` times and returns the time taken;
    /// `per` is the number of items one operation deals with.
    pub fn ns(&self, per: usize, mut run: impl FnMut(u64) -> Duration) -> Stat {
        let start = Instant::now();
        let mut iters = 1u64;
        // Warm up, and find how many operations fill one sample.
        loop {
            let took = run(iters);
            if took >= self.sample_time() || start.elapsed() > self.time_box() / 3 {
                break;
            }
            let grow = self.sample_time().as_secs_f64() / took.as_secs_f64().max(1e-9);
            iters = (iters as f64 * grow.clamp(1.5, 10.0)).ceil() as u64;
        }
        let mut samples = Vec::new();
        while samples.len() < self.samples() && (samples.is_empty() || start.elapsed() < self.time_box()) {
            samples.push(run(iters).as_nanos() as f64 / (iters as f64 * per as f64));
        }
        stat(samples)
    }

    /// Throughput of two threads over that of one, `run(threads)` being the time in which
    /// each thread does the same fixed number of operations.
    pub fn ratio(&self, mut run: impl FnMut(usize) -> Duration) -> Stat {
        run(1);
        run(2);
        let start = Instant::now();
        let mut samples = Vec::new();
        while samples.len() < self.samples() && (samples.is_empty() || start.elapsed() < self.time_box()) {
            let one = run(1).as_secs_f64();
            samples.push(2.0 * one / run(2).as_secs_f64());
        }
        stat(samples)
    }

    /// Runs the three timed steps of a chain, and an untimed last one that takes it down again.
    /// The lines it prints let the parent tell a slow chain from a slow set-up.
    pub fn chain(&self, mut up: impl FnMut() -> Duration, mut down: impl FnMut() -> Duration) -> Outcome {
        println!("#ready");
        let start = Instant::now();
        let (mut ups, mut downs, mut backs, mut totals) = (vec![], vec![], vec![], vec![]);
        while totals.len() < self.samples() && (totals.is_empty() || start.elapsed() < self.time_box()) {
            let step = |name: &str, run: &mut dyn FnMut() -> Duration, into: &mut Vec<f64>| {
                let ns = run().as_nanos() as f64;
                if into.is_empty() {
                    println!("#{name} {ns:.0}");
                }
                into.push(ns);
                ns
            };
            let total = step("up", &mut up, &mut ups)
                + step("down", &mut down, &mut downs)
                + step("back", &mut up, &mut backs);
            totals.push(total);
            down();
            println!("#cycle");
        }
        Outcome::Chain {
            total: stat(totals),
            up: stat(ups).median,
            down: stat(downs).median,
            back: stat(backs).median,
        }
    }
}

fn stat(mut samples: Vec<f64>) -> Stat {
    samples.sort_by(f64::total_cmp);
    let at = |q: f64| samples[((samples.len() - 1) as f64 * q).round() as usize];
    let median = at(0.5);
    Stat { median, spread: (at(0.9) - at(0.1)) / median, samples: samples.len() }
}

/// Times one closure.
pub fn time(run: impl FnOnce()) -> Duration {
    let start = Instant::now();
    run();
    start.elapsed()
}

/// The N of `load/N`.
pub fn size(work: &str) -> usize {
    work.rsplit('/').next().and_then(|n| n.parse().ok()).expect("a work with a size")
}

// ---------------------------------------------------------------- the heap

/// Counts live bytes, but only in the processes that ask for it: shared counters would
/// otherwise show up in the timings, and most of all in those of two threads.
struct Counting;

static COUNTING: AtomicBool = AtomicBool::new(false);
static LIVE: AtomicIsize = AtomicIsize::new(0);

fn count(bytes: isize) {
    if COUNTING.load(Ordering::Relaxed) {
        LIVE.fetch_add(bytes, Ordering::Relaxed);
    }
}

// SAFETY: every call is passed on unchanged to the system allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size as isize - layout.size() as isize);
        unsafe { System.realloc(ptr, layout, new_size) }
    }
}

#[global_allocator]
static HEAP: Counting = Counting;

/// Live bytes now, relative to any earlier call.
pub fn live() -> isize {
    LIVE.load(Ordering::Relaxed)
}

// ---------------------------------------------------------------- one work, in this process

fn child(peer: &Peer, work: &str, plan: &Plan) {
    COUNTING.store(matches!(work, "memory" | "leak"), Ordering::Relaxed);
    let outcome = (peer.run)(work, plan);
    let mut line = format!("{{\"peer\":{},\"work\":{}", quote(peer.name), quote(work));
    let mut field = |name: &str, value: f64| {
        let _ = write!(line, ",\"{name}\":{}", round(value));
    };
    match outcome {
        Outcome::Ns(s) => {
            field("ns", s.median);
            field("spread", s.spread);
            field("samples", s.samples as f64);
        }
        Outcome::NsWith(s, name, value) => {
            field("ns", s.median);
            field("spread", s.spread);
            field("samples", s.samples as f64);
            field(name, value);
        }
        Outcome::Ratio(s) => {
            field("ratio", s.median);
            field("spread", s.spread);
            field("samples", s.samples as f64);
        }
        Outcome::Bytes(bytes) => field("bytes", bytes),
        Outcome::Chain { total, up, down, back } => {
            field("ns", total.median);
            field("spread", total.spread);
            field("samples", total.samples as f64);
            field("up", up);
            field("down", down);
            field("back", back);
        }
    }
    println!("{line}}}");
}

fn round(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => out.push(' '),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

// ---------------------------------------------------------------- all works, each in a child

fn supervise(peer: &Peer, work: &str, plan: &Plan) {
    let is_chain = work.starts_with("chain/");
    let limit = match (is_chain, plan.quick) {
        (true, _) => CHAIN_SETUP_LIMIT,
        (_, true) => QUICK_WORK_LIMIT,
        _ => WORK_LIMIT,
    };
    let mut steps = String::new();
    let mut last_step = "set-up".to_owned();
    let error = match run_child(peer, work, plan, limit, &mut steps, &mut last_step) {
        Ok(line) => {
            println!("{line}");
            return;
        }
        Err(error) => error,
    };
    let error = if is_chain { format!("{last_step}: {error}") } else { error };
    println!("{{\"peer\":{},\"work\":{},\"error\":{}{steps}}}", quote(peer.name), quote(work), quote(&error));
}

fn run_child(
    peer: &Peer,
    work: &str,
    plan: &Plan,
    limit: Duration,
    steps: &mut String,
    last_step: &mut String,
) -> Result<String, String> {
    let exe = std::env::current_exe().map_err(|e| e.to_string())?;
    let mut command = Command::new(exe);
    command.args(["--peer", peer.name, "--child", work]);
    if plan.quick {
        command.arg("--quick");
    }
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(|e| e.to_string())?;

    let (send, lines) = mpsc::channel();
    let stdout = child.stdout.take().expect("piped");
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                break;
            }
        }
    });
    let mut stderr = child.stderr.take().expect("piped");
    let complaint = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = stderr.read_to_string(&mut text);
        text
    });

    let mut deadline = Instant::now() + limit;
    let mut allowed = limit;
    let mut result = None;
    let timed_out = loop {
        match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(line) if line.starts_with('{') => result = Some(line),
            Ok(line) => {
                let mut words = line.trim_start_matches('#').split(' ');
                match (words.next(), words.next()) {
                    (Some("ready"), _) => *last_step = "up".to_owned(),
                    (Some("cycle"), _) => {}
                    (Some(step), Some(ns)) => {
                        let _ = write!(steps, ",\"{step}\":{ns}");
                        *last_step = match step {
                            "up" => "down",
                            "down" => "back",
                            _ => "later cycle",
                        }
                        .to_owned();
                        continue;
                    }
                    _ => continue,
                }
                allowed = CHAIN_LIMIT;
                deadline = Instant::now() + allowed;
            }
            Err(RecvTimeoutError::Timeout) => break true,
            Err(RecvTimeoutError::Disconnected) => break false,
        }
    };
    if timed_out {
        let _ = child.kill();
    }
    let status = child.wait().map_err(|e| e.to_string())?;
    let complaint = complaint.join().unwrap_or_default();
    match result {
        _ if timed_out => Err(format!("took more than {} s", allowed.as_secs())),
        Some(line) if status.success() => Ok(line),
        _ => Err(reason(&complaint).unwrap_or_else(|| status.to_string())),
    }
}

/// The line of a dying process that says why.
fn reason(complaint: &str) -> Option<String> {
    let mut lines = complaint.lines();
    while let Some(line) = lines.next() {
        if line.contains("overflowed its stack") {
            return Some("stack overflow".to_owned());
        }
        if line.contains("panicked at") {
            return lines.next().map(str::to_owned);
        }
    }
    complaint.lines().rfind(|line| !line.trim().is_empty()).map(str::to_owned)
}

fn main() -> ExitCode {
    let (mut quick, mut only_peer, mut only_work, mut as_child) = (false, None, None, None);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--quick" => quick = true,
            "--peer" => only_peer = args.next(),
            "--work" => only_work = args.next(),
            "--child" => as_child = args.next(),
            _ => {
                eprintln!("usage: peers [--quick] [--peer NAME] [--work NAME]");
                return ExitCode::FAILURE;
            }
        }
    }
    let plan = Plan { quick };
    let mut ran = false;
    for peer in &PEERS {
        // `--peer cordis-rs` is enough; the version may be left out.
        if only_peer.as_deref().is_some_and(|name| !peer.name.starts_with(name)) {
            continue;
        }
        if let Some(work) = &as_child {
            child(peer, work, &plan);
            return ExitCode::SUCCESS;
        }
        for work in peer.works {
            let work = match *work {
                "chain/10000" if quick => "chain/1000",
                "load/10000" | "swap/4000" if quick => continue,
                work => work,
            };
            if only_work.as_deref().is_none_or(|name| name == work) {
                supervise(peer, work, &plan);
                ran = true;
            }
        }
    }
    if !ran {
        eprintln!("no such peer or work");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
