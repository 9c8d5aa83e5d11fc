//! What the shell is asked for, and what is made of its result.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod fixture;
mod process;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dsh_shell::{ShellError, ShellResult, ShellSpec};
use dsh_subprocess::{Cut, SpawnError, Stdin};
use tokio_util::sync::CancellationToken;

use super::{DEFAULT_TIMEOUT, HookCommand, HookRun, run_hook};
use crate::dialect::Dialect;
use crate::ending::Ending;
use crate::output::HookOutput;
use crate::point::Point;
use crate::said::Said;
use fixture::{Scripted, hook, result};

async fn ran(result: Result<ShellResult, ShellError>) -> HookRun {
    run_hook(&Scripted::new(result), hook("true")).await
}

fn why(run: &HookRun) -> String {
    run.ended.as_ref().unwrap().to_string()
}

async fn asked(command: HookCommand<'_>) -> ShellSpec {
    let shell = Scripted::new(Ok(result(Some(0), "", "")));
    run_hook(&shell, command).await;
    shell.asked.into_inner().unwrap()
}

fn stdin(spec: &ShellSpec) -> &str {
    let Stdin::Bytes(bytes) = &spec.stdin else { panic!("no payload: {:?}", spec.stdin) };
    std::str::from_utf8(bytes).unwrap()
}

