//! What is kept of the output, and what is told of it meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use dsh_shell::{ShellOutput, ShellRequest};
use dsh_shell_local::Config;

use crate::fixture::{Fixture, limited, told, until};

fn keeping(max_output_bytes: usize) -> Config {
    Config { max_output_bytes, ..Config::default() }
}

// spec: fs-shell-sandbox/F94
#[tokio::test]
async fn the_streams_are_kept_apart() {
    let fixture = Fixture::new().await;
    let result = fixture.bash("echo out; echo err >&2").await;
    assert_eq!((result.stdout.cut.head.as_str(), result.stderr.cut.head.as_str()), ("out\n", "err\n"));
    assert!(!result.stdout.cut.is_truncated() && !result.stderr.cut.is_truncated());
    assert_eq!((result.stdout.spill_path, result.stderr.spill_path), (None, None));
}

// spec: fs-shell-sandbox/F92, fs-shell-sandbox/F95
#[tokio::test]
async fn of_a_long_stream_both_ends_are_kept_and_all_of_it_is_in_a_file() {
    let fixture = Fixture::with(keeping(8)).await;
    let result = fixture.bash("printf 12345678; printf 123456789 >&2").await;
    assert_eq!(result.stdout.cut.head, "12345678");
    assert_eq!(result.stdout.spill_path, None);
    let ShellOutput { cut, spill_path } = result.stderr;
    assert_eq!((cut.head.as_str(), cut.dropped, cut.tail.as_str()), ("1234", 1, "6789"));
    assert_eq!(std::fs::read_to_string(spill_path.unwrap()).unwrap(), "123456789");
}

// spec: fs-shell-sandbox/F95
#[tokio::test]
async fn a_raised_limit_holds_for_the_output_and_not_for_the_errors() {
    let fixture = Fixture::with(keeping(8)).await;
    let request = ShellRequest {
        max_stdout_bytes: Some(100),
        ..ShellRequest::new("printf 123456789; printf 123456789 >&2")
    };
    let result = fixture.run(request).await;
    assert_eq!((result.stdout.cut.dropped, result.stderr.cut.dropped), (0, 1));
}

// spec: fs-shell-sandbox/F92
#[tokio::test]
async fn a_stream_that_is_longer_than_a_file_may_be_has_none() {
    let fixture = Fixture::with(Config { max_spill_bytes: 100, ..keeping(10) }).await;
    let result = fixture.bash("head -c 101 /dev/zero").await;
    assert_eq!((result.stdout.cut.dropped, result.stdout.spill_path), (91, None));
}

// spec: cases/P5
#[tokio::test]
async fn of_endless_output_both_ends_are_kept_and_the_rest_is_counted() {
    let config = Config { max_spill_bytes: 1 << 20, ..Config::default() };
    let fixture = Fixture::with(config).await;
    let result = fixture.run(limited("yes", Duration::from_secs(2))).await;
    assert!(result.timed_out);
    let cut = result.stdout.cut;
    assert_eq!((cut.head.len(), cut.tail.len()), (32_000, 32_000));
    assert!(cut.head.starts_with("y\ny\n") && cut.dropped > 1_000_000, "{}", cut.dropped);

    let result = fixture.bash("head -c 100M /dev/zero; echo end").await;
    let cut = result.stdout.cut;
    assert_eq!(cut.head.len() as u64 + cut.dropped + cut.tail.len() as u64, (100 << 20) + 4);
    assert!(cut.tail.ends_with("\0end\n"));
}

#[tokio::test]
async fn live_output_is_all_of_both_streams_whatever_is_kept() {
    let fixture = Fixture::with(keeping(4)).await;
    let (request, text) = told(ShellRequest::new("printf 'aé€😀'; printf '\\xf0\\x9f\\x98'"));
    let result = fixture.run(request).await;
    assert!(result.stdout.cut.is_truncated());
    assert_eq!(*text.lock(), "aé€😀\u{fffd}");

    let (request, text) = told(ShellRequest::new("echo out; echo err >&2"));
    fixture.run(request).await;
    let mut lines: Vec<String> = text.lock().lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines, ["err", "out"]);
}

#[tokio::test]
async fn live_output_comes_while_the_command_runs() {
    let fixture = Fixture::new().await;
    let (request, text) = told(ShellRequest::new("echo first; until [ -e go ]; do sleep 0.02; done"));
    let running = tokio::spawn(fixture.shell.get().unwrap().run(fixture.resolve(request)));
    until("the first line is told", || *text.lock() == "first\n").await;
    assert!(!running.is_finished());
    std::fs::write(fixture.path("go"), "").unwrap();
    assert_eq!(running.await.unwrap().unwrap().exit_code, Some(0));
}

#[tokio::test]
async fn nothing_is_told_any_more_once_the_future_is_dropped() {
    let fixture = Fixture::new().await;
    let calls = Arc::new(AtomicUsize::new(0));
    let seen = calls.clone();
    let live = Box::new(move |_: String| {
        seen.fetch_add(1, SeqCst);
    });
    let request = ShellRequest { live: Some(live), ..ShellRequest::new("yes") };
    let running = fixture.shell.get().unwrap().run(fixture.resolve(request));
    tokio::select! {
        _ = running => panic!("ended by itself"),
        () = until("it prints", || calls.load(SeqCst) > 3) => {}
    }
    let told = calls.load(SeqCst);
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(calls.load(SeqCst), told);
}
