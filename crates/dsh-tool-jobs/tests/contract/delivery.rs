//! Whether a notice wakes its agent.

use dsh_agent::AgentStatus;
use dsh_session::{NewEvent, TurnEnd, TurnEndReason, TurnStart};
use dsh_tool_jobs::{CompletionDelivery, Config};

use crate::fixture::{Fixture, QUEUED, Start, WOKEN, completed, ways};

impl Fixture {
    async fn one_ends(&self) {
        self.end(self.stream(), completed("exit code: 0")).await;
    }
}

// spec: timeout-jobs-hooks/J52
#[tokio::test]
async fn an_idle_agent_is_woken_and_a_busy_one_finds_the_notice_before_its_next_step() {
    let fixture = Fixture::new().await;
    fixture.one_ends().await;
    assert_eq!(ways(&fixture.inbox), [WOKEN]);
    fixture.status(&fixture.ada, AgentStatus::Running);
    fixture.one_ends().await;
    assert_eq!(ways(&fixture.inbox), [QUEUED]);
    fixture.status(&fixture.ada, AgentStatus::Idle);
    fixture.one_ends().await;
    assert_eq!(ways(&fixture.inbox), [WOKEN]);
}

// spec: timeout-jobs-hooks/J52
#[tokio::test]
async fn the_status_of_one_agent_says_nothing_of_another() {
    let fixture = Fixture::new().await;
    let (ben, inbox) = fixture.agent("ben");
    fixture.status(&fixture.ada, AgentStatus::Running);
    fixture.end(fixture.start(Start::of(&ben)), completed("exit code: 0")).await;
    assert_eq!(ways(&inbox), [WOKEN]);
}

// spec: timeout-jobs-hooks/J39, timeout-jobs-hooks/J52
#[tokio::test]
async fn a_quiet_plugin_wakes_nobody() {
    let fixture =
        Fixture::with(Config { completion_delivery: CompletionDelivery::Quiet, ..Config::default() }).await;
    fixture.one_ends().await;
    assert_eq!(ways(&fixture.inbox), [QUEUED]);
}

// spec: timeout-jobs-hooks/J52
#[tokio::test]
async fn an_agent_that_works_already_when_the_plugin_comes_is_known_by_its_log() {
    let fixture = Fixture::bare().await;
    let log = |event: NewEvent| fixture.ada.session().append(event).unwrap();
    log(NewEvent::new(&TurnStart { turn: 1 }).unwrap());
    fixture.mount(&fixture.app, Config::default()).await;
    fixture.one_ends().await;
    assert_eq!(ways(&fixture.inbox), [QUEUED]);
    let reason = TurnEndReason::Completed {};
    log(NewEvent::new(&TurnEnd { turn: 1, reason }).unwrap());
    fixture.one_ends().await;
    assert_eq!(ways(&fixture.inbox), [WOKEN]);
}
