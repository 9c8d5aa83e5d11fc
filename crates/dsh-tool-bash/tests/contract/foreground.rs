//! Commands whose end is waited for.

use std::fs;

use cordis::Next;
use dsh_tools::{EXECUTE, OUTPUT, ToolCall, ToolOutcome, ToolOutput};
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::fixture::{Fixture, execute, request};
use crate::scripted::Scripted;
use crate::witness::{ANSWERS, Witness, bounded};

// spec: fs-shell-sandbox/F102
#[tokio::test]
async fn the_model_reads_what_the_command_prints_and_how_it_ends() {
    let fixture = Fixture::new().await;
    for (command, text) in [
        ("echo hello", "hello\n"),
        ("printf plain", "plain"),
        ("true", "(no output)"),
        ("printf out; printf err >&2", "out\n[stderr]\nerr"),
        ("printf out; echo err >&2; exit 3", "out\n[stderr]\nerr\n[exit code: 3]"),
        ("echo x; kill -TERM $$", "x\n[killed by signal: SIGTERM]"),
        ("kill -9 $$", "(no output)\n[killed by signal: SIGKILL]"),
        ("cat; echo rc $?", "rc 0\n"),
        ("printf '\\377\\376 bad\\n'", "\u{fffd}\u{fffd} bad\n"),
        ("printf 'a\\r\\nb\\033[31mred\\033[0m\\n'", "a\r\nb\u{1b}[31mred\u{1b}[0m\n"),
    ] {
        let outcome = fixture.run(command).await;
        assert_eq!((outcome.text().as_str(), outcome.is_error()), (text, false), "{command}");
    }
}

#[tokio::test]
async fn commands_start_in_the_workspace_and_share_nothing_but_its_files() {
    let fixture = Fixture::new().await;
    fixture.run("echo 1 > a; x=1; mkdir b; cd b").await;
    assert_eq!(fixture.run("cat a; echo \"<$x>\"; ls").await.text(), "1\n<>\na\nb\n");
    assert!(fixture.path().join("a").exists());
}

// spec: cases/P2
#[tokio::test]
async fn what_a_command_leaves_running_is_not_waited_for() {
    let fixture = Fixture::new().await;
    for (command, text) in
        [("sleep 300 & echo hi", "hi\n"), ("exec > >(tee -a f.log) 2>&1; echo done", "done\n")]
    {
        assert_eq!(fixture.run(command).await.text(), text, "{command}");
    }
}

#[tokio::test]
async fn a_cancelled_call_ends_its_command_and_keeps_the_output() {
    let fixture = Fixture::new().await;
    let cancellation = CancellationToken::new();
    let mut witness = Witness::new(fixture.path());
    let call = json!({ "command": format!("echo part; ({ANSWERS}) & wait"), "description": "x" });
    let cancel = async {
        assert!(witness.is_answered().await);
        cancellation.cancel();
    };
    let (outcome, ()) = tokio::join!(fixture.call_until(call, &cancellation), cancel);
    assert_eq!(
        (outcome.text().as_str(), outcome.code()),
        ("part\nError: tool call aborted", Some("ABORTED"))
    );
    witness.is_alone().await;
}

// spec: fs-shell-sandbox/F102
#[tokio::test]
async fn a_cancelled_call_gives_what_was_printed_once_with_its_streams_apart() {
    let fixture = Fixture::new().await;
    let cancellation = CancellationToken::new();
    let cancel = cancellation.clone();
    fixture
        .app
        .on(OUTPUT)
        .run(move |output: &ToolOutput| {
            if output.text().contains("err") {
                cancel.cancel();
            }
        })
        .unwrap();
    let call = json!({ "command": "echo out; sleep 0.05; echo err >&2; sleep 300", "description": "x" });
    let outcome = fixture.call_until(call, &cancellation).await;
    assert_eq!(
        (outcome.text().as_str(), outcome.code()),
        ("out\n[stderr]\nerr\nError: tool call aborted", Some("ABORTED"))
    );
}

#[tokio::test]
async fn a_call_that_is_cancelled_before_it_begins_starts_nothing() {
    let fixture = Fixture::new().await;
    let cancellation = CancellationToken::new();
    let late = cancellation.clone();
    // Past every look of the pipeline.
    fixture
        .app
        .on(EXECUTE)
        .with(late)
        .run(async |late: &CancellationToken, call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>| {
            late.cancel();
            next.run(call).await
        })
        .unwrap();
    for background in [false, true] {
        let call = json!({ "command": "touch ran", "description": "x", "run_in_background": background });
        let outcome = fixture.call_until(call, &cancellation).await;
        assert!(outcome.code().unwrap().starts_with("ABORTED"), "{}", outcome.text());
    }
    assert!(!fixture.path().join("ran").exists());
    assert_eq!(fixture.jobs(|jobs| jobs.list(None)), []);
}

#[tokio::test]
async fn what_a_command_prints_is_told_while_it_runs() {
    let fixture = Fixture::new().await;
    let (send, mut pieces) = mpsc::unbounded_channel();
    let told = move |output: &ToolOutput| send.send(output.text().to_owned()).unwrap();
    fixture.app.on(OUTPUT).run(told).unwrap();
    // The command goes on only because its first line was heard.
    let answer = async {
        let mut heard = String::new();
        while !heard.contains("é\n") {
            heard.push_str(&pieces.recv().await.unwrap());
        }
        fs::write(fixture.path().join("go"), "").unwrap();
        heard
    };
    let command =
        "printf '\\303'; sleep 0.05; printf '\\251\\n'; until [ -e go ]; do sleep 0.01; done; echo more >&2";
    let both = async { tokio::join!(fixture.run(command), answer) };
    let (outcome, heard) = bounded(both).await;
    assert_eq!(outcome.text(), "é\n[stderr]\nmore\n");
    assert_eq!((heard.as_str(), pieces.recv().await.unwrap().as_str()), ("é\n", "more\n"));
}

#[tokio::test]
async fn what_is_printed_when_the_call_is_over_is_told_to_nobody() {
    let scripted = Scripted::new(dsh_tool_bash::Config::default()).await;
    let (send, mut pieces) = mpsc::unbounded_channel();
    let told = move |output: &ToolOutput| send.send(output.text().to_owned()).unwrap();
    scripted.app.on(OUTPUT).run(told).unwrap();
    execute(&scripted.app, request(&json!({ "command": "x &", "description": "x" }))).await;
    for listener in scripted.shell.listeners() {
        listener("late".to_owned());
    }
    assert!(pieces.try_recv().is_err());
}
