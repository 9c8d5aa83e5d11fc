//! Events by type and data, and an app whose sessions are checked.

use std::sync::Arc;

use cordis::testing::TestApp;
use cordis::{Fiber, Handle};
use dsh_session::{
    AppendError, CreateSession, Event, NewEvent, SESSIONS, Session, SessionStore, is_surface_type,
};
use dsh_session_invariants::{Violation, check};

pub(crate) fn event(kind: &str, data: &str) -> NewEvent {
    let event = NewEvent::raw(kind, data).unwrap();
    if is_surface_type(kind) { event.appended() } else { event }
}

pub(crate) fn turn_start(turn: u64) -> NewEvent {
    event("turn/start", &format!(r#"{{"turn":{turn}}}"#))
}

pub(crate) fn turn_end(turn: u64) -> NewEvent {
    event("turn/end", &format!(r#"{{"turn":{turn},"reason":{{"kind":"completed"}}}}"#))
}

pub(crate) fn step_start(turn: u64, step: u64) -> NewEvent {
    event("step/start", &format!(r#"{{"turn":{turn},"step":{step}}}"#))
}

pub(crate) fn step_end(turn: u64, step: u64) -> NewEvent {
    event("step/end", &format!(r#"{{"turn":{turn},"step":{step}}}"#))
}

pub(crate) fn chunk(turn: u64, step: u64) -> NewEvent {
    let chunk = r#"{"type":"text-delta","index":0,"text":"x"}"#;
    event("assistant/chunk", &format!(r#"{{"turn":{turn},"step":{step},"chunk":{chunk}}}"#))
}

pub(crate) fn answer(turn: u64, step: u64) -> NewEvent {
    let message = r#"{"id":"a","role":"assistant","content":[{"type":"text","text":"x"}],"source":{"kind":"model","provider":"p","model":"m"}}"#;
    event("assistant/message", &format!(r#"{{"turn":{turn},"step":{step},"message":{message}}}"#))
}

pub(crate) fn call(turn: u64, step: u64, id: &str) -> NewEvent {
    let data = format!(r#"{{"turn":{turn},"step":{step},"callId":"{id}","name":"bash","arguments":"{{}}"}}"#);
    event("tool/call", &data)
}

pub(crate) fn result(turn: u64, step: u64, id: &str) -> NewEvent {
    event("tool/result", &result_data(turn, step, id, ""))
}

pub(crate) fn failed_result(turn: u64, step: u64, id: &str, code: &str) -> NewEvent {
    let error = format!(r#","error":{{"name":"E","code":"{code}"}}"#);
    event("tool/result", &result_data(turn, step, id, &error))
}

/// The same result with another text, in the place of an earlier one.
pub(crate) fn shortened_result(turn: u64, step: u64, id: &str, of: u64) -> NewEvent {
    let data = result_data(turn, step, id, "").replace("\"text\":\"x\"", "\"text\":\"y\"");
    NewEvent::raw("tool/result", &data).unwrap().replacing(of, of).made_from([of])
}

fn result_data(turn: u64, step: u64, id: &str, more: &str) -> String {
    let block =
        format!(r#"{{"type":"tool-result","toolCallId":"{id}","content":[{{"type":"text","text":"x"}}]}}"#);
    let source = format!(r#"{{"kind":"tool","callId":"{id}"}}"#);
    let message = format!(r#"{{"id":"r-{id}","role":"user","content":[{block}],"source":{source}}}"#);
    format!(r#"{{"turn":{turn},"step":{step},"message":{message}{more}}}"#)
}

/// A log without a checker.
pub(crate) fn log(events: impl IntoIterator<Item = NewEvent>) -> Vec<Arc<Event>> {
    let session = Session::detached("s-1");
    for event in events {
        session.append(event).unwrap();
    }
    session.events().iter().cloned().collect()
}

/// What a whole log breaks first.
pub(crate) fn verdict(events: impl IntoIterator<Item = NewEvent>) -> Result<(), Violation> {
    check("s-1", log(events).iter().map(|event| &**event))
}

pub(crate) struct Fixture {
    pub(crate) app: TestApp,
    pub(crate) sessions: Handle<SessionStore>,
    pub(crate) checker: Fiber,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        let app = TestApp::new();
        app.plugin(dsh_session::plugin(), ()).unwrap().ready().await.unwrap();
        let checker = app.plugin(dsh_session_invariants::plugin(), ()).unwrap();
        checker.ready().await.unwrap();
        let sessions = app.get(SESSIONS).unwrap();
        Self { app, sessions, checker }
    }

    pub(crate) fn session(&self, id: &str) -> Arc<Session> {
        let options = CreateSession { id: Some(id.to_owned()), ..CreateSession::default() };
        self.sessions.get().unwrap().create(&self.app, options).unwrap()
    }
}

/// The violation that an append was refused for.
pub(crate) fn refused(result: Result<Arc<Event>, AppendError>) -> Violation {
    match result.unwrap_err() {
        AppendError::Refused { source, .. } => source.downcast_ref::<Violation>().unwrap().clone(),
        other => panic!("refused for another reason: {other}"),
    }
}
