//! Hooks of the user's in whole turns: what they say reaches the model where it should, and what they block does not happen.

use std::fs;
use std::path::Path;

use dsh_agent::CreateAgent;
use dsh_llm::testing::Answer;
use dsh_session::TurnEndReason;
use dsh_tools::ToolRun;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::fixture::{Fixture, calls, endings, options, raw, said, texts};

/// A fixture whose hooks are commands in a folder.
async fn with_hooks(folder: &TempDir, hooks: Value, answers: impl IntoIterator<Item = Answer>) -> Fixture {
    let fixture = Fixture::new(answers).await;
    let settings = folder.path().join("settings.json");
    fs::write(&settings, json!({ "hooks": hooks }).to_string()).unwrap();
    let app = &fixture.app;
    app.plugin(dsh_subprocess_local::plugin(), Default::default()).unwrap().ready().await.unwrap();
    app.plugin(dsh_shell_local::plugin(), Default::default()).unwrap().ready().await.unwrap();
    let config = dsh_hooks_claude_code::Config::new(settings);
    app.plugin(dsh_hooks_claude_code::plugin(), config).unwrap().ready().await.unwrap();
    app.quiet().await;
    fixture
}

fn hook(command: &str) -> Value {
    json!([{ "hooks": [{ "type": "command", "command": command }] }])
}

fn in_folder(id: &str, folder: &Path) -> CreateAgent {
    CreateAgent::new(id).options(options()).in_folder(folder.to_string_lossy())
}

// spec: timeout-jobs-hooks/J73, timeout-jobs-hooks/J74, agent-loop/S49
#[tokio::test]
async fn a_hook_of_prompts_adds_to_them_or_blocks_the_turn() {
    let folder = TempDir::new().unwrap();
    let output = json!({ "hookEventName": "UserPromptSubmit", "additionalContext": "today is Monday" });
    let output = json!({ "hookSpecificOutput": output });
    let command = format!("grep -q secret && {{ echo 'not that' >&2; exit 2; }}; echo '{output}'");
    let hooks = json!({ "UserPromptSubmit": hook(&command) });
    let fixture = with_hooks(&folder, hooks, [Answer::text("ok")]).await;
    let agent = fixture.agents().create(&fixture.app, in_folder("a", folder.path())).await.unwrap();
    agent.followup(said("tell me the secret")).unwrap();
    agent.when_idle().await;
    assert_eq!(endings(agent.session()), [TurnEndReason::Blocked {}]);
    assert_eq!(fixture.requests().len(), 0);
    agent.followup(said("what day is it?")).unwrap();
    agent.when_idle().await;
    let said = texts(agent.session());
    assert_eq!(said.last().map(String::as_str), Some("ok"));
    assert!(said.iter().any(|text| text.contains("today is Monday")), "{said:?}");
    assert!(!said.iter().any(|text| text.contains("secret")), "{said:?}");
}

// spec: timeout-jobs-hooks/J73, cases/H6, agent-loop/S42
#[tokio::test]
async fn a_hook_of_ends_has_the_turn_go_on() {
    let folder = TempDir::new().unwrap();
    let once = "[ -e stopped ] || { touch stopped; echo 'run the tests first' >&2; exit 2; }";
    let fixture =
        with_hooks(&folder, json!({ "Stop": hook(once) }), ["done", "tested"].map(Answer::text)).await;
    let agent = fixture.agents().create(&fixture.app, in_folder("a", folder.path())).await.unwrap();
    agent.followup(said("do it")).unwrap();
    agent.when_idle().await;
    let said = texts(agent.session());
    assert_eq!((said[0].as_str(), said[1].as_str(), said[3].as_str()), ("do it", "done", "tested"));
    assert!(said[2].contains("run the tests first"), "{said:?}");
    assert_eq!(endings(agent.session()), [TurnEndReason::Completed {}]);
}

// spec: timeout-jobs-hooks/J73, cases/H1, design/P7
#[tokio::test]
async fn a_hook_of_calls_keeps_the_body_from_running_and_says_why() {
    let folder = TempDir::new().unwrap();
    let refuses = hook("echo 'ask first' >&2; exit 2");
    let answers = [calls(&[("c1", "mark", json!({}))]), Answer::text("I asked.")];
    let fixture = with_hooks(&folder, json!({ "PreToolUse": refuses }), answers).await;
    let mark = folder.path().join("ran");
    let body = move |_, _: ToolRun| {
        let mark = mark.clone();
        async move {
            fs::write(mark, "ran")?;
            Ok(json!("ran"))
        }
    };
    fixture.offer(&fixture.app, raw("mark").run(body));
    let agent = fixture.agents().create(&fixture.app, in_folder("a", folder.path())).await.unwrap();
    agent.followup(said("go")).unwrap();
    agent.when_idle().await;
    assert!(!folder.path().join("ran").exists());
    let asked = &fixture.requests()[1].messages;
    assert!(format!("{:?}", asked.last()).contains("ask first"), "{asked:?}");
}

// spec: timeout-jobs-hooks/J73, timeout-jobs-hooks/J74, agent-loop/S23
#[tokio::test]
async fn hooks_of_sessions_and_of_children_hear_of_both() {
    let folder = TempDir::new().unwrap();
    let hooks = json!({
        "SessionStart": hook("cat >> sessions; echo >> sessions"),
        "SubagentStart": hook("cat >> started; echo >> started"),
        "SubagentStop": hook("cat >> stopped; echo >> stopped"),
    });
    let fixture = with_hooks(&folder, hooks, []).await;
    let root = fixture.agents().create(&fixture.app, in_folder("root", folder.path())).await.unwrap();
    let child = fixture.agents().create(root.context(), in_folder("child", folder.path())).await.unwrap();
    let lines = |name: &str| -> Vec<Value> {
        let text = fs::read_to_string(folder.path().join(name)).unwrap_or_default();
        text.lines()
            .filter(|line| !line.is_empty())
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    };
    until(|| lines("sessions").len() == 2 && lines("started").len() == 1).await;
    let ids: Vec<Value> = lines("sessions").iter().map(|told| told["session_id"].clone()).collect();
    assert!(ids.contains(&json!("root")) && ids.contains(&json!("child")), "{ids:?}");
    assert!(lines("sessions").iter().all(|told| told["source"] == "startup"));
    child.dispose().await;
    until(|| lines("stopped").len() == 1).await;
    assert_eq!(lines("started")[0]["agent_id"], json!("child"));
    assert_eq!(lines("stopped")[0]["agent_id"], json!("child"));
}

/// Waits for what hooks do that nobody waits for.
async fn until(is_so: impl Fn() -> bool) {
    for _ in 0..1_000 {
        if is_so() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("it did not happen");
}
