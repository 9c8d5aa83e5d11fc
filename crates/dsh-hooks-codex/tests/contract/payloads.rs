//! What hooks read, to the byte.

use dsh_agent::{SESSION_START, SessionSource, SessionStart};
use dsh_hooks::testing::{hooks, records, until, user};
use dsh_session::{CreateSession, PERSISTENCE, SESSIONS};
use dsh_tools::CallRequest;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::fixture::Fixture;

/// Keeps what it reads.
const KEEP: &str = "cat > told.part; mv told.part told";

async fn keeping(point: &str) -> Fixture {
    let fixture = Fixture::bare().await;
    fixture.mount(&hooks(point, &[KEEP]).to_string(), "the-model").await;
    fixture
}

fn payload(fixture: &Fixture, point: &str, rest: &str) -> String {
    let folder = fixture.folder.path().to_string_lossy();
    format!(
        "{{\"session_id\":\"ada\",\"transcript_path\":null,\"cwd\":\"{folder}\",\"hook_event_name\":\"{point}\",\
         \"model\":\"the-model\",\"permission_mode\":\"default\",{rest}}}"
    )
}

// spec: timeout-jobs-hooks/J80, timeout-jobs-hooks/J57
#[tokio::test]
async fn of_a_call_only_the_command_is_told() {
    let commands = [
        (json!({ "command": "echo hi", "other": 1 }), "echo hi"),
        (json!({ "path": "a" }), ""),
        (json!({ "command": 7 }), ""),
        (json!({ "command": { "command": "x" } }), ""),
    ];
    for (arguments, command) in commands {
        let fixture = keeping("PreToolUse").await;
        assert!(!fixture.call(arguments).await.is_error());
        let rest = format!(
            r#""turn_id":"1","tool_name":"mark","tool_input":{{"command":"{command}"}},"tool_use_id":"call_1""#
        );
        assert_eq!(fixture.read("told"), payload(&fixture, "PreToolUse", &rest));
    }
}

// spec: timeout-jobs-hooks/J80
#[tokio::test]
async fn of_a_result_the_text_is_told() {
    let fixture = keeping("PostToolUse").await;
    assert!(!fixture.call(json!({ "command": "x" })).await.is_error());
    let rest = r#""turn_id":"1","tool_name":"mark","tool_input":{"command":"x"},"tool_use_id":"call_1","tool_response":"{\"command\":\"x\"}""#;
    assert_eq!(fixture.read("told"), payload(&fixture, "PostToolUse", rest));
}

// spec: timeout-jobs-hooks/J80
#[tokio::test]
async fn of_messages_of_the_end_of_a_turn_and_of_a_session() {
    let token = CancellationToken::new();
    let fixture = keeping("UserPromptSubmit").await;
    fixture.world.step(&fixture.agent, vec![user("go"), user("on")], &token).await.unwrap();
    let rest = r#""turn_id":"1","prompt":"goon""#;
    assert_eq!(fixture.read("told"), payload(&fixture, "UserPromptSubmit", rest));
    let fixture = keeping("Stop").await;
    fixture.world.stop(&fixture.agent, 1, &token).await;
    let rest = r#""turn_id":"1","stop_hook_active":false,"last_assistant_message":null"#;
    assert_eq!(fixture.read("told"), payload(&fixture, "Stop", rest));
    let fixture = keeping("SessionStart").await;
    let start = SessionStart { agent: fixture.agent.clone(), source: SessionSource::Startup };
    fixture.world.app.emit(SESSION_START, &start);
    until("the hook has run", || fixture.has("told")).await;
    assert_eq!(fixture.read("told"), payload(&fixture, "SessionStart", r#""source":"startup""#));
}

// spec: timeout-jobs-hooks/J80, timeout-jobs-hooks/J75
#[tokio::test]
async fn of_a_call_of_no_agent_the_turn_is_0_and_nothing_is_logged() {
    let fixture = Fixture::bare().await;
    let keep = format!("cd '{}'; {KEEP}", fixture.folder.path().display());
    fixture.mount(&hooks("PreToolUse", &[&keep]).to_string(), "").await;
    assert!(!fixture.world.execute(CallRequest::new("call_1", "mark", "{}")).await.is_error());
    let told: Value = serde_json::from_str(&fixture.read("told")).unwrap();
    let cwd = std::env::current_dir().unwrap();
    assert_eq!(
        told,
        json!({ "session_id": "", "transcript_path": null, "cwd": cwd.to_string_lossy(),
        "hook_event_name": "PreToolUse", "model": "", "permission_mode": "default", "turn_id": "0",
        "tool_name": "mark", "tool_input": { "command": "" }, "tool_use_id": "call_1" })
    );
    assert_eq!(records(fixture.agent.session()), []);
}

// spec: timeout-jobs-hooks/J80, timeout-jobs-hooks/J72
#[tokio::test]
async fn the_file_of_a_session_is_told_if_there_is_one() {
    let fixture = Fixture::bare().await;
    let app = &fixture.world.app;
    app.plugin(dsh_session::plugin(), ()).unwrap().ready().await.unwrap();
    let config = dsh_session_jsonl::Config::new(fixture.path("sessions"));
    app.plugin(dsh_session_jsonl::plugin(), config).unwrap().ready().await.unwrap();
    let options = CreateSession { id: Some("kept".to_owned()), ..CreateSession::default() };
    let session = app.get(SESSIONS).unwrap().get().unwrap().create(app, options).unwrap();
    let (agent, _) = dsh_agent::testing::agent(app, session.clone()).unwrap();
    let located = app.get(PERSISTENCE).unwrap().get().unwrap().locate(session.header()).unwrap();
    let dsh_session::Location::Jsonl { path } = located else { panic!("{located:?}") };
    let keep = format!("cd '{}'; {KEEP}", fixture.folder.path().display());
    fixture.mount(&hooks("PreToolUse", &[&keep]).to_string(), "").await;
    let request = CallRequest::new("call_1", "mark", "{}").agent(&agent);
    assert!(!fixture.world.execute(request).await.is_error());
    let told: Value = serde_json::from_str(&fixture.read("told")).unwrap();
    assert_eq!((&told["session_id"], &told["transcript_path"]), (&json!("kept"), &json!(path)));
}
