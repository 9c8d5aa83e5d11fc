//! Units, logs with times of the test's choice, and an app that folds them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cordis::testing::TestApp;
use cordis::{Effect, Fiber, Handle, Scope};
use dsh_session::{CreateSession, Event, NewEvent, SESSIONS, Session, SessionLog, SessionStore};
use dsh_session_projection::{PROJECTIONS, Projections, Unit};

pub(crate) struct Fixture {
    pub(crate) app: TestApp,
    pub(crate) sessions: Handle<SessionStore>,
    pub(crate) projections: Handle<Projections>,
    pub(crate) plugin: Fiber,
    pub(crate) agent: Scope,
    pub(crate) session: Arc<Session>,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        let app = TestApp::new();
        app.plugin(dsh_session::plugin(), ()).unwrap().ready().await.unwrap();
        let plugin = app.plugin(dsh_session_projection::plugin(), ()).unwrap();
        plugin.ready().await.unwrap();
        let (sessions, projections) = (app.get(SESSIONS).unwrap(), app.get(PROJECTIONS).unwrap());
        let agent = app.scope().unwrap();
        let session = sessions.get().unwrap().create(agent.context(), CreateSession::default()).unwrap();
        Self { app, sessions, projections, plugin, agent, session }
    }

    pub(crate) fn register<U: Unit>(&self, unit: U) -> Effect {
        self.projections.get().unwrap().register(&self.app, unit).unwrap()
    }

    pub(crate) fn turn(&self, turn: u64) {
        self.session.append(turn_start(turn)).unwrap();
    }

    /// What a unit shows of the session.
    pub(crate) fn shown(&self, key: &str) -> Option<serde_json::Value> {
        self.projections.get().unwrap().snapshot(&self.session).values.get(key).cloned()
    }
}

pub(crate) fn turn_start(turn: u64) -> NewEvent {
    NewEvent::raw("turn/start", &format!(r#"{{"turn":{turn}}}"#)).unwrap()
}

/// Something that no unit here looks at.
pub(crate) fn other() -> NewEvent {
    NewEvent::raw("plan/mode", r#"{"active":true}"#).unwrap()
}

/// A log of events by type, time and data.
pub(crate) fn log(events: &[(&str, i64, &str)]) -> Vec<Arc<Event>> {
    let mut text =
        r#"{"type":"session","version":0,"id":"s-1","createdAt":0,"delegationDepth":0}"#.to_owned() + "\n";
    for (seq, (kind, time, data)) in events.iter().enumerate() {
        let mark = if dsh_session::is_surface_type(kind) { r#","surfaceOp":"append""# } else { "" };
        text += &format!(r#"{{"type":"{kind}","seq":{seq},"time":{time},"data":{data}{mark}}}"#);
        text.push('\n');
    }
    SessionLog::parse(text.as_bytes()).unwrap().events.iter().cloned().collect()
}

/// Counts turns, and how often it was asked to.
#[derive(Clone, Default)]
pub(crate) struct Turns {
    pub(crate) applied: Arc<AtomicUsize>,
}

impl Unit for Turns {
    const KEY: &'static str = "turns";
    const STATE_VERSION: u32 = 3;
    type State = u64;
    type View = u64;

    fn init(&self) -> u64 {
        0
    }

    fn apply(&self, turns: &u64, event: &Event) -> Option<u64> {
        self.applied.fetch_add(1, Ordering::Relaxed);
        (event.kind() == "turn/start").then(|| turns + 1)
    }

    fn view(&self, turns: &u64) -> Option<u64> {
        Some(*turns)
    }
}

/// Counts all events, for the host alone.
pub(crate) struct Events;

impl Unit for Events {
    const KEY: &'static str = "events";
    const STATE_VERSION: u32 = 0;
    type State = u64;
    type View = ();

    fn init(&self) -> u64 {
        0
    }

    fn apply(&self, events: &u64, _: &Event) -> Option<u64> {
        Some(events + 1)
    }
}
