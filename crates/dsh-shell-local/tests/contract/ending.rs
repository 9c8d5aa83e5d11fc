//! How a command ends, and what is said about it.

use std::time::{Duration, Instant};

use dsh_shell::{ShellError, ShellRequest};
use dsh_shell_local::Config;
use dsh_subprocess::SpawnError;
use futures_util::FutureExt as _;
use tokio_util::sync::CancellationToken;

use crate::fixture::{Fixture, LIMIT, gone, limited, lives, number_in, until};

fn patient_for(grace_ms: u64) -> Config {
    Config { grace_ms, ..Config::default() }
}

// spec: fs-shell-sandbox/F94, fs-shell-sandbox/F97
#[tokio::test]
async fn a_command_that_ends_by_itself_is_neither_timed_out_nor_aborted() {
    let fixture = Fixture::new().await;
    for (command, code, signal) in [
        ("exit 3", Some(3), None),
        ("kill -9 $$", None, Some("SIGKILL")),
        ("kill -TERM $$", None, Some("SIGTERM")),
    ] {
        let result = fixture.bash(command).await;
        assert_eq!((result.exit_code, result.signal.as_deref()), (code, signal), "{command}");
        assert_eq!((result.timed_out, result.aborted), (false, false), "{command}");
        assert_eq!(result.timeout, Duration::from_secs(120));
    }
}

// spec: cases/P4, fs-shell-sandbox/F94
#[tokio::test]
async fn what_was_printed_before_the_time_limit_is_kept() {
    let fixture = Fixture::new().await;
    let result = fixture.run_out("echo CRITICAL-PROGRESS; sleep 300", "CRITICAL-PROGRESS\n").await;
    assert_eq!(result.stdout.cut.head, "CRITICAL-PROGRESS\n");
    assert_eq!((result.exit_code, result.signal.as_deref()), (None, Some("SIGTERM")));
    assert_eq!((result.timed_out, result.aborted, result.timeout), (true, false, LIMIT));
}

// spec: fs-shell-sandbox/F97
#[tokio::test]
async fn a_command_that_traps_the_time_limit_and_exits_with_0_is_timed_out_all_the_same() {
    let fixture = Fixture::with(patient_for(60_000)).await;
    let command = "trap 'echo bye; exit 0' TERM; echo started; while :; do sleep 0.05; done";
    let result = fixture.run_out(command, "started\n").await;
    assert_eq!(result.stdout.cut.head, "started\nbye\n");
    assert_eq!((result.exit_code, result.signal), (Some(0), None));
    assert!(result.timed_out);
}

// spec: fs-shell-sandbox/F97
#[tokio::test]
async fn a_command_that_has_ended_when_its_time_limit_comes_is_not_timed_out() {
    let fixture = Fixture::new().await;
    for _ in 0..5 {
        let timeout = Duration::from_millis(300);
        let request = fixture.resolve(limited("echo $$ > id; echo done", timeout));
        let mut running = fixture.shell.get().unwrap().run(request);
        assert!((&mut running).now_or_never().is_none());
        let start = Instant::now();
        // The host is too busy to notice that the command ends, and when its time is over.
        let written = || std::fs::read_to_string(fixture.path("id")).ok()?.trim().parse().ok();
        while start.elapsed() < timeout + Duration::from_millis(50) || written().is_none_or(lives) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let result = running.await.unwrap();
        assert_eq!((result.exit_code, result.timed_out), (Some(0), false));
        assert_eq!(result.stdout.cut.head, "done\n");
        std::fs::remove_file(fixture.path("id")).unwrap();
    }
}

#[tokio::test]
async fn a_command_that_does_not_end_when_it_is_told_to_is_killed_after_its_grace() {
    let fixture = Fixture::with(patient_for(100)).await;
    let result = fixture.run_out("trap '' TERM; echo deaf; while :; do sleep 0.05; done", "deaf\n").await;
    assert_eq!(result.stdout.cut.head, "deaf\n");
    assert_eq!((result.signal.as_deref(), result.timed_out), (Some("SIGKILL"), true));
}

// spec: fs-shell-sandbox/F94
#[tokio::test]
async fn a_cancelled_command_is_aborted_and_keeps_what_it_printed() {
    let fixture = Fixture::new().await;
    let request = ShellRequest::new("echo before; echo $$ > id; sleep 300");
    let cancellation = request.cancellation.clone();
    let (result, id) = tokio::join!(fixture.run(request), async {
        let id = number_in(&fixture.path("id")).await;
        cancellation.cancel();
        id
    });
    assert_eq!(result.stdout.cut.head, "before\n");
    assert_eq!(result.signal.as_deref(), Some("SIGTERM"));
    assert_eq!((result.timed_out, result.aborted), (false, true));
    gone(id).await;
}

#[tokio::test]
async fn a_command_that_is_cancelled_before_it_begins_is_not_started() {
    let fixture = Fixture::new().await;
    let cancellation = CancellationToken::new();
    cancellation.cancel();
    let request = ShellRequest { cancellation, ..ShellRequest::new("touch started") };
    let refused = fixture.try_run(request).await.unwrap_err();
    assert!(matches!(refused, ShellError::Spawn(SpawnError::Cancelled)), "{refused}");
    assert!(!fixture.path("started").exists());
}

#[tokio::test]
async fn a_command_that_nobody_waits_for_any_more_is_killed_with_all_that_it_started() {
    let fixture = Fixture::new().await;
    let command = "sleep 300 & echo $! > child; echo $$ > id; wait";
    let running = fixture.shell.get().unwrap().run(fixture.resolve(ShellRequest::new(command)));
    let ids = async { (number_in(&fixture.path("id")).await, number_in(&fixture.path("child")).await) };
    let (id, child) = tokio::select! {
        _ = running => panic!("ended by itself"),
        ids = ids => ids,
    };
    gone(id).await;
    gone(child).await;
}

// spec: cases/P1
#[tokio::test]
async fn a_pipeline_through_a_fifo_is_gone_after_the_time_limit_and_its_output_is_kept() {
    let fixture = Fixture::new().await;
    let command =
        "mkfifo p; echo $$ > id; (echo $BASHPID > child; while :; do echo c; sleep 0.1; done) > p & cat p";
    let result = fixture.run_out(command, "c\n").await;
    assert!(result.stdout.cut.head.starts_with("c\n"), "{result:?}");
    assert!(result.timed_out);
    gone(number_in(&fixture.path("id")).await).await;
    gone(number_in(&fixture.path("child")).await).await;
}

// spec: cases/P2
#[tokio::test]
async fn a_command_is_not_waited_for_longer_than_it_runs_itself() {
    let fixture = Fixture::new().await;
    let start = Instant::now();
    let result = fixture.bash("sleep 300 & echo hi").await;
    assert_eq!((result.stdout.cut.head.as_str(), result.exit_code), ("hi\n", Some(0)));
    let result = fixture.bash("exec > >(tee -a f.log) 2>&1; echo done").await;
    assert_eq!((result.stdout.cut.head.as_str(), result.exit_code), ("done\n", Some(0)));
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    until("the log is written", || {
        std::fs::read_to_string(fixture.path("f.log")).is_ok_and(|log| log == "done\n")
    })
    .await;
}
