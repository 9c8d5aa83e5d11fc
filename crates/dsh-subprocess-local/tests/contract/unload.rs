//! What becomes of processes when their provider is unloaded.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dsh_subprocess::{Process, SUBPROCESS, SpawnError};
use dsh_subprocess_local::Config;

use crate::fixture::{Fixture, all_gone, bash, bounded, ids, is_alive, printed, signal};

// spec: fs-shell-sandbox/F91, design/P1
#[tokio::test]
async fn whoever_holds_a_process_beyond_the_unload_gets_its_exit() {
    for fixture in Fixture::both().await {
        let process = fixture.spawn(fixture.bash("(sleep 300 & echo $!; wait) & echo $$; wait"));
        let tree = ids(&process, 2).await;
        fixture.unload().await;
        assert!(tree.iter().all(|id| !is_alive(*id)));
        assert_eq!(bounded(process.exited()).await.unwrap(), signal(15));
        assert_eq!(bounded(process.collected()).await.unwrap(), signal(15));
        process.terminate();
        process.kill();
    }
}

// spec: design/P1
#[tokio::test]
async fn what_ignores_the_request_is_killed_however_long_its_own_grace_time_is() {
    let fixture = Fixture::with(Config { unload_grace_ms: 100, ..Config::default() }).await;
    let mut spec = fixture.bash("trap '' TERM; echo $$; exec env -i sleep 300");
    spec.grace = Duration::from_secs(1_000);
    let process = fixture.spawn(spec);
    let tree = ids(&process, 1).await;
    fixture.unload().await;
    assert!(!is_alive(tree[0]));
    assert_eq!(bounded(process.exited()).await.unwrap(), signal(9));
}

// spec: design/P1
#[tokio::test]
async fn nothing_starts_once_the_provider_is_unloaded() {
    let fixture = Fixture::new().await;
    // A lease keeps the value, and not its registration.
    let lease = fixture.subprocess.get().unwrap();
    let disposed = bounded(fixture.fiber.dispose()).await;
    assert!(disposed.still_running.is_empty(), "{disposed:?}");
    let error = lease.spawn(bash("true")).unwrap_err();
    assert!(matches!(error, SpawnError::Ended { .. }), "{error:?}");
    assert_eq!(error.to_string(), "cannot start \"bash\": the subprocess service has ended");
    assert!(fixture.app.get(SUBPROCESS).is_none());
}

// spec: design/P1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_started_during_the_unload_is_refused_or_ended() {
    for _ in 0..10 {
        let fixture = Fixture::new().await;
        let is_over = Arc::new(AtomicBool::new(false));
        let starters: Vec<_> = (0..2)
            .map(|_| {
                let (subprocess, is_over) = (fixture.subprocess.clone(), Arc::clone(&is_over));
                std::thread::spawn(move || {
                    let mut started: Vec<Process> = Vec::new();
                    while !is_over.load(Ordering::Relaxed) {
                        let Ok(lease) = subprocess.get() else { continue };
                        if let Ok(process) = lease.spawn(bash("sleep 300 & wait")) {
                            started.push(process);
                        }
                    }
                    started
                })
            })
            .collect();
        tokio::time::sleep(Duration::from_millis(20)).await;
        fixture.unload().await;
        is_over.store(true, Ordering::Relaxed);
        for starter in starters {
            for process in starter.join().unwrap() {
                all_gone(&[process.id()]).await;
                bounded(process.exited()).await.unwrap();
            }
        }
    }
}

// spec: design/P1
#[tokio::test]
async fn it_can_be_loaded_again() {
    let fixture = Fixture::new().await;
    let process = fixture.spawn(fixture.bash("echo $$; sleep 300"));
    let first = ids(&process, 1).await;
    bounded(fixture.fiber.restart()).await.unwrap();
    assert!(!is_alive(first[0]));
    let subprocess = fixture.app.get(SUBPROCESS).unwrap();
    let process = subprocess.get().unwrap().spawn(bash("exit 9")).unwrap();
    assert_eq!(bounded(process.collected()).await.unwrap(), crate::fixture::code(9));
    fixture.unload().await;
}

#[test]
fn a_runtime_that_goes_takes_the_processes_with_it() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (fixture, process, tree, waiting) = runtime.block_on(async {
        let fixture = Fixture::new().await;
        let process =
            fixture.spawn(fixture.bash("trap '' TERM; (sleep 300 & echo $!; wait) & echo $$; wait"));
        let tree = ids(&process, 2).await;
        let waiting = process.exited();
        (fixture, process, tree, waiting)
    });
    drop(runtime);
    drop(fixture);
    while tree.iter().any(|id| is_alive(*id)) {
        std::thread::yield_now();
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let error = runtime.block_on(bounded(waiting)).unwrap_err();
    assert_eq!(error.to_string(), format!("cannot wait for process {}", process.id()));
    drop(process);
}

#[test]
fn nothing_starts_in_a_runtime_that_is_gone() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let fixture = runtime.block_on(async {
        let fixture = Fixture::new().await;
        assert_eq!(fixture.run("true").await.0, crate::fixture::code(0));
        fixture
    });
    drop(runtime);
    let lease = fixture.subprocess.get().unwrap();
    for collects in [false, true] {
        let mut spec = fixture.bash("sleep 300");
        if !collects {
            (spec.stdout, spec.stderr) = Default::default();
        }
        let error = lease.spawn(spec).unwrap_err();
        assert!(matches!(error, SpawnError::Start { .. }), "{error:?}");
        assert_eq!(alive_in(&fixture), [0; 0], "it was not even begun");
    }
}

// spec: design/P1, design/P6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_that_left_their_groups_are_gone_with_the_unload() {
    let fixture = Fixture::new().await;
    let script = "setsid sleep 300 & setsid bash -c 'trap \"\" TERM; sleep 300' & echo on; wait";
    let processes: Vec<Process> = (0..100).map(|_| fixture.spawn(fixture.bash(script))).collect();
    for process in &processes {
        printed(process, |text| text == "on\n").await;
    }
    fixture.unload().await;
    assert_eq!(alive_in(&fixture), [0; 0]);
}

/// The processes that run in a fixture's folder.
fn alive_in(fixture: &Fixture) -> Vec<u32> {
    let folder = fixture.folder.path();
    let processes = std::fs::read_dir("/proc").unwrap();
    processes
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|id| std::fs::read_link(format!("/proc/{id}/cwd")).is_ok_and(|cwd| cwd == folder))
        .filter(|id| is_alive(*id))
        .collect()
}

#[test]
fn a_runtime_without_io_is_refused_with_what_to_do() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let app = cordis::testing::TestApp::new();
        let fiber = app.plugin(dsh_subprocess_local::plugin(), Config::default()).unwrap();
        let error = format!("{:?}", fiber.ready().await.unwrap_err());
        assert!(error.contains("enable_all"), "{error}");
    });
}
