//! A host that dies in whatever way takes all with it that its processes have started. The host is this test program, started
//! anew as the test `host`.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use cordis::testing::TestApp;
use dsh_subprocess::{Collect, Output, Process, SUBPROCESS, SpawnSpec};
use dsh_subprocess_local::Config;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// The variable that says what the host does; without it the test `host` does nothing.
const DOES: &str = "TEST_HOST_DOES";
/// How soon after its host everything must be gone, on a machine that is so busy that a shell hardly gets to run.
const SOON: Duration = Duration::from_secs(30);

/// Trees of several kinds: a group of three that ignores to be told, one left behind, one that has left its group, and two that
/// can only be found by their group, with their leader and without. All append their ids to the file `ids`.
const TREES: [&str; 5] = [
    "trap '' TERM HUP; (sleep 300 & echo $! >> ids; echo $BASHPID >> ids; wait) & echo $$ >> ids; wait",
    "sleep 300 > /dev/null 2>&1 & echo $! >> ids; exit 0",
    "setsid bash -c 'echo $$ >> ids; sleep 300 & echo $! >> ids; wait' & echo $$ >> ids; wait",
    "env -i sleep 300 & echo $! >> ids; echo $$ >> ids; wait",
    "env -i sleep 300 > /dev/null 2>&1 & echo $! >> ids; exit 0",
];
/// How many processes they are.
const IN_TREES: usize = 3 + 1 + 3 + 2 + 1;

/// What this program does when it is the host.
#[test]
#[ignore = "run by the other tests as a program of its own"]
fn host() {
    let Ok(does) = std::env::var(DOES) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let app = TestApp::new();
        let config = Config { spill_root: Some(".".into()), ..Config::default() };
        app.plugin(dsh_subprocess_local::plugin(), config).unwrap().ready().await.unwrap();
        let subprocess = app.get(SUBPROCESS).unwrap();
        let start = |script: &str| subprocess.get().unwrap().spawn(SpawnSpec::new(["bash", "-c", script]));
        assert!(start("exit 5").unwrap().exited().await.is_ok_and(|exit| exit.code == Some(5)));
        let mut held: Vec<Process> = Vec::new();
        if does == "loop" {
            loop {
                // Of the last one nothing can be found if the host is killed before it has told of it.
                held.extend(TREES[..4].iter().map(|script| start(script).unwrap()));
                told("started");
                held.drain(..held.len().saturating_sub(12));
                tokio::task::yield_now().await;
            }
        }
        held.extend(TREES.iter().map(|script| start(script).unwrap()));
        while lines(Path::new("ids")).len() < IN_TREES {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let mut long = SpawnSpec::new(["bash", "-c", "head -c 1000000 /dev/zero; sleep 300"]);
        long.stdout = Output::Collected(Collect { spill_max_bytes: Some(1 << 30), ..Collect::both_ends(10) });
        held.push(subprocess.get().unwrap().spawn(long).unwrap());
        while spill_folders(Path::new(".")) == 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let first = watchdog().unwrap();
        match does.as_str() {
            "rewatch" => {
                kill_process(first, Signal::KILL).unwrap();
                while watchdog().is_none_or(|second| second == first) {
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
            }
            "stop" => {
                kill_process(first, Signal::STOP).unwrap();
                // Whether it was stopped in between cannot be seen for sure; it goes on for good.
                let mut goes_on = 0;
                while goes_on < 50 {
                    tokio::time::sleep(Duration::from_millis(2)).await;
                    goes_on = if is_stopped(first) { 0 } else { goes_on + 1 };
                }
            }
            _ => {}
        }
        told("started");
        match does.as_str() {
            "wait" | "rewatch" | "stop" => std::future::pending().await,
            "exit" => std::process::exit(1),
            "abort" => std::process::abort(),
            "panic" => panic!("as it should"),
            other => panic!("the host cannot {other}"),
        }
    });
}

/// The watchdog of this host, if it runs.
fn watchdog() -> Option<Pid> {
    let ours = format!(" {} ", std::process::id());
    let is_watchdog = |process: &Path| {
        let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
        let command = fs::read(process.join("cmdline")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest[1..].starts_with(&ours) && !rest.starts_with('Z'))
            && String::from_utf8_lossy(&command).contains("dsh-watchdog")
    };
    let mut processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    let watchdog = processes.find(|process| is_watchdog(process))?;
    Pid::from_raw(watchdog.file_name().unwrap().to_str().unwrap().parse().unwrap())
}

