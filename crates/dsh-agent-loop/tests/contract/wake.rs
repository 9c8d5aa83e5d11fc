//! Who is woken when, and what waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use cordis::Next;
use dsh_agent::{
    AgentStatus, INBOX_INSERTED, InboxError, PRE_STEP, PreStep, PreStepDecision, STATUS, Target,
};
use dsh_llm::testing::{Answer, Gate};
use dsh_llm::{Message, Role};
use dsh_session::{CancelCause, TurnEndReason};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::fixture::{Fixture, Heard, begins, endings, kinds, said, text_begins, texts};

// spec: agent-loop/S37
#[tokio::test]
async fn the_turn_is_begun_and_the_message_taken_before_the_send_returns() {
    let fixture = Fixture::new([Answer::text("ok")]).await;
    let agent = fixture.agent("a").await;
    agent.followup(said("go")).unwrap();
    assert_eq!(kinds(agent.session()), ["agent/inbox/spliced", "turn/start", "agent/inbox/spliced"]);
    assert!(agent.inbox().is_empty());
    agent.when_idle().await;
}

// spec: agent-loop/S37, agent-loop/S74, agent-loop/S72
#[tokio::test]
async fn a_cancel_right_after_the_send_closes_a_turn_without_a_step_and_nothing_comes_back() {
    for keep in [false, true] {
        let fixture = Fixture::new([]).await;
        let agent = fixture.agent("a").await;
        agent.followup(said("go")).unwrap();
        let cancelled =
            if keep { agent.interrupt(CancelCause::User {}) } else { agent.cancel(CancelCause::User {}) };
        cancelled.unwrap();
        agent.when_idle().await;
        let expected = ["agent/inbox/spliced", "turn/start", "agent/inbox/spliced", "turn/end"];
        assert_eq!(kinds(agent.session()), expected);
        assert_eq!(endings(agent.session()), [TurnEndReason::Aborted { reason: CancelCause::User {} }]);
        assert!(agent.inbox().is_empty());
    }
}

// spec: agent-loop/S37, agent-loop/S74
#[tokio::test]
async fn a_listener_of_the_status_that_cancels_keeps_the_turn_from_being_opened() {
    let fixture = Fixture::new([]).await;
    let agent = fixture.agent("a").await;
    let cancels = fixture
        .app
        .on(STATUS)
        .run(|change| {
            if change.status == AgentStatus::Running {
                change.agent.interrupt(CancelCause::User {}).unwrap();
            }
        })
        .unwrap();
    agent.followup(said("go")).unwrap();
    agent.when_idle().await;
    assert_eq!(kinds(agent.session()), ["agent/inbox/spliced"]);
    assert_eq!(agent.status(), AgentStatus::Idle);
    cancels.dispose().await;
    assert!(!agent.inbox().is_empty());
}

// spec: agent-loop/S37, agent-loop/S42
#[tokio::test]
async fn a_turn_is_opened_also_if_the_message_is_gone_by_then() {
    let fixture = Fixture::new([]).await;
    let agent = fixture.agent("a").await;
    let removes = fixture
        .app
        .on(INBOX_INSERTED)
        .run(|change| {
            assert!(change.agent.inbox().remove(&change.message.id).unwrap());
        })
        .unwrap();
    agent.followup(said("go")).unwrap();
    agent.when_idle().await;
    removes.dispose().await;
    assert_eq!(kinds(agent.session()).split_off(2), ["turn/start", "turn/end"]);
    assert_eq!(endings(agent.session()), [TurnEndReason::Completed {}]);
}

// spec: agent-loop/S38, agent-loop/S43
#[tokio::test]
async fn what_comes_while_the_agent_works_is_taken_by_the_same_activity() {
    let gate = Gate::new();
    let fixture = Fixture::new([Answer::new().wait(&gate).chunks(text("one")), Answer::text("two")]).await;
    let agent = fixture.agent("a").await;
    let heard = Heard::default();
    heard.listen(&fixture.app);
    agent.followup(said("a")).unwrap();
    gate.reached().await;
    agent.followup(said("b")).unwrap();
    gate.open();
    agent.when_idle().await;
    let statuses: Vec<_> = heard.all().into_iter().filter(|it| it.starts_with("status")).collect();
    assert_eq!(statuses, ["status running", "status idle"]);
    assert_eq!(texts(agent.session()), ["a", "one", "b", "two"]);
}

