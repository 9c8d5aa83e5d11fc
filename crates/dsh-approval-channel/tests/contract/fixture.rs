//! An agent in a turn, and the channel that it is asked through.

use std::sync::Arc;

use cordis::Fiber;
use cordis::testing::TestApp;
use dsh_agent::Agent;
use dsh_agent::testing::agent;
use dsh_approval::{ApprovalOutcome, ApprovalRequest, Approvals};
use dsh_approval_channel::{ApprovalChannel, CHANNEL, Question, QuestionId, Questions};
use dsh_session::{NewEvent, Session, TurnStart};

pub(crate) struct Fixture {
    pub(crate) app: TestApp,
    pub(crate) agent: Agent,
    pub(crate) plugin: Fiber,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        let app = TestApp::new();
        let plugin = app.plugin(dsh_approval_channel::plugin(), ()).unwrap();
        plugin.ready().await.unwrap();
        let agent = in_turn(&app, "ada");
        Self { app, agent, plugin }
    }

    /// Does something with the channel as a program that has its handle.
    pub(crate) fn with<R>(&self, act: impl FnOnce(&ApprovalChannel) -> R) -> R {
        let handle = self.app.get(CHANNEL).unwrap();
        let channel = handle.get().unwrap();
        act(&channel)
    }

    pub(crate) fn attach(&self) -> Questions {
        self.with(ApprovalChannel::attach)
    }

    pub(crate) fn pending(&self) -> Vec<Question> {
        self.with(ApprovalChannel::pending)
    }

    pub(crate) fn question(&self) -> ApprovalRequest {
        ApprovalRequest::new(&self.agent, "bash")
    }

    pub(crate) async fn ask(&self) -> ApprovalOutcome {
        self.ask_for(self.question()).await
    }

    pub(crate) async fn ask_for(&self, request: ApprovalRequest) -> ApprovalOutcome {
        bounded(Approvals::default().request(&self.app, request)).await.unwrap()
    }

    /// How many outcomes the agent's log holds.
    pub(crate) fn decided(&self) -> usize {
        self.agent.session().events().iter().filter(|event| event.kind() == "approval/decided").count()
    }
}

/// Ends a test that waits for what never comes.
async fn bounded<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(std::time::Duration::from_secs(60), future).await.expect("it never comes")
}

pub(crate) fn in_turn(app: &TestApp, id: &str) -> Agent {
    let session: Arc<Session> = Session::detached(id);
    session.append(NewEvent::new(&TurnStart { turn: 1 }).unwrap()).unwrap();
    agent(app, session).unwrap().0
}

pub(crate) async fn next_id(questions: &mut Questions) -> QuestionId {
    questions.next().await.unwrap().id
}
