//! What a model answers, and what becomes of answers that fail or break off.

use cordis::Next;
use dsh_agent::{REQUEST_ERROR, Recovered, Recovery, RequestError};
use dsh_llm::testing::{Answer, Gate, finish};
use dsh_llm::{
    ContentBlock, FinishReason, LlmError, LlmFailure, ModelCall, Outcome, STREAM, Source, StreamChunk,
    TokenUsage,
};
use dsh_session::{
    AssistantChunk, AssistantMessage, CancelCause, EVENT, Event, Payload, Session, SessionEvent,
    TurnEndReason,
};
use serde_json::json;
use std::sync::Arc;

use crate::fixture::{Fixture, Heard, begins, ended, endings, kinds, said, texts};

type Recovering<'a> = Next<'a, RequestError, Recovered>;

/// The events of a type.
fn events(session: &Session, kind: &str) -> Vec<Arc<Event>> {
    session.events().iter().filter(|event| event.kind() == kind).collect()
}

fn answers(session: &Session) -> Vec<(AssistantMessage, Arc<Event>)> {
    let answers = events(session, AssistantMessage::TYPE);
    answers.into_iter().map(|event| (event.payload().unwrap().unwrap(), event)).collect()
}

// spec: agent-loop/S53
#[tokio::test]
async fn an_answer_names_the_pieces_that_it_is_made_of() {
    let usage = TokenUsage { input_tokens: 3, output_tokens: 1, ..TokenUsage::default() };
    let state = json!({ "signature": "s" });
    let end = StreamChunk::BlockEnd { index: 0, block: ContentBlock::text("hello") };
    let last = StreamChunk::Finish { reason: FinishReason::Stop {}, replay_state: Some(state.clone()) };
    let answer = begins("hello").chunks([end, StreamChunk::Usage { usage }, last]);
    let fixture = Fixture::new([answer]).await;
    let agent = fixture.agent("a").await;
    agent.followup(said("go")).unwrap();
    agent.when_idle().await;
    let pieces: Vec<u64> =
        events(agent.session(), AssistantChunk::TYPE).iter().map(|event| event.seq()).collect();
    let [(answer, event)] = &answers(agent.session())[..] else { panic!("one answer") };
    assert_eq!(event.sources(), Some(&pieces[..]));
    assert_eq!(pieces.len(), 5);
    assert_eq!(answer.usage, Some(usage));
    assert_eq!(answer.interrupted, None);
    let source = Source::Model { provider: "scripted".into(), model: "m".into(), replay_state: Some(state) };
    assert_eq!(answer.message.source, source);
}

// spec: agent-loop/S53
#[tokio::test]
async fn an_answer_without_content_is_logged_and_not_sent_back() {
    let fixture =
        Fixture::new([Answer::new().chunks([finish(FinishReason::Stop {})]), Answer::text("two")]).await;
    let agent = fixture.agent("a").await;
    agent.followup(said("one")).unwrap();
    agent.when_idle().await;
    assert_eq!(answers(agent.session())[0].0.message.content, []);
    assert_eq!(endings(agent.session()), [TurnEndReason::Completed {}]);
    agent.followup(said("again")).unwrap();
    agent.when_idle().await;
    assert_eq!(texts(agent.session()), ["one", "again", "two"]);
}

// spec: agent-loop/S54
#[tokio::test]
async fn tools_run_because_they_are_called_whatever_the_finish_says() {
    let call = |index| {
        let block = ContentBlock::ToolCall { id: "c1".into(), name: "echo".into(), arguments: "{}".into() };
        [
            StreamChunk::BlockStart { index, block_type: "tool-call".into() },
            StreamChunk::BlockEnd { index, block },
        ]
    };
    let odd = Answer::new().chunks(call(0)).chunks([finish(FinishReason::Stop {})]);
    let none = ended("no call at all", FinishReason::ToolCalls {});
    let fixture = Fixture::new([odd, none]).await;
    fixture.echo(&fixture.app, "echo");
    let agent = fixture.agent("a").await;
    agent.followup(said("go")).unwrap();
    agent.when_idle().await;
    assert_eq!(events(agent.session(), "tool/result").len(), 1);
    assert_eq!(endings(agent.session()), [TurnEndReason::Completed {}]);
}

