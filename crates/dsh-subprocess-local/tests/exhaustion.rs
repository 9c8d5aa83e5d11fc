//! A host that can open no file any more. Alone in its program, whose descriptors it takes.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use cordis::testing::TestApp;
use dsh_subprocess::{Process, SUBPROCESS, SpawnError, SpawnSpec};
use dsh_subprocess_local::Config;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::time::{sleep, timeout};

const LIMIT: Duration = Duration::from_secs(60);

/// One that leaves its session, found by its mark alone.
const LEAVES: &str = "setsid bash -c 'echo $$ > leaves.tmp; mv leaves.tmp leaves; exec sleep 300' & wait";
/// One that is left behind, found by its group alone, and that ends in order.
const LEFT: &str = "exec > /dev/null 2>&1; until [ -s go ]; do sleep 0.01; done
    env -i /bin/bash -c 'trap \"echo > clean; exit\" TERM; echo $$ > left.tmp; mv left.tmp left; while :; do sleep 0.01; done' &
    until [ -s left ]; do sleep 0.01; done";

/// Takes every descriptor that there is, and each that becomes free, until it is told to stop.
struct Taker {
    stop: Arc<AtomicBool>,
    thread: thread::JoinHandle<()>,
}

impl Taker {
    fn start() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let mut taken = Vec::new();
            while !stopped.load(Ordering::Relaxed) {
                match File::open("/dev/null") {
                    Ok(file) => taken.push(file),
                    Err(_) => thread::sleep(Duration::from_micros(50)),
                }
            }
        });
        Self { stop, thread }
    }

    fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
    }
}

async fn id_in(file: &Path) -> u32 {
    let there = async {
        while !file.exists() {
            sleep(Duration::from_millis(2)).await;
        }
    };
    timeout(LIMIT, there).await.unwrap();
    fs::read_to_string(file).unwrap().trim().parse().unwrap()
}

fn is_alive(id: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

// spec: design/P1, fs-shell-sandbox/F91
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_looked_for_is_not_taken_for_gone() {
    let folder = tempfile::tempdir().unwrap();
    let app = TestApp::new();
    let fiber = app.plugin(dsh_subprocess_local::plugin(), Config::default()).unwrap();
    fiber.ready().await.unwrap();
    let subprocess = app.get(SUBPROCESS).unwrap();
    let start = |script: &str| -> Result<Process, SpawnError> {
        let mut spec = SpawnSpec::new(["bash", "-c", script]);
        spec.cwd = Some(folder.path().to_owned());
        subprocess.get().unwrap().spawn(spec)
    };
    let (leaving, leaver) = (start(LEAVES).unwrap(), start(LEFT).unwrap());
    let leaves = id_in(&folder.path().join("leaves")).await;

    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(64), ..limit }).unwrap();
    fs::write(folder.path().join("go"), "go").unwrap();
    let taker = Taker::start();
    while File::open("/dev/null").is_ok() {}
    let error = start("true").unwrap_err();
    assert!(matches!(error, SpawnError::Start { .. }), "{error:?}");
    assert_eq!(timeout(LIMIT, leaver.collected()).await.unwrap().unwrap().code, Some(0));
    leaving.kill();
    timeout(LIMIT, leaving.collected()).await.unwrap().unwrap();
    let disposed = timeout(LIMIT, fiber.dispose()).await.unwrap();
    taker.stop();
    setrlimit(Resource::Nofile, limit).unwrap();

    let left = id_in(&folder.path().join("left")).await;
    assert_eq!([leaves, left].map(is_alive), [false, false], "{disposed:?}");
    assert!(disposed.still_running.is_empty(), "{disposed:?}");
    assert!(folder.path().join("clean").exists(), "it was told to end, and not killed as what nobody knows");
}
