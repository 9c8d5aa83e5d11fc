//! An app with models, sessions and the watch, and agents whose logs and requests a test makes.

use std::sync::Arc;

use cordis::testing::TestApp;
use dsh_agent::testing::MemoryDriver;
use dsh_agent::{Agent, Driver};
use dsh_agent_loop_invariants::Violation;
use dsh_agent_loop_invariants::testing::{Watched, watch};
use dsh_llm::testing::{Answer, ScriptedModel, collected};
use dsh_llm::{CallConfig, ContentBlock, LLM, Message, ModelRequest, StreamError, ToolSchema};
use dsh_session::{
    CreateSession, EpochHeader, HeaderReason, NewEvent, Payload, RequestHeader, SESSIONS, Session, StepStart,
    TurnStart,
};
use serde_json::Map;

pub(crate) struct Fixture {
    pub(crate) app: TestApp,
    pub(crate) watched: Watched,
    pub(crate) model: ScriptedModel,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        let (app, model) = Self::unwatched().await;
        let watched = watch(&app).await;
        Self { app, watched, model }
    }

    /// The app and its model, without the watch.
    pub(crate) async fn unwatched() -> (TestApp, ScriptedModel) {
        let app = TestApp::new();
        app.plugin(dsh_session::plugin(), ()).unwrap().ready().await.unwrap();
        app.plugin(dsh_session_invariants::plugin(), ()).unwrap().ready().await.unwrap();
        app.plugin(dsh_agent::plugin(), ()).unwrap().ready().await.unwrap();
        app.plugin(dsh_llm::plugin(), ()).unwrap().ready().await.unwrap();
        let model = ScriptedModel::new((0..20).map(|_| Answer::text("hi")));
        app.get(LLM).unwrap().get().unwrap().register(&app, ["acme"], model.adapter()).unwrap();
        (app, model)
    }

    pub(crate) fn agent(&self, id: &str) -> Agent {
        self.driven(id, Arc::new(MemoryDriver::default()))
    }

    pub(crate) fn driven(&self, id: &str, driver: Arc<dyn Driver>) -> Agent {
        driven(&self.app, id, driver)
    }

    /// Asks the model; whether it was asked, and of which violation its reader and the watch were told.
    pub(crate) async fn asked(&self, request: ModelRequest) -> Result<(), Violation> {
        let before = self.model.requests().len();
        let stream = self.app.get(LLM).unwrap().get().unwrap().stream(request);
        let asked = match collected(stream).await {
            Ok(_) => Ok(()),
            Err(StreamError::Raised(raised)) => Err(raised.downcast_ref::<Violation>().unwrap().clone()),
            Err(error) => panic!("{error}"),
        };
        assert_eq!(self.model.requests().len() - before, usize::from(asked.is_ok()));
        assert_eq!(self.watched.take(), asked.clone().err().into_iter().collect::<Vec<_>>());
        asked
    }
}

/// An agent with a live session that belongs to its scope.
pub(crate) fn driven(app: &TestApp, id: &str, driver: Arc<dyn Driver>) -> Agent {
    let scope = app.scope().unwrap();
    let options = CreateSession { id: Some(id.to_owned()), ..CreateSession::default() };
    let sessions = app.get(SESSIONS).unwrap();
    let session = sessions.get().unwrap().create(scope.context(), options).unwrap();
    Agent::new(dsh_agent::testing::parts(session, scope, driver))
}

pub(crate) fn log<P: Payload>(session: &Arc<Session>, data: &P) {
    session.append(NewEvent::new(data).unwrap()).unwrap();
}

pub(crate) fn say(session: &Arc<Session>, text: &str) {
    let message = Arc::new(Message::user(vec![ContentBlock::text(text)]));
    session.append(NewEvent::user(message).unwrap()).unwrap();
}

pub(crate) fn tool(name: &str) -> ToolSchema {
    ToolSchema { name: name.to_owned(), description: "Does.".to_owned(), parameters: Map::new() }
}

/// Settings with all that can be set.
pub(crate) fn config() -> CallConfig {
    CallConfig {
        reasoning_effort: None,
        temperature: Some(0.5),
        max_tokens: Some(100),
        stop: Some(vec!["END".to_owned()]),
        ..CallConfig::new("acme", "m")
    }
}

pub(crate) fn header() -> EpochHeader {
    EpochHeader {
        config: config(),
        adapter_defaults: None,
        system: Some("Be brief.".to_owned()),
        tools: Some(vec![tool("look"), tool("read")]),
    }
}

/// Begins a step of the first turn, in which two things are said.
pub(crate) fn begin(session: &Arc<Session>) {
    log(session, &TurnStart { turn: 1 });
    log(session, &StepStart { turn: 1, step: 1 });
    say(session, "one");
    say(session, "two");
}

pub(crate) fn log_header(session: &Arc<Session>, header: EpochHeader) {
    log(session, &RequestHeader { header, reason: HeaderReason::Initial });
}

/// The request that a loop makes of a log with that header.
pub(crate) fn request(session: &Arc<Session>) -> ModelRequest {
    let messages: Arc<[Arc<Message>]> = session.messages().iter().cloned().collect();
    let EpochHeader { config, system, tools, .. } = header();
    let mut request = ModelRequest::new(config, messages);
    request.system = system.map(Into::into);
    request.tools = tools.unwrap_or_default().into();
    request.session_id = Some(session.id().to_owned());
    request
}