// spec: agent-loop/S39, agent-loop/S40, agent-loop/S43
#[tokio::test]
async fn what_wakes_after_a_cancel_begins_a_turn_when_the_old_one_is_over() {
    let gate = Gate::new();
    let fixture = Fixture::new([begins("half").wait(&gate), Answer::text("two")]).await;
    let agent = fixture.agent("a").await;
    agent.followup(said("a")).unwrap();
    gate.reached().await;
    agent.cancel(CancelCause::User {}).unwrap();
    agent.steer(said("b")).unwrap();
    // It waits for a turn, whatever it was sent for.
    assert_eq!(agent.inbox().waits_for(Target::NextTurn), 1);
    agent.inject(said("note")).unwrap();
    assert_eq!(agent.inbox().waits_for(Target::NextStep), 1);
    agent.when_idle().await;
    assert_eq!(texts(agent.session()), ["a", "half", "note", "b", "two"]);
    let aborted = TurnEndReason::Aborted { reason: CancelCause::User {} };
    assert_eq!(endings(agent.session()), [aborted, TurnEndReason::Completed {}]);
}

// spec: agent-loop/S39, agent-loop/S71
#[tokio::test]
async fn a_second_cancel_drops_what_has_woken_the_agent_after_the_first() {
    let gate = Gate::new();
    let fixture = Fixture::new([begins("half").wait(&gate)]).await;
    let agent = fixture.agent("a").await;
    agent.followup(said("a")).unwrap();
    gate.reached().await;
    agent.cancel(CancelCause::Hook { reason: "first".into() }).unwrap();
    agent.followup(said("b")).unwrap();
    agent.cancel(CancelCause::User {}).unwrap();
    agent.when_idle().await;
    assert!(agent.inbox().is_empty());
    // The first cause stands.
    let aborted = TurnEndReason::Aborted { reason: CancelCause::Hook { reason: "first".into() } };
    assert_eq!(endings(agent.session()), [aborted]);
}

// spec: agent-loop/S40
#[tokio::test]
async fn a_message_that_woke_and_was_removed_begins_nothing() {
    let gate = Gate::new();
    let fixture = Fixture::new([begins("half").wait(&gate)]).await;
    let agent = fixture.agent("a").await;
    agent.followup(said("a")).unwrap();
    gate.reached().await;
    agent.interrupt(CancelCause::User {}).unwrap();
    let late = said("b");
    agent.followup(late.clone()).unwrap();
    assert!(agent.inbox().remove(&late.id).unwrap());
    agent.when_idle().await;
    assert_eq!(endings(agent.session()).len(), 1);
}

// spec: agent-loop/S43, agent-loop/S72
#[tokio::test]
async fn what_waits_survives_an_interruption_and_is_taken_by_the_next_wake() {
    let gate = Gate::new();
    let fixture =
        Fixture::new([begins("half").wait(&gate), Answer::text("two"), Answer::text("three")]).await;
    let agent = fixture.agent("a").await;
    agent.followup(said("a")).unwrap();
    gate.reached().await;
    agent.followup(said("b")).unwrap();
    agent.interrupt(CancelCause::Parent {}).unwrap();
    agent.when_idle().await;
    assert_eq!(agent.inbox().waits_for(Target::NextTurn), 1);
    assert_eq!(texts(agent.session()), ["a", "half"]);
    agent.followup(said("c")).unwrap();
    agent.when_idle().await;
    assert_eq!(texts(agent.session()), ["a", "half", "b", "two", "c", "three"]);
}

// spec: agent-loop/S73
#[tokio::test]
async fn each_turn_has_a_token_of_its_own() {
    let fixture = Fixture::new(["one", "two"].map(Answer::text)).await;
    let agent = fixture.agent("a").await;
    let tokens: Arc<Mutex<Vec<CancellationToken>>> = Arc::default();
    let keeps = async |tokens: &Arc<Mutex<Vec<CancellationToken>>>,
                       step: &mut PreStep,
                       next: Next<'_, PreStep, PreStepDecision>| {
        tokens.lock().push(step.cancellation.clone());
        if step.turn == 2 {
            step.agent.cancel(CancelCause::User {}).unwrap();
        }
        next.run(step).await
    };
    fixture.app.on(PRE_STEP).with(tokens.clone()).run(keeps).unwrap();
    agent.followup(said("a")).unwrap();
    agent.followup(said("b")).unwrap();
    agent.when_idle().await;
    let cancelled: Vec<bool> = tokens.lock().iter().map(CancellationToken::is_cancelled).collect();
    assert_eq!(cancelled, [false, true]);
    let aborted = TurnEndReason::Aborted { reason: CancelCause::User {} };
    assert_eq!(endings(agent.session()), [TurnEndReason::Completed {}, aborted]);
}

