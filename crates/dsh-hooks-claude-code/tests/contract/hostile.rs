//! Hooks that do not do what hooks do.

use std::time::{Duration, Instant};

use dsh_hooks::testing::{decisions, records, until_standing_still};
use dsh_tools::ToolOutcome;
use serde_json::json;

use crate::fixture::{Fixture, is_alive, until};

/// Far less than what the hooks below would take, and far more than they need.
const SOON: Duration = Duration::from_secs(60);

// spec: cases/H3
#[tokio::test]
async fn a_payload_that_is_not_read_changes_nothing() {
    let fixture = Fixture::with(json!({ "PreToolUse": [
        { "matcher": "mark", "hooks": [{ "command": "exit 0" }] },
        { "matcher": "other", "hooks": [{ "command": "echo unread >&2; exit 2" }] },
    ] }))
    .await;
    fixture.offer("other");
    let large = json!({ "text": "x".repeat(2 << 20) });
    assert!(!fixture.call(large.clone()).await.is_error());
    let outcome = fixture.world.execute(fixture.request("other", large)).await;
    assert_eq!(outcome.text(), "Error: unread");
    assert_eq!(decisions(fixture.agent.session()), ["pass", "block"]);
}

// spec: cases/H4
#[tokio::test]
async fn a_hook_is_done_when_it_exits_itself_whatever_it_left_behind() {
    let fixture = Fixture::of("PreToolUse", &["sleep 300 & echo $! > pid; echo left >&2; exit 2"]).await;
    let began = Instant::now();
    assert_eq!(fixture.call(json!({})).await.text(), "Error: left");
    assert!(began.elapsed() < SOON);
}

// spec: cases/H4, timeout-jobs-hooks/J57, timeout-jobs-hooks/J67, timeout-jobs-hooks/J78
#[tokio::test]
async fn a_hook_that_does_nothing_ends_at_its_time_limit_with_all_that_it_started() {
    let fixture = Fixture::with(json!({ "PreToolUse": [{ "hooks": [
        { "command": "sleep 300 & echo $! > child; echo $$ > pid.part; mv pid.part pid; wait", "timeout": 0.3 },
    ] }] }))
    .await;
    assert!(!call_of(&fixture).await.is_error(), "a failure blocks nothing");
    assert!(!is_alive(&fixture.read("pid")));
    let child = fixture.read("child");
    until("the child is gone", || !is_alive(&child)).await;
    let (_, result) = records(fixture.agent.session()).remove(1);
    assert_eq!((result.get("exitCode"), &result["decision"]), (None, &json!("pass")));
    let summary = result["stderrSummary"].as_str().unwrap();
    assert!(summary.ends_with("the hook was ended by its time limit of 300 ms"), "{summary}");
}

// spec: timeout-jobs-hooks/J57, timeout-jobs-hooks/J62
#[tokio::test]
async fn a_hook_that_decides_when_its_time_is_over_is_heard_and_the_log_says_so() {
    for (code, decision) in [(0, "pass"), (2, "block")] {
        let command = format!(
            "trap 'echo late >&2; exit {code}' TERM; sleep 300 & echo $$ > pid.part; mv pid.part pid; wait"
        );
        let fixture = Fixture::bare_with_grace(SOON).await;
        fixture.mount(json!({ "PreToolUse": [{ "hooks": [{ "command": command, "timeout": 0.3 }] }] })).await;
        assert_eq!(call_of(&fixture).await.is_error(), decision == "block");
        let (_, result) = records(fixture.agent.session()).remove(1);
        assert_eq!((&result["exitCode"], &result["decision"]), (&json!(code), &json!(decision)));
        // The shell may say first that what it waited for was ended too.
        let summary = result["stderrSummary"].as_str().unwrap();
        assert!(summary.ends_with("late\nthe hook was ended by its time limit of 300 ms"), "{summary}");
    }
}

/// A call whose hook's time limit passes when the hook has written its number, and not before.
async fn call_of(fixture: &Fixture) -> ToolOutcome {
    let pid = fixture.path("pid");
    tokio::time::pause();
    let passes = async {
        until_standing_still("the hook runs", move || pid.exists()).await;
        tokio::time::advance(Duration::from_millis(300)).await;
        tokio::time::resume();
    };
    let (outcome, ()) = tokio::join!(fixture.call(json!({})), passes);
    outcome
}

// spec: timeout-jobs-hooks/J57, timeout-jobs-hooks/J65
#[tokio::test]
async fn a_hook_without_a_time_limit_has_that_of_the_configuration() {
    let fixture = Fixture::bare().await;
    let ms = std::num::NonZeroU64::new(300).unwrap();
    let hooks = crate::fixture::hooks("PreToolUse", &["sleep 300"]);
    fixture
        .mount_as(hooks, |config| dsh_hooks_claude_code::Config { default_timeout_ms: ms, ..config })
        .await;
    let began = Instant::now();
    assert!(!fixture.call(json!({})).await.is_error());
    assert!(began.elapsed() < SOON);
}

// spec: timeout-jobs-hooks/J86, timeout-jobs-hooks/J84
#[tokio::test]
async fn output_that_nobody_can_read_is_no_answer() {
    let large =
        r#"printf '{"decision":"block","reason":"'; head -c 20000000 /dev/zero | tr '\0' x; printf '"}'"#;
    for command in [large, r"printf '\xff\xfe{\0'", "printf '{%.0s' $(seq 100000)"] {
        let fixture = Fixture::of("PreToolUse", &[command]).await;
        assert!(!fixture.call(json!({})).await.is_error(), "{command}");
        assert_eq!(decisions(fixture.agent.session()), ["pass"], "{command}");
    }
}

// spec: timeout-jobs-hooks/J70
#[tokio::test]
async fn a_session_whose_folder_is_gone_has_hooks_that_fail() {
    let fixture = Fixture::of("PreToolUse", &["exit 2"]).await;
    let (lost, _) = fixture.world.agent("lost", &fixture.path("no-such-folder"), None);
    let request = dsh_tools::CallRequest::new("call_1", "mark", "{}").agent(&lost);
    assert!(!fixture.world.execute(request).await.is_error());
    let warnings = fixture.world.warnings();
    let [warning] = warnings.as_slice() else { panic!("one warning: {warnings:?}") };
    assert!(warning.contains("PreToolUse cannot be run, and so decides nothing"), "{warning}");
}
