//! An agent whose turns a test opens and closes, and what its log holds of approval.

use std::sync::Arc;

use cordis::testing::TestApp;
use cordis::{Context, Effect};
use dsh_agent::Agent;
use dsh_agent::testing::{MemoryDriver, agent};
use dsh_approval::{ApprovalError, ApprovalOutcome, ApprovalPolicy, ApprovalRequest, Approvals, REQUEST};
use dsh_session::{CreateSession, NewEvent, Session, SessionStore, TurnEnd, TurnEndReason, TurnStart};
use serde_json::{Value, json};

pub(crate) struct Fixture {
    pub(crate) app: TestApp,
    pub(crate) store: SessionStore,
    pub(crate) approvals: Approvals,
    pub(crate) agent: Agent,
    pub(crate) inbox: Arc<MemoryDriver>,
}

impl Fixture {
    /// With the policy `ask`, in turn 1.
    pub(crate) fn in_turn() -> Self {
        let fixture = Self::with(ApprovalPolicy::Ask);
        fixture.open_turn(1);
        fixture
    }

    pub(crate) fn with(policy: ApprovalPolicy) -> Self {
        let (app, store) = (TestApp::new(), SessionStore::new());
        let session = store
            .create(&app, CreateSession { id: Some("ada".to_owned()), ..CreateSession::default() })
            .unwrap();
        let (agent, inbox) = agent(&app, session).unwrap();
        Self { app, store, approvals: Approvals::new(policy), agent, inbox }
    }

    pub(crate) fn another(&self, id: &str) -> Agent {
        let options = CreateSession { id: Some(id.to_owned()), ..CreateSession::default() };
        let (agent, _) = agent(&self.app, self.store.create(&self.app, options).unwrap()).unwrap();
        open_turn(agent.session(), 1);
        agent
    }

    pub(crate) fn session(&self) -> &Arc<Session> {
        self.agent.session()
    }

    pub(crate) fn open_turn(&self, turn: u64) {
        open_turn(self.session(), turn);
    }

    pub(crate) fn end_turn(&self, turn: u64) {
        end_turn(self.session(), turn);
    }

    /// A question about the tool `bash`.
    pub(crate) fn question(&self) -> ApprovalRequest {
        ApprovalRequest::new(&self.agent, "bash")
    }

    pub(crate) async fn ask(&self) -> Result<ApprovalOutcome, ApprovalError> {
        self.approvals.request(&self.app, self.question()).await
    }

    /// The outcomes in the log, in order.
    pub(crate) fn outcomes(&self) -> Vec<Value> {
        logged(self.session())
            .into_iter()
            .filter(|(kind, _)| kind == "approval/decided")
            .map(|(_, data)| data["outcome"].clone())
            .collect()
    }
}

pub(crate) fn open_turn(session: &Arc<Session>, turn: u64) {
    session.append(NewEvent::new(&TurnStart { turn }).unwrap()).unwrap();
}

pub(crate) fn end_turn(session: &Arc<Session>, turn: u64) {
    let end = TurnEnd { turn, reason: TurnEndReason::Completed {} };
    session.append(NewEvent::new(&end).unwrap()).unwrap();
}

/// Answers every question that is heard through this context, and does not ask on.
pub(crate) fn answer(ctx: &Context, outcome: ApprovalOutcome) -> Effect {
    ctx.on(REQUEST).with(outcome).run(async |outcome: &ApprovalOutcome, _, _| *outcome).unwrap()
}

/// The events of approval in a log, as type and data.
pub(crate) fn logged(session: &Session) -> Vec<(String, Value)> {
    session
        .events()
        .iter()
        .filter(|event| event.kind().starts_with("approval/"))
        .map(|event| (event.kind().to_owned(), serde_json::from_str(event.data().get()).unwrap()))
        .collect()
}

/// The same without the ids, which must be one per question and its outcome's.
pub(crate) fn pairs(session: &Session) -> Vec<Value> {
    let mut asked: Vec<Value> = Vec::new();
    let mut pairs = Vec::new();
    for (kind, mut data) in logged(session) {
        let id = data.as_object_mut().unwrap().remove("id");
        match kind.as_str() {
            "approval/asked" => asked.push(json!({ "id": id.unwrap(), "asked": data })),
            "approval/decided" => {
                let at = asked.iter().position(|it| Some(&it["id"]) == id.as_ref()).unwrap();
                pairs.push(json!([asked.remove(at)["asked"], data["outcome"]]));
            }
            _ => {}
        }
    }
    assert_eq!(asked, Vec::<Value>::new(), "a question has no outcome");
    pairs
}