fn is_stopped(process: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    stat.rsplit_once(") ").unwrap().1.starts_with('T')
}

/// Tells the test. Standard output is the test harness's.
fn told(what: &str) {
    eprintln!("{what}");
}

fn lines(file: &Path) -> Vec<u32> {
    // The last line may be on its way.
    let text = fs::read_to_string(file).unwrap_or_default();
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole.lines().map(|line| line.parse().unwrap()).collect()
}

/// A host and where it runs.
struct Host {
    child: Child,
    folder: TempDir,
}

impl Host {
    /// Starts a host, and waits until it has started the trees.
    fn start(does: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // The host finds SIGCHLD ignored, as some that start it leave it.
        let mut command = Command::new("bash");
        command.args(["-c", "trap '' CHLD; exec \"$0\" \"$@\""]).arg(std::env::current_exe().unwrap());
        command.args(["--exact", "host", "--ignored", "--nocapture"]).env(DOES, does);
        command.current_dir(folder.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while line != "started\n" {
            line.clear();
            assert_ne!(errors.read_line(&mut line).unwrap(), 0, "the host has ended early");
        }
        // It may go on to talk.
        thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
        Self { child, folder }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for its end and checks that nothing outlives it.
    fn ends(mut self) {
        self.child.wait().unwrap();
        let start = Instant::now();
        let mark = self.folder.path().to_owned();
        // By where they run: also those whose ids were not written down.
        while let Some(alive) = processes_in(&mark) {
            assert!(start.elapsed() < SOON, "they live on: {alive:?}");
            thread::sleep(Duration::from_millis(5));
        }
        // Last of all go the files.
        while spill_folders(&mark) > 0 {
            assert!(start.elapsed() < SOON, "the folder of long output is left");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// How many folders of long output there are.
fn spill_folders(folder: &Path) -> usize {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_str().unwrap().starts_with("dsh-subprocess-")).count()
}

/// The processes that run in a folder, if there are any.
fn processes_in(folder: &Path) -> Option<Vec<String>> {
    let alive: Vec<String> = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| {
            let process = entry.ok()?.path();
            let cwd = fs::read_link(process.join("cwd")).ok()?;
            let command = fs::read(process.join("cmdline")).ok()?;
            (cwd == folder).then(|| String::from_utf8_lossy(&command).into_owned())
        })
        .collect();
    (!alive.is_empty()).then_some(alive)
}

// spec: fs-shell-sandbox/F91
#[test]
fn a_host_that_is_killed_leaves_nothing() {
    let host = Host::start("wait");
    let ids = lines(&host.folder.path().join("ids"));
    assert!(ids.len() >= IN_TREES && processes_in(host.folder.path()).is_some());
    host.signal(Signal::KILL);
    host.ends();
}

// spec: fs-shell-sandbox/F91
#[test]
fn a_host_that_a_signal_ends_leaves_nothing() {
    for signal in [Signal::TERM, Signal::USR1, Signal::ABORT] {
        let host = Host::start("wait");
        host.signal(signal);
        host.ends();
    }
}

// spec: fs-shell-sandbox/F91
#[test]
fn a_host_that_leaves_by_itself_leaves_nothing() {
    for does in ["exit", "abort", "panic"] {
        Host::start(does).ends();
    }
}

#[test]
fn a_host_whose_watchdog_was_killed_or_stopped_before_leaves_nothing() {
    for does in ["rewatch", "stop"] {
        let host = Host::start(does);
        host.signal(Signal::KILL);
        host.ends();
    }
}

// spec: fs-shell-sandbox/F91
#[test]
fn a_host_that_is_killed_while_it_starts_processes_leaves_nothing() {
    for round in 0..50_u64 {
        let host = Host::start("loop");
        // Not random, so that a failure comes again, and spread over the time that several starts take.
        thread::sleep(Duration::from_micros(round * 7_919 % 12_000));
        host.signal(Signal::KILL);
        host.ends();
    }
}