// spec: agent-loop/S71
#[tokio::test]
async fn a_cancel_of_an_idle_agent_clears_what_waits_and_arms_nothing() {
    let fixture = Fixture::new([Answer::text("ok")]).await;
    let agent = fixture.agent("a").await;
    agent.cancel(CancelCause::User {}).unwrap();
    assert_eq!(kinds(agent.session()), Vec::<String>::new());
    let heard = Heard::default();
    heard.listen(&fixture.app);
    agent.inject(said("note")).unwrap();
    agent.cancel(CancelCause::User {}).unwrap();
    let expected = ["agent/inbox/spliced", "inserted note", "agent/inbox/spliced", "discarded note"];
    assert_eq!(heard.all(), expected);
    agent.followup(said("go")).unwrap();
    agent.when_idle().await;
    assert_eq!(endings(agent.session()), [TurnEndReason::Completed {}]);
}

// spec: agent-loop/S41
#[tokio::test]
async fn whoever_waits_for_an_idle_agent_follows_what_begins_meanwhile() {
    let fixture = Fixture::new(["one", "two"].map(Answer::text)).await;
    let agent = fixture.agent("a").await;
    agent.when_idle().await;
    let once = Arc::new(AtomicBool::new(false));
    let again = once.clone();
    fixture
        .app
        .on(STATUS)
        .run(move |change| {
            if change.status == AgentStatus::Idle && !again.swap(true, SeqCst) {
                change.agent.followup(said("again")).unwrap();
            }
        })
        .unwrap();
    agent.followup(said("go")).unwrap();
    agent.when_idle().await;
    assert_eq!(texts(agent.session()), ["go", "one", "again", "two"]);
}

// spec: agent-loop/S6, agent-loop/S10
#[tokio::test]
async fn what_cannot_be_a_message_moves_nothing() {
    let fixture = Fixture::new([]).await;
    let agent = fixture.agent("a").await;
    let answer = Arc::new(Message { role: Role::Assistant, ..Message::clone(&said("x")) });
    assert!(matches!(agent.followup(answer), Err(InboxError::NotUser { .. })));
    let source = dsh_llm::Source::Other(serde_json::json!({ "kind": "odd", "n": 1e300 }));
    let nameless = Arc::new(Message { id: String::new(), source, ..Message::clone(&said("x")) });
    assert!(matches!(agent.followup(nameless), Err(InboxError::Invalid { .. })));
    assert_eq!(kinds(agent.session()), Vec::<String>::new());
    assert_eq!(agent.status(), AgentStatus::Idle);
}

// spec: agent-loop/S3
#[tokio::test]
async fn a_listener_that_panics_keeps_nobody_from_hearing() {
    let fixture = Fixture::new([Answer::text("ok")]).await;
    let agent = fixture.agent("a").await;
    fixture.app.on(STATUS).run(|_| panic!("a listener")).unwrap();
    let heard = Heard::default();
    heard.listen(&fixture.app);
    agent.followup(said("go")).unwrap();
    agent.when_idle().await;
    let statuses = heard.all().into_iter().filter(|it| it.starts_with("status")).count();
    assert_eq!(statuses, 2);
    assert_eq!(endings(agent.session()), [TurnEndReason::Completed {}]);
    fixture.app.quiet().await;
    assert_eq!(fixture.app.take_errors().len(), 2);
}

// spec: agent-loop/S4
#[tokio::test]
async fn events_are_heard_by_the_agent_its_ancestors_and_everybody_without_a_scope() {
    let fixture = Fixture::new(["one", "two"].map(Answer::text)).await;
    let (one, other) = (fixture.agent("one").await, fixture.agent("other").await);
    let (own, foreign, all) = (Heard::default(), Heard::default(), Heard::default());
    own.listen(one.context());
    foreign.listen(other.context());
    all.listen(&fixture.app);
    one.followup(said("go")).unwrap();
    one.when_idle().await;
    assert_eq!(own.all(), all.all());
    assert_eq!(foreign.all(), Vec::<String>::new());
    let child = fixture
        .agents()
        .create(one.context(), dsh_agent::CreateAgent::new("child").options(crate::fixture::options()))
        .await
        .unwrap();
    own.take();
    child.followup(said("go")).unwrap();
    child.when_idle().await;
    assert!(own.all().contains(&"status running".to_owned()));
}

fn text(text: &str) -> Vec<dsh_llm::StreamChunk> {
    let [start, delta] = text_begins(text);
    let block = dsh_llm::ContentBlock::text(text);
    let end = dsh_llm::StreamChunk::BlockEnd { index: 0, block };
    vec![start, delta, end, dsh_llm::testing::finish(dsh_llm::FinishReason::Stop {})]
}