// spec: agent-loop/S53, agent-loop/S55, agent-loop/S74
#[tokio::test]
async fn what_was_said_before_a_cancel_is_kept_and_sent_back() {
    let gate = Gate::new();
    let usage = TokenUsage { output_tokens: 2, ..TokenUsage::default() };
    let mut call = vec![StreamChunk::Usage { usage }];
    call.push(StreamChunk::BlockStart { index: 1, block_type: "tool-call".into() });
    let half = begins("half of it").chunks(call).wait(&gate);
    let fixture = Fixture::new([half, Answer::text("two")]).await;
    let agent = fixture.agent("a").await;
    agent.followup(said("go")).unwrap();
    gate.reached().await;
    agent.cancel(CancelCause::User {}).unwrap();
    agent.when_idle().await;
    let [(answer, event)] = &answers(agent.session())[..] else { panic!("one answer") };
    assert_eq!(answer.message.content, [ContentBlock::text("half of it")]);
    assert_eq!((answer.interrupted, answer.usage), (Some(true), Some(usage)));
    assert_eq!(event.sources().map(<[u64]>::len), Some(4));
    let kinds = kinds(agent.session());
    assert_eq!(kinds[kinds.len() - 3..], ["assistant/message", "step/end", "turn/end"]);
    agent.followup(said("and then?")).unwrap();
    agent.when_idle().await;
    let asked: Vec<String> = fixture.requests()[1].messages.iter().map(|message| message.text()).collect();
    assert_eq!(asked, ["go", "half of it", "and then?"]);
}

// spec: agent-loop/S53, agent-loop/S74
#[tokio::test]
async fn blanks_and_calls_alone_are_not_kept_when_a_turn_is_cancelled() {
    let gate = Gate::new();
    let call = StreamChunk::BlockStart { index: 1, block_type: "tool-call".into() };
    let fixture = Fixture::new([begins(" \n ").chunks([call]).wait(&gate)]).await;
    let agent = fixture.agent("a").await;
    let heard = Heard::default();
    heard.listen(&fixture.app);
    agent.followup(said("go")).unwrap();
    gate.reached().await;
    agent.cancel(CancelCause::User {}).unwrap();
    agent.when_idle().await;
    assert_eq!(answers(agent.session()), []);
    assert!(!heard.all().iter().any(|it| it.starts_with("error")), "an abort is no error");
}

// spec: agent-loop/S55
#[tokio::test]
async fn a_piece_that_was_logged_before_a_cancel_stays_and_none_comes_after_it() {
    let fixture = Fixture::new([Answer::text("whole")]).await;
    let agent = fixture.agent("a").await;
    fixture
        .app
        .on(EVENT)
        .with(agent.agent().downgrade())
        .run(|agent: &dsh_agent::WeakAgent, told: &SessionEvent| {
            let delta = told.event.payload::<AssistantChunk>().unwrap();
            if delta.is_some_and(|piece| matches!(piece.chunk, StreamChunk::TextDelta { .. })) {
                agent.upgrade().unwrap().interrupt(CancelCause::User {}).unwrap();
            }
        })
        .unwrap();
    agent.followup(said("go")).unwrap();
    agent.when_idle().await;
    let pieces = events(agent.session(), AssistantChunk::TYPE);
    assert!(pieces.last().unwrap().data().get().contains("text-delta"));
    assert_eq!(texts(agent.session()), ["go", "whole"]);
}

// spec: agent-loop/S56, agent-loop/S58
#[tokio::test]
async fn a_failed_attempt_leaves_its_pieces_and_the_same_step_asks_again() {
    let failing = begins("cut").fail(LlmError::new("TRANSPORT", "gone"));
    let fixture = Fixture::new([failing, Answer::text("whole")]).await;
    let agent = fixture.agent("a").await;
    let heard = Heard::default();
    let retries = async |heard: &Heard, error: &mut RequestError, _: Recovering<'_>| {
        heard.say(format!("{}.{} {} {}", error.turn, error.step, error.provider, error.failure.code));
        assert!(error.retry_policy.is_some());
        Ok(Recovery::Retry)
    };
    fixture.app.on(REQUEST_ERROR).with(heard.clone()).run(retries).unwrap();
    agent.followup(said("go")).unwrap();
    agent.when_idle().await;
    assert_eq!(heard.all(), ["1.1 scripted TRANSPORT"]);
    let [(answer, event)] = &answers(agent.session())[..] else { panic!("one answer") };
    assert_eq!(answer.step, 1);
    let sources = event.sources().unwrap();
    let pieces: Vec<u64> =
        events(agent.session(), AssistantChunk::TYPE).iter().map(|event| event.seq()).collect();
    assert_eq!(sources, &pieces[pieces.len() - sources.len()..]);
    assert!(sources.len() < pieces.len());
    let requests = fixture.requests();
    assert_eq!(requests[0].messages, requests[1].messages);
    assert_eq!(events(agent.session(), "request/header").len(), 1);
    assert_eq!(events(agent.session(), "step/start").len(), 1);
}

