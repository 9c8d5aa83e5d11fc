//! Agents that go on with a stored session.

use dsh_agent::{AgentError, CreateAgent, ResumeAgent, Target};
use dsh_llm::ContentBlock;
use dsh_llm::testing::Answer;
use dsh_session::{CreateSession, PersistError, SESSIONS, TurnEndReason, TurnStart};
use serde_json::json;
use tempfile::TempDir;

use crate::fixture::{Fixture, Heard, begins, calls, endings, options, raw, said, texts};

async fn with_store(folder: &TempDir, answers: impl IntoIterator<Item = Answer>) -> Fixture {
    let fixture = Fixture::new(answers).await;
    let config = dsh_session_jsonl::Config::new(folder.path());
    fixture.app.plugin(dsh_session_jsonl::plugin(), config).unwrap().ready().await.unwrap();
    fixture
}

async fn flush(fixture: &Fixture, agent: &dsh_agent::Agent) {
    let sessions = fixture.app.get(SESSIONS).unwrap();
    assert!(sessions.get().unwrap().flush(agent.session()).await.unwrap());
}

fn in_folder(id: &str) -> CreateAgent {
    let session = CreateSession {
        id: Some(id.to_owned()),
        cwd: Some("/src".to_owned()),
        delegation_depth: 1,
        ..CreateSession::default()
    };
    CreateAgent::with_session(session).options(options())
}

// spec: agent-loop/S27, agent-loop/S21, agent-loop/S23
#[tokio::test]
async fn the_conversation_and_the_numbers_go_on() {
    let folder = TempDir::new().unwrap();
    let fixture = with_store(&folder, [Answer::text("one")]).await;
    let agent = fixture.agents().create(&fixture.app, in_folder("a")).await.unwrap();
    agent.followup(said("a")).unwrap();
    agent.when_idle().await;
    agent.inject(said("note")).unwrap();
    let live = fixture.agents().resume(&fixture.app, ResumeAgent::new("a")).await.unwrap_err();
    assert!(matches!(&live, AgentError::Stored { source: PersistError::Live { .. }, .. }), "{live}");
    flush(&fixture, &agent).await;
    // As if the process were gone: an agent that ends in order cancels what waits.
    let copy = TempDir::new().unwrap();
    copied(folder.path(), copy.path());
    agent.dispose().await;
    assert!(agent.inbox().is_empty());

    let fixture = with_store(&copy, [Answer::text("two")]).await;
    let heard = Heard::default();
    heard.listen(&fixture.app);
    let again =
        fixture.agents().resume(&fixture.app, ResumeAgent::new("a").options(options())).await.unwrap();
    assert_eq!(heard.take(), ["created a", "start resume"]);
    assert_eq!(again.session().header().cwd.as_deref(), Some("/src"));
    assert_eq!(again.session().header().delegation_depth, 1);
    // What waited still waits.
    assert_eq!(again.inbox().waits_for(Target::NextStep), 1);
    again.followup(said("b")).unwrap();
    again.when_idle().await;
    assert_eq!(texts(again.session()), ["a", "one", "note", "b", "two"]);
    let starts: Vec<u64> = again
        .session()
        .events()
        .iter()
        .filter_map(|event| event.payload::<TurnStart>().unwrap())
        .map(|start| start.turn)
        .collect();
    assert_eq!(starts, [1, 2]);
}

