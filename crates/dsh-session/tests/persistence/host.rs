//! An app with a store of sessions whose logs are on a [`Disk`].

use std::sync::Arc;
use std::time::Duration;

use cordis::testing::TestApp;
use cordis::{BoxError, Context, Effect, Fiber, Handle, Plugin, State, define};
use dsh_session::{
    CreateSession, Event, NewEvent, PERSISTENCE, Payload, Preparation, SESSIONS, Seed, Session,
    SessionHeader, SessionPersistence, SessionStore, WriteOptions, persist,
};

use crate::memory::{Disk, Memory};

pub(crate) struct Host {
    pub(crate) app: TestApp,
    pub(crate) disk: Disk,
    pub(crate) keeper: Fiber,
    options: WriteOptions,
}

struct Keep {
    disk: Disk,
    options: WriteOptions,
}

fn keeper() -> impl Plugin<Config = Keep> {
    async fn apply(ctx: &Context, store: Handle<SessionStore>, keep: &Keep) -> Result<(), BoxError> {
        persist(ctx, &store, Arc::new(Memory::open(&keep.disk)), keep.options)
    }
    define("keeper").needs(SESSIONS).provides(PERSISTENCE).run(apply)
}

impl Host {
    pub(crate) async fn new() -> Self {
        Self::with(Disk::default(), WriteOptions::default()).await
    }

    pub(crate) async fn over(disk: &Disk) -> Self {
        Self::with(disk.clone(), WriteOptions::default()).await
    }

    pub(crate) async fn with(disk: Disk, options: WriteOptions) -> Self {
        let app = TestApp::new();
        let store = app.plugin(dsh_session::plugin(), ()).unwrap();
        assert_eq!(store.ready().await.unwrap(), State::Active);
        app.plugin(dsh_session_invariants::plugin(), ()).unwrap().ready().await.unwrap();
        let keeper = app.plugin(keeper(), Keep { disk: disk.clone(), options }).unwrap();
        assert_eq!(keeper.ready().await.unwrap(), State::Active);
        Self { app, disk, keeper, options }
    }

    /// Mounts the plugin that keeps the sessions again.
    pub(crate) async fn keep_again(&mut self) {
        let config = Keep { disk: self.disk.clone(), options: self.options };
        self.keeper = self.app.plugin(keeper(), config).unwrap();
        assert_eq!(self.keeper.ready().await.unwrap(), State::Active);
    }

    pub(crate) fn store(&self) -> Handle<SessionStore> {
        self.app.get(SESSIONS).unwrap()
    }

    pub(crate) fn kept(&self) -> Handle<SessionPersistence> {
        self.app.get(PERSISTENCE).unwrap()
    }

    /// A live session, and what ends it.
    pub(crate) fn live(&self, id: &str) -> (Arc<Session>, Effect) {
        self.live_with(CreateSession { id: Some(id.to_owned()), ..CreateSession::default() })
    }

    pub(crate) fn live_with(&self, options: CreateSession) -> (Arc<Session>, Effect) {
        let store = self.store();
        let store = store.get().unwrap();
        let session = store.prepare(options).unwrap();
        let effect = store.enter(&self.app, &session).unwrap();
        (session, effect)
    }

    pub(crate) fn enter(&self, prepared: &Preparation) -> Effect {
        self.store().get().unwrap().enter(&self.app, prepared.session()).unwrap()
    }

    /// Flushes; a failure as one text.
    pub(crate) async fn flush(&self, session: &Arc<Session>) -> Result<bool, String> {
        let store = self.store();
        let flushed = store.get().unwrap().flush(session).await;
        flushed.map_err(|error| text_of(&error))
    }
}

pub(crate) fn text_of(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// A new event that is not part of the conversation.
pub(crate) fn note(text: &str) -> NewEvent {
    NewEvent::raw("x/note", &format!(r#"{{"text":"{text}"}}"#)).unwrap()
}

pub(crate) fn say(session: &Arc<Session>, text: &str) -> Arc<Event> {
    session.append(note(text)).unwrap()
}

pub(crate) fn add<P: Payload>(session: &Arc<Session>, data: &P) -> Arc<Event> {
    session.append(NewEvent::new(data).unwrap()).unwrap()
}

/// A log of notes that was made elsewhere.
pub(crate) fn log(id: &str, texts: &[&str]) -> (SessionHeader, Vec<Arc<Event>>) {
    let session = Session::detached(id);
    for text in texts {
        say(&session, text);
    }
    ((**session.header()).clone(), session.events().to_vec())
}

/// A session to be created from events.
pub(crate) fn seeded(id: &str, events: Vec<Arc<Event>>) -> CreateSession {
    CreateSession { id: Some(id.to_owned()), seed: Some(Seed::new(events)), ..CreateSession::default() }
}

/// The texts of the notes among events.
pub(crate) fn texts<E: std::borrow::Borrow<Arc<Event>>>(events: impl IntoIterator<Item = E>) -> Vec<String> {
    let notes =
        events.into_iter().map(|event| event.borrow().clone()).filter(|event| event.kind() == "x/note");
    notes
        .map(|note| note.data().get()["{\"text\":\"".len()..note.data().get().len() - 2].to_owned())
        .collect()
}

/// Lets everything else go on until something holds. The clock stands still meanwhile, if it is a paused one.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = std::time::Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(120), "not within two minutes: {what}");
        tokio::task::yield_now().await;
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Polls a future until something holds that keeps it waiting, and drops it.
pub(crate) async fn given_up_when<T>(waiting: impl Future<Output = T>, holds: impl FnMut() -> bool) {
    tokio::select! {
        biased;
        _ = waiting => panic!("it does not wait"),
        () = until("it waits", holds) => {}
    }
}

/// Lets everything else go on for a while: enough for tasks to come to rest, not for what other threads do. That is
/// waited for by `until`.
pub(crate) async fn settle() {
    for _ in 0..40 {
        tokio::task::yield_now().await;
        std::thread::sleep(Duration::from_micros(250));
    }
}

/// Lets `ms` milliseconds of a paused clock pass, and what they bring about happen.
pub(crate) async fn pass(ms: u64) {
    settle().await;
    tokio::time::advance(Duration::from_millis(ms)).await;
    settle().await;
}
