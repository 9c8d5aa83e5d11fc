//! Events by type and data, and an app whose sessions are checked.

use std::sync::Arc;

use cordis::testing::TestApp;
use cordis::{Fiber, Handle};
use dsh_hooks_invariants::{Rule, Violation, check};
use dsh_session::{AppendError, CreateSession, Event, NewEvent, SESSIONS, Session, SessionStore};

pub(crate) fn event(kind: &str, data: &str) -> NewEvent {
    NewEvent::raw(kind, data).unwrap()
}

pub(crate) fn turn_start(turn: u64) -> NewEvent {
    event("turn/start", &format!(r#"{{"turn":{turn}}}"#))
}

pub(crate) fn turn_end(turn: u64) -> NewEvent {
    event("turn/end", &format!(r#"{{"turn":{turn},"reason":{{"kind":"completed"}}}}"#))
}

pub(crate) fn invoked(turn: u64, id: &str) -> NewEvent {
    let data = format!(r#"{{"turn":{turn},"point":"Stop","dialect":"codex","handlerId":"{id}"}}"#);
    event("hook/invoked", &data)
}

pub(crate) fn ended(turn: u64, id: &str) -> NewEvent {
    let data =
        format!(r#"{{"turn":{turn},"point":"Stop","handlerId":"{id}","decision":"pass","durationMs":0.5}}"#);
    event("hook/result", &data)
}

/// A log without a checker.
pub(crate) fn log(events: impl IntoIterator<Item = NewEvent>) -> Vec<Arc<Event>> {
    let session = Session::detached("s-1");
    for event in events {
        session.append(event).unwrap();
    }
    session.events().to_vec()
}

/// What a whole log breaks first, and where.
pub(crate) fn verdict(events: impl IntoIterator<Item = NewEvent>) -> Option<(u64, Rule)> {
    check("s-1", log(events)).err().map(|violation| (violation.seq, violation.rule))
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
        let checker = app.plugin(dsh_hooks_invariants::plugin(), ()).unwrap();
        checker.ready().await.unwrap();
        let sessions = app.get(SESSIONS).unwrap();
        Self { app, sessions, checker }
    }

    pub(crate) fn session(&self, id: &str) -> Arc<Session> {
        let options = CreateSession { id: Some(id.to_owned()), ..CreateSession::default() };
        self.sessions.get().unwrap().create(&self.app, options).unwrap()
    }
}

/// The rule that an append was refused for.
pub(crate) fn refused(result: Result<Arc<Event>, AppendError>) -> Rule {
    match result.unwrap_err() {
        AppendError::Refused { source, .. } => source.downcast_ref::<Violation>().unwrap().rule.clone(),
        other => panic!("refused for another reason: {other}"),
    }
}