// spec: timeout-jobs-hooks/J57
#[tokio::test(start_paused = true)]
async fn the_shell_is_asked_for_what_the_caller_said() {
    let cancellation = CancellationToken::new();
    let command = HookCommand {
        payload: r#"{"a":"é"}"#,
        env: [("CLAUDE_PROJECT_DIR".to_owned(), "/p".to_owned())].into(),
        cwd: Some(Path::new("/work space")),
        timeout: Some(Duration::from_millis(2500)),
        cancellation: cancellation.clone(),
        ..hook("check --all")
    };
    let spec = asked(command.clone()).await;
    assert_eq!((spec.command.as_str(), spec.workdir), ("check --all", PathBuf::from("/work space")));
    assert_eq!((spec.timeout, spec.env), (Duration::from_millis(2500), command.env.clone()));
    assert_eq!(stdin(&asked(command.clone()).await), "{\"a\":\"é\"}\n");
    assert_eq!(stdin(&asked(HookCommand { dialect: Dialect::Codex, ..command }).await), r#"{"a":"é"}"#);
    cancellation.cancel();
    assert!(spec.cancellation.is_cancelled());
}

// spec: timeout-jobs-hooks/J57
#[tokio::test(start_paused = true)]
async fn a_hook_has_ten_minutes_and_the_shells_folder_unless_said() {
    let spec = asked(hook("true")).await;
    assert_eq!((spec.timeout, DEFAULT_TIMEOUT), (Duration::from_secs(600), Duration::from_secs(600)));
    assert_eq!(spec.workdir, std::env::temp_dir());
}

// spec: timeout-jobs-hooks/J57, J60
#[tokio::test(start_paused = true)]
async fn the_answer_is_read_for_the_point_that_is_expected() {
    let stdout = r#"{"hookSpecificOutput":{"hookEventName":"Stop","permissionDecision":"deny"}}"#;
    for (expected, said) in
        [(None, Some(Said::Deny)), (Some(Point::Stop), Some(Said::Deny)), (Some(Point::PreToolUse), None)]
    {
        let shell = Scripted::new(Ok(result(Some(0), stdout, " warned\n")));
        let run = run_hook(&shell, HookCommand { expected, ..hook("true") }).await;
        assert_eq!((run.output.said, run.exit_code, run.stderr.as_str()), (said, Some(0), " warned\n"));
        assert_eq!(run.duration, shell.takes);
    }
}

// spec: timeout-jobs-hooks/J57, J58, J78, J84
#[tokio::test(start_paused = true)]
async fn a_shell_that_fails_is_an_answer_without_a_decision() {
    let start =
        || SpawnError::Start { program: "bash".into(), source: io::Error::other("no more processes") };
    let run = ran(Err(start().into())).await;
    let expected = HookRun {
        output: HookOutput::default(),
        exit_code: None,
        stderr: String::new(),
        ended: Some(Ending::NotRun { reason: "cannot start \"bash\": no more processes".to_owned() }),
        duration: Duration::from_millis(1500),
    };
    assert_eq!(run, expected);
    let refusing = Scripted::new(Ok(result(Some(2), "", "never run")));
    *refusing.refuses.lock().await = Some(ShellError::NoCommand);
    let run = run_hook(&refusing, hook("")).await;
    assert_eq!((&run.output, run.exit_code), (&HookOutput::default(), None));
    assert_eq!(why(&run), "invalid command: expected a non-empty string");
    assert!(refusing.asked.into_inner().is_none());
}

// spec: timeout-jobs-hooks/J57, J58
#[tokio::test(start_paused = true)]
async fn a_hook_that_was_killed_has_decided_nothing_and_says_why() {
    let answer = r#"{"decision":"block"}"#;
    let killed = ShellResult { signal: Some("SIGKILL".to_owned()), ..result(None, answer, "") };
    for (result, text) in [
        (killed.clone(), "the hook was killed by SIGKILL"),
        (
            ShellResult { timed_out: true, ..killed.clone() },
            "the hook was ended by its time limit of 600000 ms",
        ),
        (ShellResult { aborted: true, ..killed.clone() }, "the hook was cancelled"),
    ] {
        let run = ran(Ok(result)).await;
        assert_eq!((&run.output, run.exit_code), (&HookOutput::default(), None));
        assert_eq!(why(&run), text);
    }
    let stderr = result(None, "", "half a line").stderr;
    let run = ran(Ok(ShellResult { stderr, ..killed })).await;
    assert_eq!(run.stderr, "half a line");
}

// spec: timeout-jobs-hooks/J57
#[tokio::test(start_paused = true)]
async fn a_hook_that_gives_a_code_when_it_is_told_to_end_is_heard_and_that_is_said() {
    for (code, said) in [(0, None), (2, Some(Said::Block))] {
        let late = ShellResult { timed_out: true, ..result(Some(code), "", "too late") };
        let run = ran(Ok(late)).await;
        assert_eq!((run.output.said, run.stderr.as_str()), (said, "too late"));
        assert_eq!(why(&run), "the hook was ended by its time limit of 600000 ms");
        let cancelled = ShellResult { aborted: true, ..result(Some(code), "", "") };
        assert_eq!(ran(Ok(cancelled)).await.ended, Some(Ending::Cancelled));
        assert_eq!(ran(Ok(result(Some(code), "", ""))).await.ended, None);
    }
}

// spec: timeout-jobs-hooks/J86
#[tokio::test(start_paused = true)]
async fn output_with_a_gap_is_never_read_as_an_answer() {
    let (head, tail) = (r#"{"decision":"block","reason":"ab"#, r#"yz"}"#);
    for (head, tail) in
        [(head, tail), (r#"{"decision":"block"#, r#"","x":1}"#), (r#"{"decision":"block","a":[1,"#, "2]}")]
    {
        let mut result = result(Some(0), "", "");
        result.stdout.cut = Cut { head: head.to_owned(), dropped: 7, tail: tail.to_owned() };
        let plain_stdout = Some(format!("{head}\n[7 bytes dropped]\n{tail}"));
        assert_eq!(ran(Ok(result)).await.output, HookOutput { plain_stdout, ..HookOutput::default() });
    }
}

#[tokio::test(start_paused = true)]
async fn the_shell_is_not_held_while_the_hook_runs() {
    let shell = Scripted::new(Ok(result(Some(2), "", "no")));
    let running = run_hook(&shell, hook("true"));
    drop(shell);
    assert_eq!(tokio::spawn(running).await.unwrap().output.said, Some(Said::Block));
}
