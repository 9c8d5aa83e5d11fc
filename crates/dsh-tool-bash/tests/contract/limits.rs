//! Limits of time and of output.

use std::sync::Arc;
use std::time::Duration;

use cordis::Next;
use dsh_tools::{EXECUTE, ErrorInfo, Failure, OUTPUT, ToolCall, ToolOutcome, ToolOutput};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::{advance, resume};

use crate::fixture::{Below, Fixture, execute, request};
use crate::witness::stop_clock;

fn shell(change: impl FnOnce(&mut dsh_shell_local::Config)) -> Below {
    let mut below = Below::default();
    change(&mut below.shell);
    below
}

/// How long the commands here may run.
const LIMIT: Duration = Duration::from_millis(400);

/// Runs a command whose time limit is over as soon as it has printed `enough`. Until then the clock stands still.
async fn run_into_limit(below: Below, command: &str, enough: fn(&str) -> bool) -> ToolOutcome {
    let clock = stop_clock();
    let fixture = Fixture::on(below, |config| config).await;
    let (printed, is_enough) = (Mutex::new(String::new()), Arc::new(Notify::new()));
    let heard = Arc::clone(&is_enough);
    let told = move |output: &ToolOutput| {
        let mut printed = printed.lock();
        printed.push_str(output.text());
        if enough(&printed) {
            heard.notify_one();
        }
    };
    fixture.app.on(OUTPUT).run(told).unwrap();
    let call = json!({ "command": command, "description": "x", "timeoutMs": LIMIT.as_millis() as u64 });
    let time = async {
        is_enough.notified().await;
        advance(LIMIT).await;
        resume();
        std::future::pending::<()>().await;
    };
    let outcome = tokio::select! {
        outcome = execute(&fixture.app, request(&call)) => outcome,
        () = time => unreachable!("time has no end"),
    };
    drop(clock);
    outcome
}

// spec: cases/P4, fs-shell-sandbox/F97, fs-shell-sandbox/F102
#[tokio::test]
async fn at_the_time_limit_of_the_call_the_output_stays() {
    for (command, enough, text) in [
        (
            "echo CRITICAL-PROGRESS; sleep 300",
            (|printed| printed == "CRITICAL-PROGRESS\n") as fn(&str) -> bool,
            "CRITICAL-PROGRESS\n[timed out after 400ms]\n[killed by signal: SIGTERM]",
        ),
        (
            "trap 'echo trapped; exit 0' TERM; echo on; sleep 300 & wait",
            |printed| printed == "on\n",
            "on\ntrapped\n[timed out after 400ms]",
        ),
        (
            "trap '' TERM; echo deaf; while :; do sleep 300; done",
            |printed| printed == "deaf\n",
            "deaf\n[timed out after 400ms]\n[killed by signal: SIGKILL]",
        ),
    ] {
        tokio::time::pause();
        let below = shell(|config| config.grace_ms = if command.contains("deaf") { 300 } else { 60_000 });
        let outcome = run_into_limit(below, command, enough).await;
        assert_eq!((outcome.text().as_str(), outcome.is_error()), (text, false), "{command}");
        assert_eq!(outcome.value().unwrap()["timedOut"], true);
    }
}

const DEADLINE: ErrorInfo = ErrorInfo::fixed("ToolTimeoutError", "TOOL_TIMEOUT");

/// Cancels a call below its caller's token, as a deadline does, once the body has printed.
async fn end_once_printed(
    printed: &Arc<Notify>,
    call: &mut ToolCall,
    next: Next<'_, ToolCall, ToolOutcome>,
) -> ToolOutcome {
    let (mut limited, limit) = call.limited();
    let below = next.run(&mut limited);
    tokio::pin!(below);
    tokio::select! {
        outcome = &mut below => return outcome,
        () = printed.notified() => limit.cancel(),
    }
    below.await.into_failure(Failure::new("tool call timed out").coded(DEADLINE))
}

