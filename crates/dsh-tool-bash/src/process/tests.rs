mod witness;

use std::cell::RefCell;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, advance};
use tokio_util::sync::CancellationToken;

use super::{Capture, Finished, Leftovers, Limits, PIECE_BYTES, Stopped, pump, run};
use witness::{ANSWERS, Witness, bounded, stop_clock};

const LIMITS: Limits =
    Limits { timeout: Duration::from_secs(300), grace: Duration::from_millis(500), max_output_bytes: 64_000 };

async fn run_in(folder: &Path, command: &str, limits: Limits) -> Finished {
    run(command, folder, limits, |_| {}, &CancellationToken::new(), &Leftovers::default()).await.unwrap()
}

async fn run_with(command: &str, limits: Limits) -> Finished {
    let folder = tempfile::tempdir().unwrap();
    bounded(run_in(folder.path(), command, limits)).await
}

/// What is done about time once the time limit is over.
enum Grace {
    /// The clock stands still.
    Lasts,
    /// The clock goes on.
    Passes,
}

/// Runs a command whose time limit is over as soon as what it printed is `enough`. The clock must be paused.
async fn run_into_limit(
    folder: &Path,
    command: &str,
    limits: Limits,
    grace: Grace,
    enough: impl Fn(&str) -> bool,
) -> Finished {
    let clock = stop_clock();
    let (printed, is_enough) = (RefCell::new(String::new()), Notify::new());
    let live = |text: String| {
        printed.borrow_mut().push_str(&text);
        if enough(&printed.borrow()) {
            is_enough.notify_one();
        }
    };
    let time = async {
        is_enough.notified().await;
        advance(limits.timeout).await;
        match grace {
            Grace::Lasts => std::future::pending().await,
            Grace::Passes => loop {
                advance(limits.grace).await;
            },
        }
    };
    let (cancellation, leftovers) = (CancellationToken::new(), Leftovers::default());
    let finished = tokio::select! {
        finished = run(command, folder, limits, live, &cancellation, &leftovers) => finished.unwrap(),
        () = time => unreachable!("time has no end"),
    };
    drop(clock);
    finished
}

#[tokio::test]
async fn output_and_exit_code_are_kept_apart() {
    let finished = run_with("printf out; echo err >&2; exit 3", LIMITS).await;
    assert_eq!((finished.stdout.as_str(), finished.stderr.as_str()), ("out", "err\n"));
    assert_eq!((finished.status.code(), finished.stopped), (Some(3), None));
}

#[tokio::test]
async fn standard_input_is_empty() {
    assert_eq!(run_with("cat; echo done", LIMITS).await.stdout, "done\n");
}

// spec: cases/P2
#[tokio::test]
async fn a_command_is_over_when_bash_ends_and_not_when_what_it_started_does() {
    for (command, printed) in [
        ("sleep 300 & echo hi", "hi\n"),
        ("sleep 300 >/dev/null 2>&1 & echo hi", "hi\n"),
        ("exec > >(tee f; sleep 300) 2>&1; echo done; until [ -s f ]; do sleep 0.01; done", "done\n"),
    ] {
        let finished = run_with(command, LIMITS).await;
        assert_eq!((finished.stdout.as_str(), finished.stopped), (printed, None), "{command}");
        assert_eq!(finished.status.code(), Some(0), "{command}");
    }
}

#[tokio::test]
async fn what_a_command_left_behind_ends_with_the_leftovers() {
    let folder = tempfile::tempdir().unwrap();
    let (mut witness, leftovers) = (Witness::new(folder.path()), Leftovers::default());
    let command = format!("trap '' TERM; ({ANSWERS}) >/dev/null 2>&1 & echo hi");
    let finished =
        run(&command, folder.path(), LIMITS, |_| {}, &CancellationToken::new(), &leftovers).await.unwrap();
    assert_eq!(finished.stdout, "hi\n");
    assert!(witness.is_answered().await);
    leftovers.end(Duration::from_millis(100)).await;
    witness.is_alone().await;
}

// spec: cases/P1
#[tokio::test(start_paused = true)]
async fn at_the_time_limit_the_whole_group_ends_and_the_output_stays() {
    let folder = tempfile::tempdir().unwrap();
    let mut witness = Witness::new(folder.path());
    let command = "mkfifo p; (exec 9>alive; echo c; sleep 300) > p & cat p";
    let finished =
        run_into_limit(folder.path(), command, LIMITS, Grace::Lasts, |printed| printed == "c\n").await;
    assert_eq!((finished.stdout.as_str(), finished.stopped), ("c\n", Some(Stopped::TimedOut)));
    assert_eq!(finished.status.signal(), Some(15));
    let _clock = stop_clock();
    witness.is_alone().await;
}

