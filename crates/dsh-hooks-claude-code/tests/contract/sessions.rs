//! Hooks that nobody waits for.

use std::sync::Arc;

use dsh_agent::testing::{FnDriver, parts};
use dsh_agent::{
    Agent, CREATED, DISPOSED, InboxError, SESSION_START, SessionSource, SessionStart, Target, Wakeup,
};
use dsh_llm::{Message, Role};
use dsh_session::Session;
use serde_json::json;
use tempfile::TempDir;

use crate::fixture::{Fixture, blocks, hooks, of_hooks, says, until};

fn start(fixture: &Fixture) {
    let start = SessionStart { agent: fixture.agent.clone(), source: SessionSource::Startup };
    fixture.world.app.emit(SESSION_START, &start);
}

// spec: timeout-jobs-hooks/J73, timeout-jobs-hooks/J74
#[tokio::test]
async fn what_hooks_say_at_the_beginning_waits_for_the_next_step() {
    let (one, two) = (
        says("SessionStart", json!({ "additionalContext": "one" })),
        says("SessionStart", json!({ "additionalContext": "two" })),
    );
    let fixture = Fixture::of("SessionStart", &[&one, "echo plain", "exit 2", &two]).await;
    start(&fixture);
    assert_eq!(fixture.inbox.sent(), [], "nobody waits for it");
    until("it is said", || !fixture.inbox.sent().is_empty()).await;
    let sent = fixture.inbox.take();
    let [sent] = sent.as_slice() else { panic!("one message: {sent:?}") };
    assert_eq!((sent.target, sent.wakeup), (Target::NextStep, Wakeup::Wait));
    assert_eq!(blocks(&sent.message), ["one", "two"]);
    assert_eq!((sent.message.role, &sent.message.source), (Role::User, &of_hooks()));
}

// spec: timeout-jobs-hooks/J72
#[tokio::test]
async fn a_pattern_is_compared_with_where_the_session_comes_from() {
    let fixture = Fixture::with(json!({ "SessionStart": [
        { "matcher": "resume", "hooks": [{ "command": "touch resumed" }] },
        { "matcher": "startup|clear", "hooks": [{ "command": "touch started" }] },
    ] }))
    .await;
    start(&fixture);
    until("the hook has run", || fixture.has("started")).await;
    assert!(!fixture.has("resumed"));
}

// spec: timeout-jobs-hooks/J73, timeout-jobs-hooks/J84
#[tokio::test]
async fn what_cannot_be_said_is_a_warning() {
    let context = says("SessionStart", json!({ "additionalContext": "one" }));
    let fixture = Fixture::of("SessionStart", &[&context]).await;
    let refusing = refusing(&fixture);
    fixture
        .world
        .app
        .emit(SESSION_START, &SessionStart { agent: refusing.clone(), source: SessionSource::Startup });
    until("it is warned of", || !fixture.world.warnings().is_empty()).await;
    let warnings = fixture.world.warnings();
    assert!(warnings[0].starts_with("hooks-claude-code: SessionStart hook failed: "), "{warnings:?}");
}

/// An agent that can be told nothing.
fn refusing(fixture: &Fixture) -> Agent {
    let refuse = |_: &Agent, message: Arc<Message>, _: Target, _: Wakeup| {
        Err(InboxError::Pending { agent: "refusing".to_owned(), message: message.id.clone() })
    };
    let scope = fixture.world.app.scope().unwrap();
    Agent::new(parts(Session::detached("refusing"), scope, Arc::new(FnDriver(refuse))))
}

// spec: timeout-jobs-hooks/J73
#[tokio::test]
async fn only_agents_that_work_for_others_are_subagents() {
    let fixture = Fixture::with(json!({
        "SubagentStart": [{ "hooks": [{ "command": "cat >> started; touch begun" }] }],
        "SubagentStop": [{ "hooks": [{ "command": "cat >> stopped; touch all" }] }],
    }))
    .await;
    let (root, _) = fixture.world.agent("root", fixture.folder(), None);
    let (child, _) = fixture.world.agent("child", fixture.folder(), Some(&root));
    fixture.world.app.announce(CREATED, &root).unwrap();
    fixture.world.app.announce(CREATED, &child).unwrap();
    until("the start is told", || fixture.has("begun")).await;
    for agent in [&root, &child] {
        fixture.world.agents.remove(agent);
        fixture.world.app.emit(DISPOSED, agent);
    }
    until("the end is told", || fixture.has("all")).await;
    for told in ["started", "stopped"] {
        let ids: Vec<_> = fixture.told(told).into_iter().map(|it| it["agent_id"].clone()).collect();
        assert_eq!(ids, [json!("child")], "{told}");
    }
}

// spec: timeout-jobs-hooks/J73
#[tokio::test]
async fn a_subagent_is_told_what_the_hooks_say_at_its_beginning_and_nothing_at_its_end() {
    let (start, stop) = (
        says("SubagentStart", json!({ "additionalContext": "hello" })),
        format!("{}; touch stopped", says("SubagentStop", json!({ "additionalContext": "bye" }))),
    );
    let fixture = Fixture::bare().await;
    let mut both = hooks("SubagentStart", &[&start]);
    both["SubagentStop"] = hooks("SubagentStop", &[&stop])["SubagentStop"].clone();
    fixture.mount(both).await;
    let folder = TempDir::new().unwrap();
    let (child, inbox) = fixture.world.agent("child", folder.path(), Some(&fixture.agent));
    fixture.world.app.announce(CREATED, &child).unwrap();
    until("it is said", || !inbox.sent().is_empty()).await;
    assert_eq!(blocks(&inbox.take()[0].message), ["hello"]);
    fixture.world.app.emit(DISPOSED, &child);
    until("the hook has run", || folder.path().join("stopped").exists()).await;
    assert_eq!(inbox.sent(), []);
}

// spec: timeout-jobs-hooks/J73
#[tokio::test]
async fn a_hook_that_runs_on_keeps_no_agent_alive() {
    let fixture = Fixture::of("SessionStart", &["touch runs; sleep 300"]).await;
    let (guest, inbox) = fixture.world.agent("guest", fixture.folder(), None);
    let scope = guest.context().fiber();
    fixture
        .world
        .app
        .emit(SESSION_START, &SessionStart { agent: guest.clone(), source: SessionSource::Startup });
    until("the hook runs", || fixture.has("runs")).await;
    fixture.world.agents.remove(&guest);
    drop((guest, inbox));
    until("the agent's scope has closed", || scope.state() == cordis::State::Disposed).await;
}

// spec: timeout-jobs-hooks/J73
#[tokio::test]
async fn the_end_of_a_subagent_is_told_after_the_plugin_was_loaded_anew() {
    let fixture = Fixture::bare().await;
    let plugin = fixture.mount(hooks("SubagentStop", &["touch stopped"])).await;
    let (child, _) = fixture.world.agent("child", fixture.folder(), Some(&fixture.agent));
    fixture.world.app.announce(CREATED, &child).unwrap();
    plugin.restart().await.unwrap();
    fixture.world.agents.remove(&child);
    fixture.world.app.emit(DISPOSED, &child);
    until("the hook has run", || fixture.has("stopped")).await;
}
