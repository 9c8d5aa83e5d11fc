//! The plugin: what is live is stored when it ends, and goes on where it was.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use std::path::Path;
use std::sync::Arc;

use cordis::{Fiber, Handle, State, testing::TestApp};
use dsh_llm::{ContentBlock, Message};
use dsh_session::{
    CreateSession, NewEvent, PERSISTENCE, SESSIONS, SessionPersistence, SessionStore, TurnEndReason,
    TurnStart,
};
use dsh_session_sqlite::Config;

fn config(folder: &Path) -> Config {
    Config::new(folder.join("sessions.db").to_str().unwrap())
}

async fn started(app: &TestApp, config: Config) -> (Fiber, Handle<SessionStore>) {
    app.plugin(dsh_session::plugin(), ()).unwrap().ready().await.unwrap();
    let fiber = app.plugin(dsh_session_sqlite::plugin(), config).unwrap();
    fiber.ready().await.unwrap();
    assert_eq!(fiber.state(), State::Active, "{:?}", fiber.error());
    (fiber, app.get(SESSIONS).unwrap())
}

fn persistence(app: &TestApp) -> Handle<SessionPersistence> {
    app.get(PERSISTENCE).unwrap()
}

fn said(text: &str) -> NewEvent {
    NewEvent::user(Arc::new(Message::user(vec![ContentBlock::text(text)]))).unwrap()
}

// spec: session/S75, S77, S86, S87, design/P1, design/P8
#[tokio::test]
async fn a_session_is_stored_when_the_plugin_ends_and_is_resumed_with_what_was_open_closed_once() {
    let home = tempfile::tempdir().unwrap();
    {
        let app = TestApp::new();
        let (fiber, store) = started(&app, config(home.path())).await;
        let create =
            CreateSession { id: Some("s".into()), cwd: Some("/srv/x".into()), ..CreateSession::default() };
        let session = store.get().unwrap().create(&app, create).unwrap();
        session.append(NewEvent::new(&TurnStart { turn: 1 }).unwrap()).unwrap();
        session.append(said("hello")).unwrap();
        // Nothing was flushed: the end of the plugin writes it.
        assert!(fiber.dispose().await.is_clean());
        assert!(app.get(PERSISTENCE).is_none());
        app.shutdown().await;
    }
    for round in 0..2 {
        let app = TestApp::new();
        let (_, store) = started(&app, config(home.path())).await;
        let prepared = persistence(&app).get().unwrap().prepare("s").await.unwrap();
        assert_eq!(prepared.closers(), if round == 0 { 1 } else { 0 });
        let session = prepared.session().clone();
        let closed = session.events().get(2).unwrap();
        assert_eq!(
            closed.payload::<dsh_session::TurnEnd>().unwrap().unwrap().reason,
            TurnEndReason::Interrupted {}
        );
        store.get().unwrap().enter(&app, &session).unwrap();
        assert_eq!(session.messages().iter().map(|it| it.text()).collect::<Vec<_>>(), ["hello"]);
        assert!(store.get().unwrap().flush(&session).await.unwrap());
        let stored = persistence(&app).get().unwrap().read_from("s", 0).await.unwrap();
        assert_eq!(stored.events, session.events());
        app.shutdown().await;
    }
}

// spec: session/S82
#[tokio::test]
async fn options_out_of_their_bounds_fail_the_plugin_and_say_which() {
    let home = tempfile::tempdir().unwrap();
    let app = TestApp::new();
    app.plugin(dsh_session::plugin(), ()).unwrap().ready().await.unwrap();
    let mut bad = config(home.path());
    bad.write_batch_max_delay_ms = 0;
    let fiber = app.plugin(dsh_session_sqlite::plugin(), bad).unwrap();
    let failed = fiber.ready().await.unwrap_err();
    let mut text = failed.to_string();
    let mut source = std::error::Error::source(&failed);
    while let Some(cause) = source {
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    assert!(text.contains("writeBatchMaxDelayMs"), "{text}");
}
