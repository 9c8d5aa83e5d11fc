//! What a process leaves behind when it has ended by itself.

use std::time::Duration;

use tokio::time::Instant;

use crate::fixture::{Fixture, bounded, code, ids, ids_in, is_alive, stdout};

// spec: cases/P2, fs-shell-sandbox/F91
#[tokio::test]
async fn a_process_is_over_when_it_ends_and_not_when_what_it_started_does() {
    for (script, printed) in [
        ("sleep 300 & echo hi", "hi\n"),
        (
            "exec > >(tee -a f.log; sleep 300) 2>&1; echo done; until [ -s f.log ]; do sleep 0.01; done",
            "done\n",
        ),
        ("exec > >(tee -a f.log) 2>&1; echo done", "done\n"),
    ] {
        let fixture = Fixture::new().await;
        let start = Instant::now();
        let process = fixture.spawn(fixture.bash(script));
        assert_eq!(bounded(process.exited()).await.unwrap(), code(0), "{script}");
        assert_eq!(bounded(process.collected()).await.unwrap(), code(0), "{script}");
        assert_eq!(stdout(&process).head, printed, "{script}");
        assert!(start.elapsed() < Duration::from_secs(30), "{script}");
        fixture.unload().await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_holds_no_stream_is_not_waited_for() {
    let fixture = Fixture::new().await;
    let process = fixture.spawn(fixture.bash("sleep 300 >/dev/null 2>&1 & echo hi"));
    // The clock stands still while a blocking task runs.
    let (sender, receiver) = std::sync::mpsc::channel::<()>();
    let stopped = tokio::task::spawn_blocking(move || receiver.recv_timeout(Duration::from_secs(60)));
    let start = Instant::now();
    assert_eq!(bounded(process.collected()).await.unwrap(), code(0));
    assert_eq!((stdout(&process).head.as_str(), start.elapsed()), ("hi\n", Duration::ZERO));
    drop(sender);
    let _ = stopped.await;
    fixture.unload().await;
}

// spec: fs-shell-sandbox/F91, design/P1
#[tokio::test]
async fn what_is_left_behind_ends_with_the_provider() {
    for fixture in Fixture::both().await {
        let script = "for i in 1 2 3; do sleep 300 >/dev/null 2>&1 & echo $!; done";
        let process = fixture.spawn(fixture.bash(script));
        assert_eq!(bounded(process.collected()).await.unwrap(), code(0));
        let left = ids(&process, 3).await;
        drop(process);
        assert!(left.iter().all(|id| is_alive(*id)));
        fixture.unload().await;
        assert!(left.iter().all(|id| !is_alive(*id)));
    }
}

// spec: design/P1
#[tokio::test]
async fn what_is_left_behind_and_ignores_the_request_is_killed_with_the_provider() {
    let config = dsh_subprocess_local::Config { unload_grace_ms: 100, ..Default::default() };
    let fixture = Fixture::with(config).await;
    let script = "(trap '' TERM; echo $BASHPID > id; exec env -i sleep 300) >/dev/null 2>&1 &
        until [ -s id ]; do sleep 0.01; done";
    assert_eq!(fixture.run(script).await.0, code(0));
    let left = ids_in(&fixture.path("id"), 1).await;
    assert!(is_alive(left[0]));
    fixture.unload().await;
    assert!(!is_alive(left[0]));
}

// spec: design/P1
#[tokio::test]
async fn what_is_left_behind_may_end_in_order() {
    let fixture = Fixture::new().await;
    let script = "(trap 'echo bye > said; exit' TERM; echo $BASHPID > id; sleep 300 & wait) >/dev/null 2>&1 &
        until [ -s id ]; do sleep 0.01; done";
    assert_eq!(fixture.run(script).await.0, code(0));
    fixture.unload().await;
    assert_eq!(std::fs::read_to_string(fixture.path("said")).unwrap(), "bye\n");
}

// spec: design/P1
#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_has_left_its_group_ends_with_the_provider_as_well() {
    let fixture = Fixture::new().await;
    let script = "setsid -f bash -c 'echo $$ > id; exec sleep 300' >/dev/null 2>&1
        until [ -s id ]; do sleep 0.01; done";
    assert_eq!(fixture.run(script).await.0, code(0));
    let left = ids_in(&fixture.path("id"), 1).await;
    assert!(is_alive(left[0]));
    fixture.unload().await;
    assert!(!is_alive(left[0]));
}