#[tokio::test(start_paused = true)]
async fn a_group_that_ignores_the_request_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let mut witness = Witness::new(folder.path());
    let command = "trap '' TERM; exec 9>alive; echo on; while :; do sleep 300; done";
    let finished =
        run_into_limit(folder.path(), command, LIMITS, Grace::Passes, |printed| printed == "on\n").await;
    assert_eq!((finished.stdout.as_str(), finished.status.signal()), ("on\n", Some(9)));
    assert_eq!(finished.stopped, Some(Stopped::TimedOut));
    let _clock = stop_clock();
    witness.is_alone().await;
}

#[tokio::test(start_paused = true)]
async fn a_command_that_ends_in_order_when_told_to_still_timed_out() {
    let folder = tempfile::tempdir().unwrap();
    let command = "trap 'echo bye; exit 0' TERM; echo on; sleep 300 & wait";
    let finished =
        run_into_limit(folder.path(), command, LIMITS, Grace::Lasts, |printed| printed == "on\n").await;
    assert_eq!((finished.stdout.as_str(), finished.status.code()), ("on\nbye\n", Some(0)));
    assert_eq!(finished.stopped, Some(Stopped::TimedOut));
}

#[tokio::test]
async fn cancellation_ends_the_group_and_the_output_stays() {
    let folder = tempfile::tempdir().unwrap();
    let mut witness = Witness::new(folder.path());
    let (cancellation, leftovers) = (CancellationToken::new(), Leftovers::default());
    let cancel = async {
        assert!(witness.is_answered().await);
        cancellation.cancel();
    };
    let command = format!("echo part; ({ANSWERS}) & wait");
    let (finished, ()) =
        tokio::join!(run(&command, folder.path(), LIMITS, |_| {}, &cancellation, &leftovers), cancel);
    let finished = finished.unwrap();
    assert_eq!((finished.stdout.as_str(), finished.stopped), ("part\n", Some(Stopped::Cancelled)));
    witness.is_alone().await;
}

#[tokio::test]
async fn a_dropped_run_leaves_no_process() {
    let folder = tempfile::tempdir().unwrap();
    let mut witness = Witness::new(folder.path());
    let command = format!("({ANSWERS}) & wait");
    tokio::select! {
        finished = run_in(folder.path(), &command, LIMITS) => panic!("it goes on: {finished:?}"),
        answered = witness.is_answered() => assert!(answered),
    }
    witness.is_alone().await;
}

// spec: cases/P5
#[tokio::test(start_paused = true)]
async fn endless_output_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { max_output_bytes: 100, ..LIMITS };
    let finished =
        run_into_limit(folder.path(), "yes", limits, Grace::Lasts, |printed| printed.len() > 100_000).await;
    assert!(finished.stdout.starts_with("y\ny\n"));
    assert!(finished.stdout.contains("bytes dropped here"), "{}", finished.stdout);
    assert!(finished.stdout.len() < 250, "{}", finished.stdout.len());
    assert_eq!(finished.stopped, Some(Stopped::TimedOut));
}

#[tokio::test]
async fn a_stream_that_always_has_more_lets_others_have_their_turn_after_each_piece() {
    let (pieces, is_told) = (RefCell::new(Vec::new()), Notify::new());
    let live = |text: String| {
        pieces.borrow_mut().push(text.len());
        is_told.notify_one();
    };
    let mut capture = Capture::new(10);
    tokio::select! {
        biased;
        () = pump(Some(tokio::io::repeat(b'y')), &mut capture, &live) => unreachable!("it has no end"),
        () = is_told.notified() => {}
    }
    assert_eq!(*pieces.borrow(), [PIECE_BYTES]);
}

#[tokio::test]
async fn endless_output_ends_when_it_is_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let (cancellation, leftovers, is_told) = (CancellationToken::new(), Leftovers::default(), Notify::new());
    let live = |_| is_told.notify_one();
    let cancel = async {
        for _ in 0..3 {
            is_told.notified().await;
        }
        cancellation.cancel();
    };
    let run = run("yes", folder.path(), LIMITS, live, &cancellation, &leftovers);
    let (finished, ()) = bounded(async { tokio::join!(run, cancel) }).await;
    let finished = finished.unwrap();
    assert!(finished.stdout.starts_with("y\ny\n"));
    assert_eq!((finished.stopped, finished.status.signal()), (Some(Stopped::Cancelled), Some(15)));
}

#[tokio::test(start_paused = true)]
async fn a_command_that_left_nothing_behind_is_not_waited_for() {
    let (clock, start) = (stop_clock(), Instant::now());
    for command in ["echo done", "echo done; exec >&- 2>&-; sleep 0.05"] {
        let finished = run_with(command, LIMITS).await;
        assert_eq!((finished.stdout.as_str(), start.elapsed()), ("done\n", Duration::ZERO), "{command}");
    }
    drop(clock);
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_an_error() {
    let missing = std::path::Path::new("/nonexistent/folder");
    let error = run("pwd", missing, LIMITS, |_| {}, &CancellationToken::new(), &Leftovers::default())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}
