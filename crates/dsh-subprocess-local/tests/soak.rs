//! Many process trees at once, each ended in another way: none survives, and none is left to be reaped.
//!
//! The short form has 100 trees. The long one, of 2,000: `cargo test -p dsh-subprocess-local --release --test soak --
//! --ignored`.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cordis::Handle;
use cordis::testing::TestApp;
use dsh_subprocess::{Collect, Output, SUBPROCESS, SpawnSpec, Stream, Subprocess};
use dsh_subprocess_local::Config;
use parking_lot::Mutex;
use tokio::time::timeout;

const AT_ONCE: usize = 8;
const LIMIT: Duration = Duration::from_secs(120);

/// What the trees are; each prints a line once it stands.
const TREES: [&str; 8] = [
    "echo on; sleep 300",
    "(sleep 300 & sleep 300 & wait) & echo on; wait",
    "trap '' TERM; (sleep 300 & wait) & echo on; while :; do sleep 300; done",
    "setsid sleep 300 & (setsid bash -c 'sleep 300 & wait' &) ; echo on; wait",
    "sleep 300 > /dev/null 2>&1 & echo on",
    "echo on; yes",
    // Found by nothing but their group.
    "trap '' TERM; exec env -i bash -c 'echo on; sleep 300 & wait; sleep 300'",
    "env -i bash -c 'trap \"\" TERM; sleep 300' > /dev/null 2>&1 & echo on",
];

async fn tree(subprocess: &Handle<dyn Subprocess>, folder: &Path, number: usize) {
    let mut spec = SpawnSpec::new(["bash", "-c", TREES[number % TREES.len()]]);
    spec.cwd = Some(folder.to_owned());
    spec.grace = Duration::from_millis(20);
    spec.stdout = Output::Collected(Collect { spill_max_bytes: Some(1 << 20), ..Collect::both_ends(10_000) });
    let cancellation = spec.cancellation.clone();
    let process = subprocess.get().unwrap().spawn(spec).unwrap();
    // Some are ended before they stand.
    if !number.is_multiple_of(7) {
        let output = process.output(Stream::Stdout).unwrap();
        let stands = async {
            while output.read(0).next == 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(LIMIT, stands).await.expect("it stands");
    }
    let collected = process.collected();
    match number % 5 {
        0 => _ = process.terminate(),
        1 => process.kill(),
        2 => drop(process),
        3 => {
            let _ = timeout(Duration::from_millis(10), process.exited()).await;
            cancellation.cancel();
        }
        // Abandoned: the unload ends it.
        _ => {
            std::mem::forget(process);
            return;
        }
    }
    timeout(LIMIT, collected).await.expect("it ends").unwrap();
}

/// Runs one soak at a time: it counts what this program has.
fn alone(trees: usize) {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(soak(trees));
}

async fn soak(trees: usize) {
    let folder = tempfile::tempdir().unwrap();
    let app = TestApp::new();
    let before = descriptors();
    let fiber = app.plugin(dsh_subprocess_local::plugin(), Config::default()).unwrap();
    fiber.ready().await.unwrap();
    let subprocess = app.get(SUBPROCESS).unwrap();
    let next = Arc::new(AtomicUsize::new(0));
    let path: Arc<Path> = folder.path().into();
    let workers: Vec<_> = (0..AT_ONCE)
        .map(|_| {
            let (subprocess, next, path) = (subprocess.clone(), Arc::clone(&next), Arc::clone(&path));
            tokio::spawn(async move {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= trees {
                        break;
                    }
                    tree(&subprocess, &path, number).await;
                }
            })
        })
        .collect();
    for worker in workers {
        worker.await.unwrap();
    }
    drop(subprocess);
    let disposed = timeout(LIMIT, fiber.dispose()).await.unwrap();
    assert!(disposed.still_running.is_empty(), "{disposed:?}");
    app.assert_no_errors();
    assert_eq!(
        processes(|process| fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == *path)),
        [""; 0]
    );
    let ours = format!(" {} ", std::process::id());
    let is_child = |process: &Path| {
        let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest[1..].starts_with(&ours))
    };
    assert_eq!(processes(is_child), [""; 0]);
    let opened = descriptors() - before;
    // What the runtime keeps for all children.
    assert!(opened <= 2, "{opened}");
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

fn processes(is_meant: impl Fn(&Path) -> bool) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    let meant: Vec<PathBuf> = processes.filter(|process| is_meant(process)).collect();
    meant.iter().map(|process| fs::read_to_string(process.join("stat")).unwrap_or_default()).collect()
}

// spec: fs-shell-sandbox/F91, design/P1
#[test]
fn a_hundred_trees_leave_nothing() {
    alone(100);
}

#[test]
#[ignore = "takes a minute; see the head of this file"]
fn two_thousand_trees_leave_nothing() {
    alone(2_000);
}
