//! What becomes of messages when a turn ends at its limit.

use dsh_agent::{AgentStatus, PRE_STEP, PreStep, PreStepDecision, TURN_STOPPING, Target, TurnStopping};
use dsh_session::{InboxSpliced, TurnStart};
use tokio_util::sync::CancellationToken;

use crate::fixture::{BLOCKED, COMPLETED, Fixture, asked, conversation, ends, said, waiting};
use crate::turns::Answer::{Calls, CallsWhile, Done};

#[tokio::test]
async fn what_was_to_be_said_in_the_refused_step_is_said_in_the_next_turn() {
    let fixture = Fixture::limited(2).await;
    let speaks = CallsWhile(Box::new(|agent| {
        agent.steer(said("stop that")).unwrap();
        agent.inject(said("by the way")).unwrap();
        agent.followup(said("another task")).unwrap();
    }));
    let ada = fixture.agent("ada", [Calls, speaks, Done, Done]);
    asked(&ada, "hello").await;
    assert_eq!((ends(&ada), ada.status()), (vec![BLOCKED], AgentStatus::Idle));
    assert_eq!(waiting(&ada, Target::NextStep), ["stop that", "by the way"]);
    assert_eq!(waiting(&ada, Target::NextTurn), ["another task"]);

    ada.followup(said("go on")).unwrap();
    ada.when_idle().await;
    let next = ["stop that", "by the way", "another task", "done", "go on", "done"];
    assert_eq!(conversation(&ada)[4..], next);
    assert_eq!(ends(&ada), [BLOCKED, COMPLETED, COMPLETED]);
}

#[tokio::test]
async fn it_waits_in_front_of_what_came_in_meanwhile_and_the_log_gives_it_back() {
    let fixture = Fixture::limited(1).await;
    let ada = fixture.agent("ada", []);
    ada.inbox().append(Target::NextStep, said("came in meanwhile")).unwrap();
    let taken = vec![said("first"), said("second")];
    let mut step = PreStep {
        agent: ada.clone(),
        messages: taken,
        turn: 1,
        step: 2,
        cancellation: CancellationToken::new(),
    };
    let enter = async |(): &(), _: &mut PreStep| PreStepDecision::Enter { messages: vec![] };
    let decision = fixture.app.waterfall(PRE_STEP, &mut step, &(), enter).await.unwrap();
    assert_eq!(decision, PreStepDecision::Reject);
    assert_eq!(waiting(&ada, Target::NextStep), ["first", "second", "came in meanwhile"]);
    assert_eq!(dsh_agent::Pending::restored(ada.session()).unwrap(), ada.inbox().pending());
}

#[tokio::test]
async fn nothing_is_logged_where_nothing_was_to_be_said() {
    let fixture = Fixture::limited(1).await;
    let ada = fixture.agent("ada", []);
    asked(&ada, "hello").await;
    let events = ada.session().events();
    let splices = events.iter().filter(|event| event.payload::<InboxSpliced>().unwrap().is_some());
    assert_eq!(splices.count(), 2, "the message came, and was taken");
    assert_eq!(ends(&ada), [BLOCKED]);
}

#[tokio::test]
async fn nobody_is_woken_by_what_waits_again() {
    let fixture = Fixture::limited(1).await;
    let steers = CallsWhile(Box::new(|agent| agent.steer(said("and now?")).unwrap()));
    let ada = fixture.agent("ada", [steers]);
    asked(&ada, "hello").await;
    fixture.app.quiet().await;
    let events = ada.session().events();
    assert_eq!(events.iter().filter(|event| event.payload::<TurnStart>().unwrap().is_some()).count(), 1);
    assert_eq!(waiting(&ada, Target::NextStep), ["and now?"]);
}

#[tokio::test]
async fn what_is_to_keep_a_turn_going_that_is_at_its_limit_waits_for_the_next_turn() {
    let fixture = Fixture::limited(2).await;
    let ada = fixture.agent("ada", [Calls, Done, Done]);
    let keeps_going = ada.context().on(TURN_STOPPING).run(async |stopping: &TurnStopping| {
        stopping.agent.inject(said("not yet"))?;
        Ok(None)
    });
    asked(&ada, "hello").await;
    assert_eq!(ends(&ada), [BLOCKED]);
    assert_eq!(waiting(&ada, Target::NextStep), ["not yet"]);
    keeps_going.unwrap().dispose().await;
    asked(&ada, "go on").await;
    assert_eq!(conversation(&ada)[4..], ["not yet", "go on", "done"]);
    assert_eq!(ends(&ada), [BLOCKED, COMPLETED]);
}

#[tokio::test]
async fn what_was_taken_for_a_step_that_is_cancelled_stays_taken() {
    let fixture = Fixture::limited(1).await;
    let ada = fixture.agent("ada", []);
    let cancellation = CancellationToken::new();
    cancellation.cancel();
    let messages = vec![said("never mind")];
    let mut step = PreStep { agent: ada.clone(), messages, turn: 1, step: 2, cancellation };
    let enter = async |(): &(), _: &mut PreStep| PreStepDecision::Enter { messages: vec![] };
    let decision = fixture.app.waterfall(PRE_STEP, &mut step, &(), enter).await.unwrap();
    assert_eq!(decision, PreStepDecision::Reject);
    assert!(ada.inbox().is_empty());
}
