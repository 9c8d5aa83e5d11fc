//! What the log holds.

use std::time::Duration;

use dsh_hooks::{
    Dialect, Ending, Handler, HookInvoked, HookOutput, HookResult, HookRun, Matcher, Point, Recorded, Said,
    Stop, decode,
};
use dsh_session::{NewEvent, Payload, Session};

fn invoked(pattern: Option<&str>) -> HookInvoked {
    let matcher = Matcher::new(Dialect::ClaudeCode, pattern).unwrap();
    let handler = Handler { point: Point::PreToolUse, matcher, command: "true".to_owned(), timeout: None };
    HookInvoked::new(3, Dialect::ClaudeCode, &handler, "claude-code:PreToolUse:1")
}

fn run(exit_code: Option<i32>, stderr: &str, output: HookOutput) -> HookRun {
    let duration = Duration::from_micros(263_740);
    HookRun { output, exit_code, stderr: stderr.to_owned(), ended: None, duration }
}

/// The data of the event, which was appended, and can be read again.
fn logged<P: Payload + PartialEq + std::fmt::Debug>(payload: &P) -> String {
    let event = Session::detached("s-1").append(NewEvent::new(payload).unwrap()).unwrap();
    assert!(event.surface().is_none());
    assert_eq!(event.payload::<P>().unwrap().as_ref(), Some(payload));
    event.data().get().to_owned()
}

// spec: timeout-jobs-hooks/J62
#[test]
fn a_hook_is_logged_before_and_after_it_runs() {
    assert_eq!(HookInvoked::TYPE, "hook/invoked");
    assert_eq!(HookResult::TYPE, "hook/result");
    assert_eq!(
        logged(&invoked(Some("bash"))),
        r#"{"turn":3,"point":"PreToolUse","dialect":"claude-code","handlerId":"claude-code:PreToolUse:1","matcher":"bash"}"#
    );
    assert!(!logged(&invoked(None)).contains("matcher"));
    let blocked = run(Some(2), "\n not this one\nsecond line\n", decode(Some(2), "", "", None));
    assert_eq!(
        logged(&invoked(None).ended(&blocked, 500)),
        r#"{"turn":3,"point":"PreToolUse","handlerId":"claude-code:PreToolUse:1","decision":"block","exitCode":2,"stderrSummary":"not this one\nsecond line","durationMs":263.74}"#
    );
    let silent = run(None, " \n", HookOutput::default());
    assert_eq!(
        logged(&invoked(None).ended(&silent, 500)),
        r#"{"turn":3,"point":"PreToolUse","handlerId":"claude-code:PreToolUse:1","decision":"pass","durationMs":263.74}"#
    );
}

// spec: timeout-jobs-hooks/J62
#[test]
fn the_decision_is_in_the_hooks_own_word() {
    let decision = |said, stop: Option<Stop>| {
        let output = HookOutput { said, stop, ..HookOutput::default() };
        let decision = invoked(None).ended(&run(Some(0), "", output), 500).decision;
        serde_json::to_string(&decision).unwrap()
    };
    for (said, word) in [
        (Said::Approve, "approve"),
        (Said::Allow, "allow"),
        (Said::Ask, "ask"),
        (Said::Block, "block"),
        (Said::Deny, "deny"),
    ] {
        assert_eq!(decision(Some(said), Some(Stop::default())), format!("\"{word}\""));
    }
    assert_eq!(decision(None, Some(Stop::default())), "\"stop\"");
    assert_eq!(decision(None, None), "\"pass\"");
}

// spec: timeout-jobs-hooks/J62
#[test]
fn errors_are_cut_at_a_character() {
    let summary = |stderr: &str, max| {
        invoked(None).ended(&run(Some(1), stderr, HookOutput::default()), max).stderr_summary
    };
    assert_eq!(summary(&"é".repeat(500), 500), Some("é".repeat(500)));
    assert_eq!(summary(&format!(" {}\n", "é".repeat(500)), 500), Some("é".repeat(500)));
    assert_eq!(summary(&"😀".repeat(501), 500), Some(format!("{}…", "😀".repeat(500))));
    assert_eq!(summary(" \n\t", 500), None);
}

// spec: timeout-jobs-hooks/J62
#[test]
fn what_ended_a_hook_is_said_below_its_errors_and_never_cut() {
    let ending = Ending::TimeLimit { limit: Duration::from_millis(500) };
    let ended = "the hook was ended by its time limit of 500 ms";
    let summary = |stderr: &str, max| {
        let run = HookRun { ended: Some(ending.clone()), ..run(Some(0), stderr, HookOutput::default()) };
        invoked(None).ended(&run, max).stderr_summary.unwrap()
    };
    assert_eq!(summary(" \n", 500), ended);
    assert_eq!(summary("half a line", 500), format!("half a line\n{ended}"));
    assert_eq!(summary(&"é".repeat(501), 500), format!("{}…\n{ended}", "é".repeat(500)));
}

#[test]
fn a_rewritten_input_is_logged_as_the_text_of_a_calls_arguments_is() {
    let answer =
        r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"id":9007199254740993}}}"#;
    let output = decode(Some(0), answer, "", Some(Point::PreToolUse));
    let data = logged(&invoked(None).ended(&run(Some(0), "", output), 500));
    assert!(data.ends_with(r#""updatedInput":"{\"id\":9007199254740993}"}"#), "{data}");
}

// spec: timeout-jobs-hooks/J62
#[test]
fn records_of_the_reference_are_read() {
    let read = |text: &str| HookResult::read(text).unwrap();
    let result = read(
        r#"{"turn":1,"point":"Stop","handlerId":"codex:Stop:1","decision":"stop","exitCode":0,"durationMs":263.74034600000005,"more":1}"#,
    );
    assert_eq!((result.decision, result.exit_code, result.stderr_summary), (Recorded::Stop, Some(0), None));
    let whole = read(r#"{"turn":1,"point":"Stop","handlerId":"h","decision":"pass","durationMs":12}"#);
    assert_eq!(
        logged(&whole),
        r#"{"turn":1,"point":"Stop","handlerId":"h","decision":"pass","durationMs":12}"#
    );
}
