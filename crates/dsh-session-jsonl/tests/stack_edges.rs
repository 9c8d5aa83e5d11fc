//! Live sessions that are kept in files, the whole stack: what was flushed and cannot be read.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]
#![cfg(unix)]

use std::path::Path;
use std::sync::Arc;

use cordis::{Fiber, Handle, State, testing::TestApp};
use dsh_session::{
    CreateSession, NewEvent, PERSISTENCE, SESSIONS, Session, SessionPersistence, SessionStore,
};
use dsh_session_jsonl::{Compression, Config};

fn config(folder: &Path) -> Config {
    let mut config = Config::new(folder);
    config.write_batch_max_delay_ms = 5;
    config
}

async fn started(app: &TestApp, config: Config) -> (Fiber, Handle<SessionStore>) {
    app.plugin(dsh_session::plugin(), ()).unwrap().ready().await.unwrap();
    let fiber = app.plugin(dsh_session_jsonl::plugin(), config).unwrap();
    fiber.ready().await.unwrap();
    assert_eq!(fiber.state(), State::Active, "{:?}", fiber.error());
    (fiber, app.get(SESSIONS).unwrap())
}

fn kept(app: &TestApp) -> Handle<SessionPersistence> {
    app.get(PERSISTENCE).unwrap()
}

fn live(app: &TestApp, store: &Handle<SessionStore>, id: &str) -> Arc<Session> {
    let options =
        CreateSession { id: Some(id.into()), cwd: Some("/srv/x".into()), ..CreateSession::default() };
    store.get().unwrap().create(app, options).unwrap()
}

fn note(n: u64) -> NewEvent {
    NewEvent::raw("todo/write", &format!(r#"{{"n":{n},"pad":"{}"}}"#, "x".repeat((n % 97) as usize))).unwrap()
}

fn text_of(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

async fn flushed_then_resumed(compression: Compression, event: NewEvent) -> Result<u64, String> {
    let home = tempfile::tempdir().unwrap();
    let config = Config { compression, ..config(home.path()) };
    let app = TestApp::new();
    let (_, store) = started(&app, config.clone()).await;
    let session = live(&app, &store, "s");
    session.append(note(0)).unwrap();
    session.append(event).unwrap();
    for n in 2..10 {
        session.append(note(n)).unwrap();
    }
    assert!(store.get().unwrap().flush(&session).await.unwrap());
    app.shutdown().await;
    let app = TestApp::new();
    let _started = started(&app, config).await;
    let prepared = kept(&app).get().unwrap().prepare("s").await.map_err(|error| text_of(&error))?;
    let left = prepared.session().first_live_seq();
    match prepared.torn() {
        None => Ok(left),
        Some(torn) => Err(format!("{left} of 10 are left: {torn}")),
    }
}

#[tokio::test]
async fn events_that_were_flushed_are_resumed_whatever_the_layout_of_their_json() {
    for compression in [Compression::Zstd, Compression::None] {
        let event = NewEvent::raw("todo/write", "{\n  \"todos\": []\n}").unwrap();
        assert_eq!(flushed_then_resumed(compression, event).await, Ok(10), "{compression:?}");
    }
}
