use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::{Finished, Leftovers, Limits, Stopped, run};

const LIMITS: Limits =
    Limits { timeout: Duration::from_secs(20), grace: Duration::from_millis(500), max_output_bytes: 64_000 };

async fn run_with(command: &str, limits: Limits) -> Finished {
    let folder = tempfile::tempdir().unwrap();
    run(command, folder.path(), limits, &CancellationToken::new(), &Leftovers::default()).await.unwrap()
}

/// A loop that goes on until it is killed and lets that be seen in the file `beat`.
const BEAT: &str = "while :; do echo x >> beat; sleep 0.01; done";

/// Whether something still writes the file `beat`; waits for the first beat, so that nothing is seen too early.
async fn is_beating(folder: &Path) -> bool {
    let size = || std::fs::metadata(folder.join("beat")).map_or(0, |file| file.len());
    while size() == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    let before = size();
    tokio::time::sleep(Duration::from_millis(300)).await;
    size() > before
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
    let start = Instant::now();
    assert_eq!(run_with("sleep 300 & echo hi", LIMITS).await.stdout, "hi\n");
    assert_eq!(run_with("sleep 300 >/dev/null 2>&1 & echo hi", LIMITS).await.stdout, "hi\n");
    assert_eq!(run_with("exec > >(tee -a f.log) 2>&1; echo done", LIMITS).await.stdout, "done\n");
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

#[tokio::test]
async fn what_a_command_left_behind_ends_with_the_leftovers() {
    let folder = tempfile::tempdir().unwrap();
    let leftovers = Leftovers::default();
    let command = format!("trap '' TERM; ({BEAT}) >/dev/null 2>&1 & echo hi");
    let finished = run(&command, folder.path(), LIMITS, &CancellationToken::new(), &leftovers).await.unwrap();
    assert_eq!(finished.stdout, "hi\n");
    assert!(is_beating(folder.path()).await);
    leftovers.end(Duration::from_millis(100)).await;
    assert!(!is_beating(folder.path()).await);
}

// spec: cases/P1
#[tokio::test]
async fn at_the_time_limit_the_whole_group_ends_and_the_output_stays() {
    let folder = tempfile::tempdir().unwrap();
    let start = Instant::now();
    let command = format!("mkfifo p; (echo c; {BEAT}) > p & cat p");
    let limits = Limits { timeout: Duration::from_secs(1), ..LIMITS };
    let finished =
        run(&command, folder.path(), limits, &CancellationToken::new(), &Leftovers::default()).await;
    let finished = finished.unwrap();
    assert_eq!((finished.stdout.as_str(), finished.stopped), ("c\n", Some(Stopped::TimedOut)));
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
    assert!(!is_beating(folder.path()).await);
}

#[tokio::test]
async fn a_group_that_ignores_the_request_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let command = format!("trap '' TERM; echo on; {BEAT}");
    let limits = Limits { timeout: Duration::from_secs(1), ..LIMITS };
    let finished =
        run(&command, folder.path(), limits, &CancellationToken::new(), &Leftovers::default()).await;
    let finished = finished.unwrap();
    assert_eq!((finished.stdout.as_str(), finished.status.signal()), ("on\n", Some(9)));
    assert!(!is_beating(folder.path()).await);
}

#[tokio::test]
async fn a_command_that_ends_in_order_when_told_to_still_timed_out() {
    let command = "trap 'echo bye; exit 0' TERM; sleep 5 & wait";
    let finished = run_with(command, Limits { timeout: Duration::from_secs(1), ..LIMITS }).await;
    assert_eq!((finished.stdout.as_str(), finished.status.code()), ("bye\n", Some(0)));
    assert_eq!(finished.stopped, Some(Stopped::TimedOut));
}

#[tokio::test]
async fn cancellation_ends_the_group_and_the_output_stays() {
    let folder = tempfile::tempdir().unwrap();
    let (cancellation, leftovers) = (CancellationToken::new(), Leftovers::default());
    let cancel = async {
        is_beating(folder.path()).await;
        cancellation.cancel();
    };
    let command = format!("echo part; ({BEAT}) & wait");
    let (finished, ()) =
        tokio::join!(run(&command, folder.path(), LIMITS, &cancellation, &leftovers), cancel);
    let finished = finished.unwrap();
    assert_eq!((finished.stdout.as_str(), finished.stopped), ("part\n", Some(Stopped::Cancelled)));
    assert!(!is_beating(folder.path()).await);
}

#[tokio::test]
async fn a_dropped_run_leaves_no_process() {
    let folder = tempfile::tempdir().unwrap();
    let (cancellation, leftovers) = (CancellationToken::new(), Leftovers::default());
    let command = format!("({BEAT}) & wait");
    let run = run(&command, folder.path(), LIMITS, &cancellation, &leftovers);
    assert!(tokio::time::timeout(Duration::from_millis(500), run).await.is_err());
    assert!(!is_beating(folder.path()).await);
}

// spec: cases/P5
#[tokio::test]
async fn endless_output_is_bounded() {
    let limits = Limits { timeout: Duration::from_millis(500), max_output_bytes: 100, ..LIMITS };
    let finished = run_with("yes", limits).await;
    assert!(finished.stdout.starts_with("y\ny\n"));
    assert!(finished.stdout.contains("bytes dropped here"), "{}", finished.stdout);
    assert!(finished.stdout.len() < 250, "{}", finished.stdout.len());
    assert_eq!(finished.stopped, Some(Stopped::TimedOut));
}

#[tokio::test]
async fn a_command_that_left_nothing_behind_is_not_waited_for() {
    let start = Instant::now();
    run_with("true", LIMITS).await;
    assert!(start.elapsed() < super::DRAIN, "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_an_error() {
    let missing = std::path::Path::new("/nonexistent/folder");
    let error =
        run("pwd", missing, LIMITS, &CancellationToken::new(), &Leftovers::default()).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}
