//! How often an agent is woken without a word of its user.

use dsh_agent::{AgentStatus, DISPOSED, PRE_STEP, PreStep, PreStepDecision};
use dsh_llm::Source;
use dsh_tool_jobs::Config;

use crate::fixture::{Fixture, QUEUED, Start, WOKEN, around, completed, ways};

impl Fixture {
    /// A job ends while ada is idle; gives how she is told. If she is woken she works a while, beginning with the notice.
    async fn round(&self) -> (dsh_agent::Target, dsh_agent::Wakeup) {
        self.end(self.stream(), completed("exit code: 0")).await;
        let told = ways(&self.inbox);
        assert_eq!(told.len(), 1);
        if told[0] == WOKEN {
            self.status(&self.ada, AgentStatus::Running);
            self.step(&self.ada, vec![Source::notice("tool-jobs", "bash echo hi")]).await;
            self.status(&self.ada, AgentStatus::Idle);
        }
        told[0]
    }
}

// spec: timeout-jobs-hooks/J52
#[tokio::test]
async fn after_three_wakes_in_a_row_notices_wait_until_the_user_speaks() {
    let fixture = Fixture::new().await;
    for _ in 0..3 {
        assert_eq!(fixture.round().await, WOKEN);
    }
    for _ in 0..2 {
        assert_eq!(fixture.round().await, QUEUED);
    }
    let decision = fixture.step(&fixture.ada, vec![Source::notice("tool-jobs", "x"), Source::User {}]).await;
    let PreStepDecision::Enter { messages } = decision else { panic!("{decision:?}") };
    assert_eq!(messages.len(), 2);
    for _ in 0..3 {
        assert_eq!(fixture.round().await, WOKEN);
    }
    assert_eq!(fixture.round().await, QUEUED);
}

// spec: timeout-jobs-hooks/J52
#[tokio::test]
async fn what_plugins_and_tools_say_restores_nothing() {
    let fixture = Fixture::with(Config { max_consecutive_wakes: 1, ..Config::default() }).await;
    assert_eq!(fixture.round().await, WOKEN);
    let others =
        [vec![], vec![Source::notice("other", "x")], vec![Source::Tool { call_id: "call_1".to_owned() }]];
    for sources in others {
        fixture.step(&fixture.ada, sources).await;
        assert_eq!(fixture.round().await, QUEUED);
    }
}

// spec: timeout-jobs-hooks/J52
#[tokio::test]
async fn what_the_user_said_counts_also_if_a_listener_rejects_the_step() {
    let fixture = Fixture::bare().await;
    let rejects = around::<PreStep, PreStepDecision, _>(|_, _| Box::pin(async { PreStepDecision::Reject }));
    // It was there first.
    fixture.app.on(PRE_STEP).run_boxed(rejects).unwrap();
    fixture.mount(&fixture.app, Config { max_consecutive_wakes: 1, ..Config::default() }).await;
    assert_eq!(fixture.round().await, WOKEN);
    assert_eq!(fixture.round().await, QUEUED);
    assert_eq!(fixture.step(&fixture.ada, vec![Source::User {}]).await, PreStepDecision::Reject);
    assert_eq!(fixture.round().await, WOKEN);
}

// spec: timeout-jobs-hooks/J39, timeout-jobs-hooks/J52
#[tokio::test]
async fn a_budget_of_none_wakes_nobody() {
    let fixture = Fixture::with(Config { max_consecutive_wakes: 0, ..Config::default() }).await;
    assert_eq!(fixture.round().await, QUEUED);
}

// spec: timeout-jobs-hooks/J52
#[tokio::test]
async fn each_agent_has_a_budget_of_its_own_until_it_ends() {
    let fixture = Fixture::with(Config { max_consecutive_wakes: 1, ..Config::default() }).await;
    let (ben, inbox) = fixture.agent("ben");
    assert_eq!(fixture.round().await, WOKEN);
    fixture.end(fixture.start(Start::of(&ben)), completed("exit code: 0")).await;
    assert_eq!(ways(&inbox), [WOKEN]);
    fixture.step(&ben, vec![Source::User {}]).await;
    assert_eq!(fixture.round().await, QUEUED);
    fixture.app.emit(DISPOSED, &fixture.ada);
    assert_eq!(fixture.round().await, WOKEN);
}