// spec: cases/P4
#[tokio::test]
async fn at_the_deadline_of_a_policy_the_output_stays() {
    let fixture = Fixture::new().await;
    let printed = Arc::new(Notify::new());
    let heard = Arc::clone(&printed);
    fixture.app.on(OUTPUT).run(move |_: &ToolOutput| heard.notify_one()).unwrap();
    fixture.app.on(EXECUTE).with(printed).run(end_once_printed).unwrap();
    let outcome = fixture.run("echo CRITICAL-PROGRESS; sleep 300").await;
    assert_eq!(
        (outcome.text().as_str(), outcome.code()),
        ("CRITICAL-PROGRESS\nError: tool call timed out", Some("TOOL_TIMEOUT"))
    );
}

#[tokio::test]
async fn no_call_can_run_longer_than_the_shell_allows() {
    let fixture = Fixture::on(shell(|config| config.max_timeout_ms = 300), |config| config).await;
    for timeout in [json!(60_000), json!(1e300), Value::Null] {
        let mut call = json!({ "command": "sleep 300", "description": "x" });
        if !timeout.is_null() {
            call["timeoutMs"] = timeout;
        }
        assert!(fixture.call(call).await.text().contains("[timed out after 300ms]"));
    }
}

// spec: cases/P5, fs-shell-sandbox/F102
#[tokio::test]
async fn long_output_loses_its_middle_and_says_how_much_and_where_it_is() {
    let fixture = Fixture::on(shell(|config| config.max_output_bytes = 20), |config| config).await;
    let outcome = fixture.run("seq 1 100; exit 7").await;
    let text = outcome.text();
    let expected =
        "1\n2\n3\n4\n5\n[272 bytes left out here]\n98\n99\n100\n\n[output truncated; full output: ";
    let rest = text.strip_prefix(expected).unwrap_or_else(|| panic!("{text}"));
    let path = rest.strip_suffix("]\n[exit code: 7]").unwrap();
    let whole: String = (1..=100).map(|n| format!("{n}\n")).collect();
    assert_eq!(std::fs::read_to_string(path).unwrap(), whole);

    let outcome = fixture.run("seq 1 100 >&2").await;
    assert!(
        outcome.text().starts_with("[stderr]\n1\n2\n3\n4\n5\n[272 bytes left out here]\n98\n"),
        "{}",
        outcome.text()
    );
}

// spec: cases/P5
#[tokio::test]
async fn of_what_no_file_can_hold_there_is_none() {
    let change = |config: &mut dsh_shell_local::Config| {
        (config.max_output_bytes, config.max_spill_bytes) = (20, 1_000);
    };
    let fixture = Fixture::on(shell(change), |config| config).await;
    let text = fixture.run("head -c 1000001 /dev/zero | tr '\\0' x").await.text();
    let expected = format!(
        "{0}\n[999981 bytes left out here]\n{0}\n[output truncated; full output: (unavailable)]",
        "x".repeat(10)
    );
    assert_eq!(text, expected);
}

// spec: cases/P5
#[tokio::test(start_paused = true)]
async fn endless_output_ends_at_the_time_limit_with_both_ends_kept() {
    let change = |config: &mut dsh_shell_local::Config| {
        (config.max_output_bytes, config.max_spill_bytes) = (100, 1_000);
    };
    let outcome = run_into_limit(shell(change), "yes", |printed| printed.len() > 100_000).await;
    let text = outcome.text();
    assert!(text.starts_with("y\ny\n") && text.len() < 400, "{text}");
    assert!(text.contains(" bytes left out here]\n"), "{text}");
    assert!(text.ends_with("\n[timed out after 400ms]\n[killed by signal: SIGTERM]"), "{text}");
}

// spec: cases/P6
#[tokio::test]
async fn a_cut_inside_a_character_leaves_valid_text() {
    for (character, bytes) in [("é", 2), ("€", 3), ("😀", 4)] {
        for limit in 10..10 + 2 * bytes {
            let fixture = Fixture::on(shell(|config| config.max_output_bytes = limit), |config| config).await;
            let outcome = fixture.run(&format!("printf '{}'", character.repeat(20))).await;
            let text = outcome.text();
            assert!(!text.contains('\u{fffd}') && text.contains(" bytes left out here]\n"), "{text}");
            let kept = text.matches(character).count();
            let dropped = format!("[{} bytes left out here]", (20 - kept) * bytes);
            assert!(text.contains(&dropped), "{limit}: {text}");
        }
    }
}