// spec: agent-loop/S53, agent-loop/S42
#[tokio::test]
async fn a_failure_that_nobody_sees_to_is_the_turns_with_all_its_facts() {
    let failure = LlmFailure { status: Some(429), ..LlmFailure::new("RATE_LIMIT", "slow down") };
    let failing = begins("cut").fail(LlmError::try_from(failure.clone()).unwrap());
    let fixture = Fixture::new([failing]).await;
    let agent = fixture.agent("a").await;
    let heard = Heard::default();
    heard.listen(&fixture.app);
    agent.followup(said("go")).unwrap();
    agent.when_idle().await;
    assert_eq!(endings(agent.session()), [TurnEndReason::Error { error: failure }]);
    assert!(heard.all().contains(&"error in 1 1: slow down".to_owned()), "{:?}", heard.all());
    assert_eq!(texts(agent.session()), ["go"]);
}

// spec: agent-loop/S58
#[tokio::test]
async fn a_listener_of_failures_that_fails_gives_the_turn_its_own_error() {
    let fixture = Fixture::new([Answer::error(LlmError::new("SERVER", "oops"))]).await;
    let agent = fixture.agent("a").await;
    let fails = async |_: &mut RequestError, _: Recovering<'_>| -> Recovered { Err("no plan b".into()) };
    fixture.app.on(REQUEST_ERROR).run(fails).unwrap();
    agent.followup(said("go")).unwrap();
    agent.when_idle().await;
    let [TurnEndReason::Error { error }] = &endings(agent.session())[..] else { panic!("one turn") };
    assert_eq!((error.code.as_str(), error.message.as_str()), ("UNKNOWN", "no plan b"));
}

// spec: agent-loop/S58, agent-loop/S53
#[tokio::test]
async fn a_cancel_wins_over_a_retry() {
    let fixture = Fixture::new([begins("cut").fail(LlmError::new("SERVER", "oops"))]).await;
    let agent = fixture.agent("a").await;
    let retries = async |error: &mut RequestError, _: Recovering<'_>| {
        error.agent.cancel(CancelCause::User {}).unwrap();
        assert!(error.cancellation.is_cancelled());
        Ok(Recovery::Retry)
    };
    fixture.app.on(REQUEST_ERROR).run(retries).unwrap();
    agent.followup(said("go")).unwrap();
    agent.when_idle().await;
    assert_eq!(endings(agent.session()), [TurnEndReason::Aborted { reason: CancelCause::User {} }]);
    // Nothing of an answer is kept that was over before the cancel.
    assert_eq!(texts(agent.session()), ["go"]);
    assert_eq!(fixture.requests().len(), 1);
}

// spec: agent-loop/S57
#[tokio::test]
async fn what_a_listener_of_the_stream_raises_is_not_offered_for_recovery() {
    let fixture = Fixture::new([]).await;
    let agent = fixture.agent("a").await;
    let asked = async |_: &mut RequestError, _: Recovering<'_>| -> Recovered { panic!("asked") };
    fixture.app.on(REQUEST_ERROR).run(asked).unwrap();
    let raises = async |_: &mut ModelCall, _: Next<'_, ModelCall, Outcome>| -> Outcome {
        Err(LlmError::new("QUOTA", "not today").into())
    };
    fixture.app.on(STREAM).run(raises).unwrap();
    agent.followup(said("go")).unwrap();
    agent.when_idle().await;
    let [TurnEndReason::Error { error }] = &endings(agent.session())[..] else { panic!("one turn") };
    assert_eq!((error.code.as_str(), error.message.as_str()), ("QUOTA", "not today"));
}

// spec: agent-loop/S42
#[tokio::test]
async fn a_failure_without_facts_that_can_be_is_an_unknown_one() {
    let failure = LlmFailure { code: String::new(), ..LlmFailure::new("x", "model stopped") };
    let odd = Answer::new().chunks([finish(FinishReason::Error { failure })]);
    let fixture = Fixture::new([odd]).await;
    let agent = fixture.agent("a").await;
    agent.followup(said("go")).unwrap();
    agent.when_idle().await;
    let [TurnEndReason::Error { error }] = &endings(agent.session())[..] else { panic!("one turn") };
    assert_eq!(error.code, "UNKNOWN");
}
