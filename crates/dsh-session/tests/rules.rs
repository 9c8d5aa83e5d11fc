//! Listeners that have logs keep rules: whose progress is used, and what it may do.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use cordis::App;
use dsh_session::{
    AppendError, CreateError, CreateSession, Event, LogProgress, Seed, Session, SessionStore, enforce_rules,
};
use support::{Said, raw};

/// Says what it judges and when it is dropped, and may do something then.
#[derive(Default)]
struct Progress {
    taken: u64,
}

thread_local! {
    /// Sessions to which the next progress that judges, or is dropped, on this thread appends.
    static MEANWHILE: RefCell<Vec<Arc<Session>>> = const { RefCell::new(Vec::new()) };
    /// What was judged or dropped on this thread.
    static SEEN: Said = Said::default();
}

#[derive(Debug, thiserror::Error)]
#[error("it is not the first")]
struct NotFirst;

fn meddle() {
    for session in MEANWHILE.take() {
        session.append(raw("made/up", "null")).unwrap();
    }
}

impl LogProgress for Progress {
    type Change = ();
    type Violation = NotFirst;

    fn judge(&self, session: &str, event: &Event) -> Result<(), NotFirst> {
        SEEN.with(|seen| seen.say(format!("{session} {} after {}", event.kind(), self.taken)));
        match event.kind() {
            "only/first" if self.taken > 0 => Err(NotFirst),
            "made/meddling" => {
                meddle();
                Ok(())
            }
            "made/panicking" => panic!("expected by the test"),
            _ => Ok(()),
        }
    }

    fn take(&mut self, _: &Event, (): ()) {
        self.taken += 1;
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        SEEN.with(|seen| seen.say(format!("dropped after {}", self.taken)));
        meddle();
    }
}

fn seen() -> Vec<String> {
    SEEN.with(Said::take)
}

fn app() -> App {
    let app = App::new().unwrap();
    enforce_rules::<Progress>(&app, |_| {}).unwrap();
    app
}

/// A session of a store of its own, so that others may have the same id.
fn session(app: &App) -> Arc<Session> {
    let options = CreateSession { id: Some("s-1".to_owned()), ..CreateSession::default() };
    SessionStore::new().create(app, options).unwrap()
}

/// Does something on a thread that is given up if it waits for ever.
fn on_a_thread(what: impl FnOnce() + Send + 'static) {
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        what();
        tell.send(()).unwrap();
    });
    told.recv_timeout(Duration::from_secs(60)).expect("it failed, or waits for ever");
}

// spec: design/P3
#[tokio::test]
async fn a_progress_that_judges_may_have_another_one_judge() {
    let app = app();
    let (ours, other) = (session(&app), session(&app));
    on_a_thread(move || {
        MEANWHILE.set(vec![other.clone()]);
        ours.append(raw("made/meddling", "null")).unwrap();
        assert_eq!((ours.len(), other.len()), (1, 1));
    });
}

// spec: design/P3
#[tokio::test]
async fn a_progress_that_is_dropped_for_another_one_may_have_a_third_one_judge() {
    let app = app();
    let sessions = [session(&app), session(&app), session(&app)];
    on_a_thread(move || {
        let [first, second, third] = sessions;
        first.append(raw("made/up", "null")).unwrap();
        MEANWHILE.set(vec![third.clone()]);
        second.append(raw("made/up", "null")).unwrap();
        assert_eq!(third.len(), 1, "the first one's progress was dropped");
    });
}

#[tokio::test]
async fn two_sessions_of_one_id_are_each_judged_by_their_own_log() {
    let app = app();
    let (first, second) = (session(&app), session(&app));
    for _ in 0..2 {
        first.append(raw("made/up", "null")).unwrap();
    }
    second.append(raw("only/first", "null")).unwrap();
    let error = first.append(raw("only/first", "null")).unwrap_err();
    assert!(matches!(error, AppendError::Refused { .. }), "{error}");
}

#[tokio::test]
async fn nothing_is_kept_of_a_session_that_has_left_its_store_or_never_was_in_it() {
    let app = app();
    let scope = app.scope().unwrap();
    let session = SessionStore::new().create(scope.context(), CreateSession::default()).unwrap();
    session.append(raw("made/up", "null")).unwrap();
    assert!(seen().iter().all(|line| !line.starts_with("dropped")));
    scope.close().await;
    assert_eq!(seen(), ["dropped after 0"], "what is judged is taken when the next one comes");
    let wrong = Session::detached("wrong");
    wrong.append(raw("made/up", "null")).unwrap();
    wrong.append(raw("only/first", "null")).unwrap();
    let wrong: Vec<_> = wrong.events().iter().collect();
    let options = CreateSession { seed: Some(Seed::new(wrong)), ..CreateSession::default() };
    let refused = SessionStore::new().create(&app, options);
    assert!(matches!(refused, Err(CreateError::Refused { .. })), "{refused:?}");
    assert_eq!(seen().last().unwrap(), "dropped after 1");
}

#[tokio::test]
async fn a_progress_that_panicked_is_made_anew_from_the_log() {
    let app = app();
    let session = session(&app);
    session.append(raw("made/up", "null")).unwrap();
    session.append(raw("made/up", "null")).unwrap();
    assert!(session.append(raw("made/panicking", "null")).is_err());
    seen();
    session.append(raw("made/up", "null")).unwrap();
    let id = session.id();
    assert_eq!(seen(), [0, 1, 2].map(|taken| format!("{id} made/up after {taken}")));
}