// spec: agent-loop/S27, cases/G3, cases/S5
#[tokio::test]
async fn what_broke_off_in_a_batch_is_closed_before_it_goes_on() {
    let folder = TempDir::new().unwrap();
    let batch = calls(&[("c1", "hang", json!({})), ("c2", "hang", json!({}))]);
    let fixture = with_store(&folder, [batch]).await;
    let hang = tokio_util::sync::CancellationToken::new();
    let entered = hang.clone();
    fixture.offer(
        &fixture.app,
        raw("hang").run(move |_, _| {
            let entered = entered.clone();
            async move {
                entered.cancel();
                std::future::pending().await
            }
        }),
    );
    let agent = fixture.agents().create(&fixture.app, in_folder("a")).await.unwrap();
    agent.followup(said("go")).unwrap();
    hang.cancelled().await;
    flush(&fixture, &agent).await;
    // As if the process were gone: what is stored ends in the middle of a call.
    let copy = TempDir::new().unwrap();
    copied(folder.path(), copy.path());

    let next = with_store(&copy, [Answer::text("ok")]).await;
    let again = next.agents().resume(&next.app, ResumeAgent::new("a").options(options())).await.unwrap();
    assert_eq!(endings(again.session()), [TurnEndReason::Interrupted {}]);
    again.followup(said("and?")).unwrap();
    again.when_idle().await;
    let asked = &next.requests()[0].messages;
    let results: Vec<&str> = asked
        .iter()
        .flat_map(|message| &message.content)
        .filter_map(|block| match block {
            ContentBlock::ToolResult { tool_call_id, .. } => Some(tool_call_id.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(results, ["c1", "c2"]);
    assert_eq!(asked.last().unwrap().text(), "and?");
    next.app.shutdown().await;
    agent.cancel(dsh_session::CancelCause::User {}).unwrap();
}

fn copied(from: &std::path::Path, to: &std::path::Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir_all(&target).unwrap();
            copied(&entry.path(), &target);
        } else if !entry.file_name().to_string_lossy().contains("lock") {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

// spec: agent-loop/S27, agent-loop/S24
#[tokio::test]
async fn what_is_not_stored_cannot_be_resumed() {
    let fixture = Fixture::new([]).await;
    let none = fixture.agents().resume(&fixture.app, ResumeAgent::new("a")).await.unwrap_err();
    assert!(matches!(none, AgentError::NoPersistence { .. }), "{none}");
    let folder = TempDir::new().unwrap();
    let fixture = with_store(&folder, [begins("x")]).await;
    let none = fixture.agents().resume(&fixture.app, ResumeAgent::new("a")).await.unwrap_err();
    assert!(matches!(&none, AgentError::Stored { source: PersistError::NotFound { .. }, .. }), "{none}");
    // A set-up that fails gives the stored session up again.
    let agent = fixture.agents().create(&fixture.app, in_folder("a")).await.unwrap();
    agent.inject(said("note")).unwrap();
    flush(&fixture, &agent).await;
    let copy = TempDir::new().unwrap();
    copied(folder.path(), copy.path());
    let fixture = with_store(&copy, []).await;
    let fails = ResumeAgent::new("a").setup(|_| async { Err("no".into()) });
    let failed = fixture.agents().resume(&fixture.app, fails).await.unwrap_err();
    assert!(matches!(failed, AgentError::Setup { .. }), "{failed}");
    let again = fixture.agents().resume(&fixture.app, ResumeAgent::new("a")).await.unwrap();
    assert_eq!(again.inbox().waits_for(Target::NextStep), 1);
}

// spec: agent-loop/S16
#[tokio::test]
async fn a_forked_session_inherits_nothing_that_waits() {
    let fixture = Fixture::new([Answer::text("one")]).await;
    let agent = fixture.agent("a").await;
    agent.followup(said("go")).unwrap();
    agent.when_idle().await;
    agent.inject(said("note")).unwrap();
    let events = agent.session().events();
    let session = CreateSession {
        id: Some("b".into()),
        seed_length: Some(events.len() as u64),
        seed: Some(dsh_session::Seed::from(events)),
        parent_session: Some("a".into()),
        ..CreateSession::default()
    };
    let child = fixture.agents().create(&fixture.app, CreateAgent::with_session(session)).await.unwrap();
    assert!(child.inbox().is_empty());
    assert!(!agent.inbox().is_empty());
}

// spec: agent-loop/S16
#[tokio::test]
async fn a_log_whose_changes_cannot_have_happened_makes_no_agent() {
    let fixture = Fixture::new([]).await;
    let session = dsh_session::Session::detached("x");
    let splice = json!({ "target": "next-turn", "start": 3, "inserted": [] });
    session.append(dsh_session::NewEvent::raw("agent/inbox/spliced", &splice.to_string()).unwrap()).unwrap();
    let session = CreateSession {
        id: Some("a".into()),
        seed: Some(dsh_session::Seed::from(session.events())),
        ..CreateSession::default()
    };
    let error = fixture.agents().create(&fixture.app, CreateAgent::with_session(session)).await.unwrap_err();
    assert!(matches!(&error, AgentError::BadLog(bad) if bad.seq == 0), "{error}");
    assert!(error.to_string().contains("event 0"), "{error}");
}
