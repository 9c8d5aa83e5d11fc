//! An app with sessions, their checker and agents that work.

use std::num::NonZeroU64;
use std::sync::Arc;

use cordis::Fiber;
use cordis::testing::TestApp;
use dsh_agent::{Agent, AgentParts, LoopDriver, Target};
use dsh_llm::{ContentBlock, Message, Role};
use dsh_session::{CreateSession, SESSIONS, TurnEnd, TurnEndReason};
use dsh_step_limit_policy::Config;

use crate::turns::{Answer, Turns};

pub(crate) struct Fixture {
    pub(crate) app: TestApp,
}

impl Fixture {
    /// Without the policy.
    pub(crate) async fn bare() -> Self {
        let app = TestApp::new();
        app.plugin(dsh_session::plugin(), ()).unwrap().ready().await.unwrap();
        app.plugin(dsh_session_invariants::plugin(), ()).unwrap().ready().await.unwrap();
        Self { app }
    }

    /// With this limit for all agents.
    pub(crate) async fn limited(max_steps: u64) -> Self {
        let fixture = Self::bare().await;
        mount(&fixture.app, max_steps).await;
        fixture
    }

    /// An agent whose model answers like this, and calls tools for ever after that.
    pub(crate) fn agent(&self, id: &str, answers: impl IntoIterator<Item = Answer>) -> Agent {
        let scope = self.app.scope().unwrap();
        let options = CreateSession { id: Some(id.to_owned()), ..CreateSession::default() };
        let sessions = self.app.get(SESSIONS).unwrap();
        let session = sessions.get().unwrap().create(scope.context(), options).unwrap();
        let script = Arc::new(parking_lot::Mutex::new(answers.into_iter().collect()));
        let turns = Turns { ctx: self.app.root(), script };
        let driver = Arc::new(LoopDriver::new(self.app.root(), turns));
        let (pending, options) = Default::default();
        Agent::new(AgentParts { session, scope, pending, driver, options })
    }
}

pub(crate) async fn mount(ctx: &cordis::Context, max_steps: u64) -> Fiber {
    let fiber = ctx.plugin(dsh_step_limit_policy::plugin(), config(max_steps)).unwrap();
    fiber.ready().await.unwrap();
    fiber
}

pub(crate) fn config(max_steps: u64) -> Config {
    Config { max_steps: NonZeroU64::new(max_steps).unwrap() }
}

pub(crate) fn said(text: &str) -> Arc<Message> {
    Arc::new(Message::user(vec![ContentBlock::text(text)]))
}

/// Asks for a turn, and waits until nothing is done any more.
pub(crate) async fn asked(agent: &Agent, text: &str) {
    agent.followup(said(text)).unwrap();
    agent.when_idle().await;
}

/// The conversation: texts, with `…` for what the policy says.
pub(crate) fn conversation(agent: &Agent) -> Vec<String> {
    agent.session().messages().iter().map(|message| shown(message)).collect()
}

fn shown(message: &Message) -> String {
    match message.text() {
        text if message.role == Role::User && text.starts_with("This is the last step") => "…".to_owned(),
        text => text,
    }
}

/// How the turns ended.
pub(crate) fn ends(agent: &Agent) -> Vec<TurnEndReason> {
    let events = agent.session().events();
    events.iter().filter_map(|event| event.payload::<TurnEnd>().unwrap()).map(|end| end.reason).collect()
}

pub(crate) fn waiting(agent: &Agent, target: Target) -> Vec<String> {
    agent.inbox().pending().list(target).iter().map(|message| message.text()).collect()
}

pub(crate) const BLOCKED: TurnEndReason = TurnEndReason::Blocked {};
pub(crate) const COMPLETED: TurnEndReason = TurnEndReason::Completed {};
