//! Work on an agent that does nothing.

use std::future::Future as _;

use dsh_agent::{AgentStatus, NotIdle};
use dsh_llm::testing::{Answer, Gate};
use dsh_session::CancelCause;

use crate::fixture::{Fixture, Heard, begins, said, texts};

// spec: agent-loop/S76, agent-loop/S39, agent-loop/S7
#[tokio::test]
async fn what_wakes_the_agent_meanwhile_begins_when_it_is_over() {
    let fixture = Fixture::new([Answer::text("ok")]).await;
    let agent = fixture.agent("a").await;
    let heard = Heard::default();
    heard.listen(&fixture.app);
    let maintenance = agent.maintain().unwrap();
    assert_eq!(agent.status(), AgentStatus::Idle);
    agent.followup(said("go")).unwrap();
    assert_eq!(agent.status(), AgentStatus::Idle);
    assert_eq!(agent.maintain().unwrap_err(), NotIdle { agent: "a".into() });
    assert_eq!(heard.take(), ["agent/inbox/spliced", "inserted go"]);
    drop(maintenance);
    assert_eq!(agent.status(), AgentStatus::Running);
    agent.when_idle().await;
    assert_eq!(texts(agent.session()), ["go", "ok"]);
}

// spec: agent-loop/S76, agent-loop/S71
#[tokio::test]
async fn a_cancel_cancels_it_and_drops_what_has_woken_the_agent() {
    let fixture = Fixture::new([]).await;
    let agent = fixture.agent("a").await;
    let maintenance = agent.maintain().unwrap();
    agent.followup(said("go")).unwrap();
    agent.cancel(CancelCause::User {}).unwrap();
    assert!(maintenance.cancellation().is_cancelled());
    drop(maintenance);
    agent.when_idle().await;
    assert!(agent.inbox().is_empty());
    assert_eq!(texts(agent.session()), Vec::<String>::new());
}

// spec: agent-loop/S76, agent-loop/S41
#[tokio::test]
async fn whoever_waits_for_the_agent_waits_for_its_end() {
    let fixture = Fixture::new([]).await;
    let agent = fixture.agent("a").await;
    let maintenance = agent.maintain().unwrap();
    let mut waiting = Box::pin(agent.when_idle());
    let polled =
        std::future::poll_fn(|cx| std::task::Poll::Ready(waiting.as_mut().poll(cx).is_pending())).await;
    assert!(polled);
    drop(maintenance);
    waiting.await;
}

// spec: agent-loop/S76
#[tokio::test]
async fn an_agent_that_works_is_not_maintained() {
    let gate = Gate::new();
    let fixture = Fixture::new([begins("half").wait(&gate)]).await;
    let agent = fixture.agent("a").await;
    agent.followup(said("go")).unwrap();
    gate.reached().await;
    assert!(agent.maintain().is_err());
    agent.cancel(CancelCause::User {}).unwrap();
    agent.when_idle().await;
    assert!(agent.maintain().is_ok());
}
