//! What ends a count.

use std::sync::Arc;

use dsh_agent::{Agent, DISPOSED, PRE_STEP, PreStep, PreStepDecision};
use dsh_llm::{ContentBlock, Message, Role, Source};
use tokio_util::sync::CancellationToken;

use crate::fixture::Fixture;

fn message(source: Source) -> Arc<Message> {
    Arc::new(Message::new(Role::User, vec![ContentBlock::text("hello")], source))
}

/// A step of the agent that begins with messages of these sources; gives what was decided.
async fn step(
    fixture: &Fixture,
    agent: &Agent,
    sources: Vec<Source>,
) -> (Vec<Arc<Message>>, PreStepDecision) {
    async fn enter(_: &(), step: &mut PreStep) -> PreStepDecision {
        PreStepDecision::Enter { messages: step.messages.clone() }
    }
    let messages: Vec<_> = sources.into_iter().map(message).collect();
    let mut step = PreStep {
        agent: agent.clone(),
        messages: messages.clone(),
        turn: 1,
        step: 1,
        cancellation: CancellationToken::new(),
    };
    (messages, fixture.app.waterfall(PRE_STEP, &mut step, &(), enter).await.unwrap())
}

// spec: timeout-jobs-hooks/J19
#[tokio::test]
async fn what_the_user_says_ends_the_count_and_the_step_begins_as_it_would() {
    let fixture = Fixture::at(&[2]).await;
    assert!(!fixture.reminds("look", "{}").await);
    let sources = vec![Source::notice("other", "news"), Source::User {}, Source::notice("other", "more")];
    let (messages, decision) = step(&fixture, &fixture.ada, sources).await;
    assert_eq!(decision, PreStepDecision::Enter { messages });
    assert!(!fixture.reminds("look", "{}").await);
    assert!(fixture.reminds("look", "{}").await);
}

// spec: timeout-jobs-hooks/J19
#[tokio::test]
async fn what_plugins_say_and_a_step_without_messages_do_not() {
    let fixture = Fixture::at(&[4]).await;
    let others = [
        vec![],
        vec![Source::notice("repeat-tool-reminder", "look × 2")],
        vec![Source::Tool { call_id: "call_1".to_owned() }, Source::notice("other", "news")],
    ];
    for sources in others {
        assert!(!fixture.reminds("look", "{}").await);
        let (messages, decision) = step(&fixture, &fixture.ada, sources).await;
        assert_eq!(decision, PreStepDecision::Enter { messages });
    }
    assert!(fixture.reminds("look", "{}").await);
}

// spec: timeout-jobs-hooks/J19
#[tokio::test]
async fn what_the_user_says_to_one_agent_ends_no_count_of_another() {
    let fixture = Fixture::at(&[2]).await;
    let session = fixture.sessions.create(&fixture.app, dsh_session::CreateSession::default()).unwrap();
    let (ben, _inbox) = dsh_agent::testing::agent(&fixture.app, session).unwrap();
    assert!(!fixture.reminds("look", "{}").await);
    step(&fixture, &ben, vec![Source::User {}]).await;
    assert!(fixture.reminds("look", "{}").await);
}

// spec: timeout-jobs-hooks/J19
#[tokio::test]
async fn the_end_of_an_agent_ends_its_count() {
    let fixture = Fixture::at(&[2]).await;
    assert!(!fixture.reminds("look", "{}").await);
    fixture.app.emit(DISPOSED, &fixture.ada);
    assert!(!fixture.reminds("look", "{}").await);
}
