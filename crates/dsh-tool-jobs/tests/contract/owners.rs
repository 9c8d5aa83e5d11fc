//! Whom a notice goes to.

use std::sync::Arc;

use dsh_agent::testing::MemoryDriver;

use crate::fixture::{Fixture, WOKEN, agent, completed, ways};

// spec: timeout-jobs-hooks/J50
#[tokio::test]
async fn another_agent_of_the_same_session_is_told_nothing() {
    let fixture = Fixture::new().await;
    let work = fixture.stream();
    fixture.agents.remove(&fixture.ada);
    let inbox = Arc::new(MemoryDriver::default());
    let other = agent(&fixture.app, &fixture.sessions, "ada", inbox.clone());
    fixture.agents.add(&other, None);
    assert_eq!(other.id(), fixture.ada.id());
    fixture.end(work, completed("exit code: 0")).await;
    assert_eq!((ways(&fixture.inbox), ways(&inbox)), (vec![WOKEN], vec![]));
}

// spec: timeout-jobs-hooks/J50
#[tokio::test]
async fn an_owner_is_told_also_if_there_is_no_registry_of_agents_any_more() {
    let fixture = Fixture::new().await;
    let work = fixture.stream();
    fixture.registry.dispose().await;
    assert!(fixture.app.get(dsh_agent::AGENTS).is_none());
    fixture.end(work, completed("exit code: 0")).await;
    assert_eq!(ways(&fixture.inbox), [WOKEN]);
    fixture.app.assert_no_errors();
}
