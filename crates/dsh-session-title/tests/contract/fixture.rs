//! An app whose sessions get titles, and messages for them.

use std::sync::Arc;

use cordis::testing::TestApp;
use cordis::{Fiber, Handle, Scope};
use dsh_llm::{ContentBlock, Message, Role, Source};
use dsh_session::{CreateSession, NewEvent, SESSIONS, Session, SessionStore};
use dsh_session_title::{Config, SessionTitles, TITLES, title_of};

pub(crate) struct Fixture {
    pub(crate) app: TestApp,
    pub(crate) sessions: Handle<SessionStore>,
    pub(crate) titles: Handle<SessionTitles>,
    pub(crate) plugin: Fiber,
    pub(crate) agent: Scope,
    pub(crate) session: Arc<Session>,
}

impl Fixture {
    /// One agent with one session; titles as the reference's headless profile has them.
    pub(crate) async fn new() -> Self {
        let app = TestApp::new();
        app.plugin(dsh_session::plugin(), ()).unwrap().ready().await.unwrap();
        app.plugin(dsh_session_invariants::plugin(), ()).unwrap().ready().await.unwrap();
        let plugin = app.plugin(dsh_session_title::plugin(), config(5, 40, 80)).unwrap();
        plugin.ready().await.unwrap();
        let (sessions, titles) = (app.get(SESSIONS).unwrap(), app.get(TITLES).unwrap());
        let agent = app.scope().unwrap();
        let session = sessions.get().unwrap().create(agent.context(), CreateSession::default()).unwrap();
        Self { app, sessions, titles, plugin, agent, session }
    }

    /// Lets the tasks do what they were spawned for.
    pub(crate) async fn settle(&self) {
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    }

    pub(crate) fn say(&self, text: &str) -> u64 {
        self.session.append(user(text)).unwrap().seq()
    }

    pub(crate) fn title(&self) -> Option<String> {
        title_of(&self.session).map(|title| title.title().to_owned())
    }

    /// How many titles the log holds.
    pub(crate) fn count(&self) -> usize {
        self.session.events().iter().filter(|event| event.kind() == "session/title").count()
    }
}

pub(crate) fn config(max_words: usize, fallback_bytes: usize, bytes: usize) -> Config {
    Config {
        fallback_max_words: max_words.try_into().unwrap(),
        fallback_max_bytes: fallback_bytes.try_into().unwrap(),
        max_title_bytes: bytes.try_into().unwrap(),
    }
}

pub(crate) fn user(text: &str) -> NewEvent {
    said_by(Source::User {}, text)
}

pub(crate) fn said_by(source: Source, text: &str) -> NewEvent {
    NewEvent::user(Arc::new(Message::new(Role::User, vec![ContentBlock::text(text)], source))).unwrap()
}

/// A title that a plugin made from the first message.
pub(crate) fn provided(title: &str) -> NewEvent {
    let source = r#"{"kind":"provider","provider":"titles","model":{"provider":"p","model":"m"}}"#;
    let data = format!(r#"{{"title":"{title}","messageSeqs":[0],"source":{source}}}"#);
    NewEvent::raw("session/title", &data).unwrap()
}
