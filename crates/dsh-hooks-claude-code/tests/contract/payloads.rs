//! What hooks read, to the byte, and where they run.

use dsh_agent::{CREATED, DISPOSED, SESSION_START, SessionSource, SessionStart};
use dsh_hooks_claude_code::Config;
use dsh_tools::CallRequest;
use serde_json::json;

use crate::fixture::{Fixture, hooks, until, user};

/// Keeps what it reads, and where it runs.
const KEEP: &str =
    "cat > told.part; pwd > where; printf %s \"$CLAUDE_PROJECT_DIR\" > project; mv told.part told";

/// With the session of the fixture, in its folder.
fn payload(fixture: &Fixture, rest: &str) -> String {
    let folder = fixture.folder().to_string_lossy();
    format!("{{\"session_id\":\"ada\",\"transcript_path\":\"\",\"cwd\":\"{folder}\",{rest}}}\n")
}

// spec: timeout-jobs-hooks/J57, timeout-jobs-hooks/J70, timeout-jobs-hooks/J72
#[tokio::test]
async fn of_a_call() {
    let fixture = Fixture::of("PreToolUse", &[KEEP]).await;
    let arguments = r#"{"z": 1.0, "a": [9007199254740993, "é\n"]}"#;
    let request = CallRequest::new("call_7", "mark", arguments).agent(&fixture.agent);
    assert!(!fixture.world.execute(request).await.is_error());
    let rest = r#""hook_event_name":"PreToolUse","tool_name":"mark","tool_input":{"z":1.0,"a":[9007199254740993,"é\n"]},"tool_use_id":"call_7""#;
    assert_eq!(fixture.read("told"), payload(&fixture, rest));
    let folder = fixture.folder().canonicalize().unwrap();
    assert_eq!(fixture.read("where").trim(), folder.to_string_lossy());
    assert_eq!(fixture.read("project"), fixture.folder().to_string_lossy());
}

// spec: timeout-jobs-hooks/J72
#[tokio::test]
async fn of_a_result() {
    let fixture = Fixture::of("PostToolUse", &[KEEP]).await;
    assert!(!fixture.call(json!({ "a": 1 })).await.is_error());
    let rest = r#""hook_event_name":"PostToolUse","tool_name":"mark","tool_input":{"a":1},"tool_use_id":"call_1","tool_response":"{\"a\":1}""#;
    assert_eq!(fixture.read("told"), payload(&fixture, rest));
}

// spec: timeout-jobs-hooks/J72
#[tokio::test]
async fn of_messages() {
    let fixture = Fixture::of("UserPromptSubmit", &[KEEP]).await;
    assert!(fixture.step(vec![user("do"), user("this\n"), user("now")]).await.is_some());
    let rest = r#""hook_event_name":"UserPromptSubmit","prompt":"dothis\nnow""#;
    assert_eq!(fixture.read("told"), payload(&fixture, rest));
}

// spec: timeout-jobs-hooks/J72
#[tokio::test]
async fn of_the_end_of_a_turn() {
    let fixture = Fixture::of("Stop", &[KEEP]).await;
    assert!(fixture.stop(1).await.is_empty());
    let rest = r#""hook_event_name":"Stop","stop_hook_active":false"#;
    assert_eq!(fixture.read("told"), payload(&fixture, rest));
}

// spec: timeout-jobs-hooks/J72
#[tokio::test]
async fn of_a_session_that_begins() {
    for (source, name) in [(SessionSource::Startup, "startup"), (SessionSource::Resume, "resume")] {
        let fixture = Fixture::of("SessionStart", &[KEEP]).await;
        fixture.world.app.emit(SESSION_START, &SessionStart { agent: fixture.agent.clone(), source });
        until("the hook has run", || fixture.has("told")).await;
        let rest = format!(r#""hook_event_name":"SessionStart","source":"{name}""#);
        assert_eq!(fixture.read("told"), payload(&fixture, &rest));
    }
}

// spec: timeout-jobs-hooks/J72, timeout-jobs-hooks/J73
#[tokio::test]
async fn of_an_agent_that_works_for_another() {
    let fixture = Fixture::bare().await;
    let both = json!([{ "matcher": "general-purpose", "hooks": [{ "command": KEEP }] }]);
    fixture.mount(json!({ "SubagentStart": both, "SubagentStop": both })).await;
    let folder = tempfile::TempDir::new().unwrap();
    let (child, _) = fixture.world.agent("bob", folder.path(), Some(&fixture.agent));
    let told = folder.path().join("told");
    let expected = |rest: &str| {
        let folder = folder.path().to_string_lossy();
        format!("{{\"session_id\":\"bob\",\"transcript_path\":\"\",\"cwd\":\"{folder}\",{rest}}}\n")
    };
    fixture.world.app.announce(CREATED, &child).unwrap();
    until("the hook has run", || told.exists()).await;
    let rest = r#""hook_event_name":"SubagentStart","agent_id":"bob","agent_type":"general-purpose""#;
    assert_eq!(std::fs::read_to_string(&told).unwrap(), expected(rest));
    std::fs::remove_file(&told).unwrap();
    fixture.world.agents.remove(&child);
    fixture.world.app.emit(DISPOSED, &child);
    until("the hook has run", || told.exists()).await;
    let rest = r#""hook_event_name":"SubagentStop","agent_id":"bob","agent_type":"general-purpose","stop_hook_active":false"#;
    assert_eq!(std::fs::read_to_string(&told).unwrap(), expected(rest), "in the child's own folder");
}

// spec: timeout-jobs-hooks/J72, timeout-jobs-hooks/J75
#[tokio::test]
async fn of_a_call_of_no_agent() {
    let fixture = Fixture::bare().await;
    let keep = format!("cd '{}'; {KEEP}", fixture.folder().display());
    fixture.mount(hooks("PreToolUse", &[&keep])).await;
    let request = CallRequest::new("call_1", "mark", "{}");
    assert!(!fixture.world.execute(request).await.is_error());
    let cwd = std::env::current_dir().unwrap();
    let expected = json!({ "session_id": "", "transcript_path": "", "cwd": cwd.to_string_lossy(),
        "hook_event_name": "PreToolUse", "tool_name": "mark", "tool_input": {}, "tool_use_id": "call_1" });
    assert_eq!(fixture.read("told"), format!("{expected}\n"));
    assert_eq!(fixture.read("project"), "", "there is no project");
}

// spec: timeout-jobs-hooks/J70
#[tokio::test]
async fn the_folder_of_the_project_is_that_of_the_configuration_if_it_has_one() {
    let fixture = Fixture::bare().await;
    let project = Some("/somewhere".to_owned());
    fixture.mount_as(hooks("PreToolUse", &[KEEP]), |config| Config { project_dir: project, ..config }).await;
    assert!(!fixture.call(json!({})).await.is_error());
    assert_eq!(fixture.read("project"), "/somewhere");
}
