//! What agents are told about the policy of their session.

use std::sync::Arc;

use cordis::{Fiber, Handle};
use dsh_approval::{APPROVAL, ApprovalPolicy, Config, policy_text};
use dsh_prompt::{AssembleContext, SYSTEM_PROMPT, SystemPrompt};

use crate::fixture::Fixture;

struct Told {
    fixture: Fixture,
    approval: Fiber,
    prompt: Handle<SystemPrompt>,
}

impl Told {
    async fn new() -> Self {
        let fixture = Fixture::with(ApprovalPolicy::Ask);
        let approval = fixture.app.plugin(dsh_approval::plugin(), Config::default()).unwrap();
        approval.ready().await.unwrap();
        fixture
            .app
            .plugin(dsh_prompt::plugin(), dsh_prompt::Config::default())
            .unwrap()
            .ready()
            .await
            .unwrap();
        fixture.app.quiet().await;
        let prompt = fixture.app.get(SYSTEM_PROMPT).unwrap();
        Self { fixture, approval, prompt }
    }

    /// The context as an agent is told it; none if there is no such context.
    async fn text(&self, context: AssembleContext) -> Option<String> {
        let prompt = self.prompt.get().unwrap();
        let assembly = prompt.assemble(&self.fixture.app, &context).await.unwrap();
        let context = assembly.contexts.iter().find(|context| context.name == "approval:policy")?;
        Some(context.text.clone())
    }

    fn of_agent(&self) -> AssembleContext {
        AssembleContext::of(Arc::new(self.fixture.agent.clone()))
    }
}

// spec: approval-permissions/A18, approval-permissions/A82
#[tokio::test]
async fn an_agent_is_told_the_policy_of_its_session_and_nobody_else_is() {
    let told = Told::new().await;
    let ask = Some(policy_text(ApprovalPolicy::Ask).to_owned());
    assert_eq!(told.text(told.of_agent()).await, ask);
    assert_eq!(told.text(told.of_agent()).await, ask, "the same while nothing changed");
    assert_eq!(told.text(AssembleContext::new()).await, Some(String::new()));

    let approvals = told.fixture.app.get(APPROVAL).unwrap();
    approvals.get().unwrap().set_policy(told.fixture.session(), ApprovalPolicy::Never).unwrap();
    assert_eq!(told.text(told.of_agent()).await, Some(policy_text(ApprovalPolicy::Never).to_owned()));
}

// spec: approval-permissions/A18, design/P1
#[tokio::test]
async fn the_policy_is_told_no_more_when_the_service_is_gone() {
    let told = Told::new().await;
    assert!(told.text(told.of_agent()).await.is_some());
    told.approval.dispose().await;
    assert_eq!(told.text(told.of_agent()).await, None);
}
