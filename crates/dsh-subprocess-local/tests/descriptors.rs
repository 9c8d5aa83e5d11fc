//! What processes cost the host once they are over: no descriptor, no child, no task. Alone in its program, whose descriptors
//! and children it counts.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use cordis::testing::TestApp;
use dsh_subprocess::{Collect, Output, Process, SUBPROCESS, SpawnSpec, Stdin, Subprocess};
use dsh_subprocess_local::Config;

fn descriptors() -> Vec<PathBuf> {
    let mut open: Vec<PathBuf> = fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|entry| fs::read_link(entry.unwrap().path()).ok())
        .filter(|target| !target.starts_with("/proc"))
        .collect();
    open.sort();
    open
}

fn children() -> Vec<String> {
    let ours = format!(" {} ", std::process::id());
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| fs::read_to_string(entry.ok()?.path().join("stat")).ok())
        .filter(|stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest[1..].starts_with(&ours)))
        .collect()
}

fn start(subprocess: &dyn Subprocess, number: usize) -> Result<Process, dsh_subprocess::SpawnError> {
    let mut spec =
        SpawnSpec::new(["bash", "-c", ["cat; echo done", "sleep 300", "head -c 300k /dev/zero"][number % 3]]);
    let collect =
        || Output::Collected(Collect { spill_max_bytes: Some(1 << 20), ..Collect::both_ends(1_000) });
    (spec.stdout, spec.stderr) = (collect(), collect());
    match number % 4 {
        0 => spec.stdin = Stdin::Bytes(vec![b'x'; 100_000]),
        1 => (spec.stdin, spec.stdout) = (Stdin::Piped, Output::Piped),
        2 => spec.cwd = Some("/no/such/folder".into()),
        _ => {}
    }
    subprocess.spawn(spec)
}

// spec: design/P1, design/P6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_processes_leave_no_descriptor_and_no_child() {
    let app = TestApp::new();
    // What the runtime opens for the first process stays with it.
    let own = tokio::process::Command::new("true").spawn().unwrap().wait().await.unwrap();
    assert!(own.success());
    let (before, children_before) = (descriptors(), children());
    for own_session in [false, true] {
        let config = Config { own_session: Some(own_session), ..Config::default() };
        let fiber = app.plugin(dsh_subprocess_local::plugin(), config).unwrap();
        fiber.ready().await.unwrap();
        let subprocess = app.get(SUBPROCESS).unwrap();
        for number in 0..200 {
            let Ok(process) = start(&*subprocess.get().unwrap(), number) else { continue };
            match number % 5 {
                0 => _ = process.terminate(),
                1 => drop(process.exited()),
                2 => process.kill(),
                3 => continue,
                _ => {}
            }
            if number % 3 != 1 && number % 4 != 1 || number % 5 == 0 || number % 5 == 2 {
                tokio::time::timeout(Duration::from_secs(60), process.collected()).await.unwrap().unwrap();
            }
        }
        let disposed = fiber.dispose().await;
        assert!(disposed.still_running.is_empty(), "{disposed:?}");
        assert_eq!((descriptors(), children()), (before.clone(), children_before.clone()));
    }
    app.assert_no_errors();
}
