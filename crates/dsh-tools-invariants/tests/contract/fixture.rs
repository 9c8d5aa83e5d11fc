//! An app with tools and sessions whose calls and logs are watched, and events of nested calls.

use std::sync::Arc;

use cordis::testing::TestApp;
use cordis::{Handle, Next};
use dsh_session::{AppendError, CreateSession, Event, NewEvent, SESSIONS, Session, SessionStore};
use dsh_tools::{
    CallRequest, Config, PreDecision, TOOLS, ToolCall, ToolDefinition, ToolError, ToolOutcome, ToolRuntime,
};
use dsh_tools_invariants::testing::{Watched, watch};
use dsh_tools_invariants::{Rule, Subject, Violation};
use serde_json::json;

pub(crate) struct Fixture {
    pub(crate) app: TestApp,
    pub(crate) tools: Handle<ToolRuntime>,
    pub(crate) watched: Watched,
}

impl Fixture {
    /// Tools `echo` and `fail`, and a watch.
    pub(crate) async fn new() -> Self {
        let app = TestApp::new();
        app.plugin(dsh_session::plugin(), ()).unwrap().ready().await.unwrap();
        app.plugin(dsh_tools::plugin(), Config::default()).unwrap().ready().await.unwrap();
        let tools = app.get(TOOLS).unwrap();
        let object = json!({ "type": "object" });
        let echo = ToolDefinition::raw("echo", "Gives back its arguments.", object.clone())
            .run(async |arguments, _run| Ok((*arguments).clone()));
        let fail =
            ToolDefinition::raw("fail", "Fails.", object).run(async |_, _run| Err(ToolError::new("no luck")));
        tools.get().unwrap().register(&app, echo).unwrap();
        tools.get().unwrap().register(&app, fail).unwrap();
        let watched = watch(&app).await;
        Self { app, tools, watched }
    }

    pub(crate) async fn call(&self, id: &str, tool: &str) -> ToolOutcome {
        self.execute(CallRequest::new(id, tool, "{}")).await
    }

    pub(crate) async fn execute(&self, request: CallRequest) -> ToolOutcome {
        self.tools.get().unwrap().execute(&self.app, request).await
    }

    pub(crate) fn session(&self, id: &str) -> Arc<Session> {
        let options = CreateSession { id: Some(id.to_owned()), ..CreateSession::default() };
        self.store().get().unwrap().create(&self.app, options).unwrap()
    }

    pub(crate) fn store(&self) -> Handle<SessionStore> {
        self.app.get(SESSIONS).unwrap()
    }

    /// The rules that were broken since the last call.
    pub(crate) fn broken(&self) -> Vec<Rule> {
        self.watched.take().into_iter().map(|violation| violation.rule).collect()
    }
}

/// A violation of a call.
pub(crate) fn of_call(id: &str, tool: &str) -> Subject {
    Subject::Call { id: id.to_owned(), tool: tool.to_owned() }
}

pub(crate) async fn pass(call: &mut ToolCall, next: Next<'_, ToolCall, PreDecision>) -> PreDecision {
    next.run(call).await
}

pub(crate) fn event(kind: &str, data: &str) -> NewEvent {
    NewEvent::raw(kind, data).unwrap()
}

pub(crate) fn turn_start(turn: u64) -> NewEvent {
    event("turn/start", &format!(r#"{{"turn":{turn}}}"#))
}

pub(crate) fn turn_end(turn: u64) -> NewEvent {
    event("turn/end", &format!(r#"{{"turn":{turn},"reason":{{"kind":"completed"}}}}"#))
}

pub(crate) const START: &str = "tool/code-dispatch-start";
pub(crate) const END: &str = "tool/code-dispatch";

/// An event of a nested call.
pub(crate) fn nested(kind: &str, root: &str, parent: &str, sub: &str) -> NewEvent {
    let data = json!({ "rootCallId": root, "parentCallId": parent, "subCallId": sub, "name": "echo" });
    event(kind, &data.to_string())
}

/// The violation that an append was refused for.
pub(crate) fn refused(result: Result<Arc<Event>, AppendError>) -> Violation {
    match result.unwrap_err() {
        AppendError::Refused { source, .. } => source.downcast_ref::<Violation>().unwrap().clone(),
        other => panic!("refused for another reason: {other}"),
    }
}
