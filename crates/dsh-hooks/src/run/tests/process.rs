//! Hooks as processes.

use std::future::Future;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio_util::sync::CancellationToken;

use super::fixture::{Processes, hook};
use crate::ending::Ending;
use crate::output::HookOutput;
use crate::run::{HookCommand, HookRun, run_hook};
use crate::said::Said;

/// More than any of these hooks takes, and far less than the hooks that would hang.
const SOON: Duration = Duration::from_secs(60);

async fn ran(command: &str) -> HookRun {
    run_hook(&Processes::new(), hook(command)).await
}

/// The process group of a hook that has written its number there.
fn group(shell: &Processes) -> Pid {
    let number = std::fs::read_to_string(shell.path("group")).unwrap();
    Pid::from_raw(number.trim().parse().unwrap()).unwrap()
}

fn commanded<'a>(shell: &Processes, command: &'a mut String) -> HookCommand<'a> {
    let group = shell.path("group").display().to_string();
    *command = format!("echo $$ > '{group}.part'; mv '{group}.part' '{group}'; {command}");
    hook(command)
}

/// Waits for a hook whose time limit passes once it has written the file, and not before.
async fn within_no_time(running: impl Future<Output = HookRun>, written: PathBuf) -> HookRun {
    tokio::time::pause();
    // The clock stands still while somebody blocks.
    let begun = tokio::task::spawn_blocking(move || {
        let began = Instant::now();
        while !written.exists() {
            assert!(began.elapsed() < SOON, "the hook does not begin");
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let (run, begun) = tokio::join!(running, begun);
    begun.unwrap();
    tokio::time::resume();
    run
}

// spec: timeout-jobs-hooks/J57, J58
#[tokio::test]
async fn a_hook_reads_its_payload_and_answers() {
    let shell = Processes::new();
    let payload = r#"{"tool_name":"bash","tool_input":{"command":"rm -rf /"}}"#;
    let command = r#"grep -q 'rm -rf' && { echo "not $WHAT" >&2; exit 2; }"#;
    let env = [("WHAT".to_owned(), "this".to_owned())].into();
    let run = run_hook(&shell, HookCommand { payload, env, ..hook(command) }).await;
    assert_eq!((run.output.said, run.output.reason.as_deref()), (Some(Said::Block), Some("not this")));
}

// spec: cases/H3
#[tokio::test]
async fn a_hook_that_does_not_read_a_long_payload_is_judged_by_its_code() {
    let payload = format!(r#"{{"tool_input":"{}"}}"#, "x".repeat(2 << 20));
    for (command, said) in
        [("exit 0", None), ("echo no >&2; exit 2", Some(Said::Block)), ("exec <&-; exit 1", None)]
    {
        let run = run_hook(&Processes::new(), HookCommand { payload: &payload, ..hook(command) }).await;
        assert_eq!(run.output.said, said, "{command}");
        assert!(run.exit_code.is_some(), "{command}");
    }
}

// spec: cases/H4
#[tokio::test]
async fn a_hook_is_done_when_it_ends_whatever_it_leaves_behind() {
    let (shell, began) = (Processes::new(), Instant::now());
    let mut command = r#"sleep 300 & echo '{"decision":"block"}'"#.to_owned();
    let run = run_hook(&shell, commanded(&shell, &mut command)).await;
    assert_eq!(run.output.said, Some(Said::Block));
    assert!(began.elapsed() < SOON);
    kill_process_group(group(&shell), Signal::KILL).unwrap();
}

// spec: cases/H4, timeout-jobs-hooks/J57
#[tokio::test]
async fn a_hook_that_does_nothing_ends_at_its_time_limit_with_all_that_it_started() {
    let shell = Processes::new();
    let mut command = "sleep 300 & sleep 300".to_owned();
    let timeout = Some(Duration::from_millis(500));
    let running = run_hook(&shell, HookCommand { timeout, ..commanded(&shell, &mut command) });
    let run = within_no_time(running, shell.path("group")).await;
    assert_eq!((run.output, run.exit_code), (HookOutput::default(), None));
    assert_eq!(run.ended, Some(Ending::TimeLimit { limit: Duration::from_millis(500) }));
    let (group, began) = (group(&shell), Instant::now());
    while test_kill_process_group(group).is_ok() {
        tokio::task::yield_now().await;
        assert!(began.elapsed() < SOON, "the group still runs");
    }
}

// spec: timeout-jobs-hooks/J57
#[tokio::test]
async fn a_hook_that_decides_when_its_time_is_over_is_heard_and_that_is_said() {
    for (code, said) in [(0, None), (2, Some(Said::Block))] {
        let shell = Processes::terminating();
        let mut command = format!("sleep 300 & wait; exit {code}");
        let trapped = format!("trap 'exit {code}' TERM; {}", commanded(&shell, &mut command).command);
        let timeout = Some(Duration::from_millis(500));
        let running = run_hook(&shell, HookCommand { timeout, ..hook(&trapped) });
        let run = within_no_time(running, shell.path("group")).await;
        assert_eq!((run.output.said, run.exit_code), (said, Some(code)));
        assert_eq!(run.ended, Some(Ending::TimeLimit { limit: Duration::from_millis(500) }));
    }
}

// spec: timeout-jobs-hooks/J57
#[tokio::test]
async fn a_hook_that_is_cancelled_has_decided_nothing() {
    let cancellation = CancellationToken::new();
    cancellation.cancel();
    let run = run_hook(&Processes::new(), HookCommand { cancellation, ..hook("sleep 300") }).await;
    assert_eq!((run.output, run.exit_code), (HookOutput::default(), None));
}

// spec: timeout-jobs-hooks/J57, J58, J78
#[tokio::test]
async fn signals_and_missing_commands_decide_nothing() {
    let killed = ran(r#"echo '{"decision":"block"}'; kill -9 $$"#).await;
    assert_eq!((killed.output, killed.exit_code), (HookOutput::default(), None));
    let missing = ran("no-such-command-of-any-kind").await;
    assert_eq!((missing.output, missing.exit_code), (HookOutput::default(), Some(127)));
    assert!(missing.stderr.contains("no-such-command-of-any-kind"), "{}", missing.stderr);
}

// spec: timeout-jobs-hooks/J84, J86
#[tokio::test]
async fn output_of_any_size_and_any_bytes_is_an_answer_or_none() {
    let flood = ran("head -c 10000000 /dev/zero | tr '\\0' x").await;
    let kept = flood.output.plain_stdout.as_deref().unwrap();
    assert!(kept.len() < 70_000 && kept.ends_with(" were dropped]"), "{}", kept.len());
    let long = r#"printf '{"decision":"block","reason":"%s"}' "$(head -c 3000000 /dev/zero | tr '\0' x)""#;
    let reason = ran(long).await.output.reason.unwrap();
    assert!(reason.starts_with(&"x".repeat(64 << 10)), "{}", reason.len());
    assert!(reason.ends_with("\n[2934464 more bytes of the hook's text were dropped]"), "{}", reason.len());
    let bytes = ran(r#"printf '{"decision":"block","reason":"\xff\xfe"}'"#).await;
    assert_eq!(bytes.output.reason.as_deref(), Some("\u{fffd}\u{fffd}"));
    assert_eq!(ran(r"printf '\0\0a\0'").await.output.plain_stdout.as_deref(), Some("\0\0a\0"));
    assert_eq!(ran(r#"printf '{"decision":"block"}\0'"#).await.output.said, None);
    let refused = ran(r"printf '\xff\0no\n' >&2; exit 2").await;
    assert_eq!(refused.output.reason.as_deref(), Some("\u{fffd}\0no"));
}
