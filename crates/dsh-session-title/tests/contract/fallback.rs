//! The title that nobody gave.

use std::sync::Arc;
use std::task::Poll;

use cordis::BoxError;
use cordis::testing::Recorder;
use dsh_llm::Source;
use dsh_session::{APPENDING, Appending, CreateSession, EVENT, Seed, SessionEvent};
use dsh_session_title::{TitleSource, title_of};

use crate::fixture::{Fixture, provided, said_by, user};

// spec: session/S117
#[tokio::test]
async fn the_first_words_of_the_first_message_make_the_title_a_little_later() {
    let fixture = Fixture::new().await;
    let seq = fixture.say("fix \u{1b}[31mthe\u{1b}[0m\n bug in parser, please");
    assert_eq!(fixture.title(), None, "an observer does not append");
    fixture.settle().await;
    let title = title_of(&fixture.session).unwrap();
    assert_eq!(title.title(), "fix the bug in parser,");
    assert_eq!(title.message_seqs(), [seq]);
    assert_eq!(title.source(), &TitleSource::Fallback {});
    fixture.app.assert_no_errors();
}

// spec: session/S117
#[tokio::test]
async fn the_limit_of_bytes_cuts_words_too() {
    let fixture = Fixture::new().await;
    fixture.say(&format!("{} tail", "é".repeat(30)));
    fixture.settle().await;
    assert_eq!(fixture.title(), Some("é".repeat(20)));
}

// spec: session/S117
#[tokio::test]
async fn a_title_is_made_once_and_from_the_first_message() {
    let fixture = Fixture::new().await;
    fixture.say("first");
    fixture.say("second");
    fixture.settle().await;
    fixture.say("third");
    fixture.settle().await;
    assert_eq!((fixture.title().as_deref(), fixture.count()), (Some("first"), 1));
}

// spec: session/S117
#[tokio::test]
async fn only_what_the_user_said_and_can_be_seen_makes_a_title() {
    let fixture = Fixture::new().await;
    let plugin = Source::Plugin { plugin: "p".to_owned(), form: None, sections: None, summary: None };
    fixture.session.append(said_by(plugin, "a notice")).unwrap();
    fixture.say(" \u{200b}\n");
    fixture.settle().await;
    assert_eq!(fixture.count(), 0);
    let seq = fixture.say("at last");
    fixture.settle().await;
    assert_eq!(title_of(&fixture.session).unwrap().message_seqs(), [seq]);
}

// spec: session/S117
#[tokio::test]
async fn text_blocks_are_joined_by_line_ends() {
    let fixture = Fixture::new().await;
    let blocks =
        r#"[{"type":"text","text":"one"},{"type":"image","attachment":{}},{"type":"text","text":"two"}]"#;
    let data = format!(r#"{{"id":"u","role":"user","content":{blocks},"source":{{"kind":"user"}}}}"#);
    fixture.session.append(dsh_session::NewEvent::raw("user/message", &data).unwrap().appended()).unwrap();
    fixture.settle().await;
    assert_eq!(fixture.title().as_deref(), Some("one two"));
}

#[tokio::test]
async fn a_session_that_has_a_title_gets_no_other() {
    let fixture = Fixture::new().await;
    fixture.session.append(provided("there")).unwrap();
    fixture.say("late");
    fixture.settle().await;
    assert_eq!((fixture.title().as_deref(), fixture.count()), (Some("there"), 1));
}

#[tokio::test]
async fn a_session_that_was_opened_again_gets_its_title_from_its_first_message() {
    let fixture = Fixture::new().await;
    let past = dsh_session::Session::detached("past");
    past.append(user("long ago")).unwrap();
    let seed = Seed::from(past.events());
    let store = fixture.sessions.get().unwrap();
    let session = store
        .create(fixture.agent.context(), CreateSession { seed: Some(seed), ..CreateSession::default() })
        .unwrap();
    fixture.settle().await;
    assert_eq!(title_of(&session), None, "opening alone writes nothing");
    session.append(user("and now")).unwrap();
    fixture.settle().await;
    assert_eq!(title_of(&session).unwrap().title(), "long ago");
}

#[tokio::test]
async fn a_title_that_was_refused_is_tried_again_with_the_next_message() {
    let fixture = Fixture::new().await;
    let veto = fixture
        .app
        .on(APPENDING)
        .run(|appending: &Appending| -> Result<(), BoxError> {
            if appending.event.kind() == "session/title" { Err("not now".into()) } else { Ok(()) }
        })
        .unwrap();
    fixture.say("first");
    fixture.settle().await;
    assert_eq!(fixture.count(), 0);
    veto.dispose().await;
    fixture.say("second");
    fixture.settle().await;
    assert_eq!(fixture.title().as_deref(), Some("first"));
}

/// Unlike the runtime's own yield, does not wait until nothing else is left to do.
async fn to_the_back_of_the_queue() {
    let mut waited = false;
    std::future::poll_fn(|cx| {
        if std::mem::replace(&mut waited, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[tokio::test]
async fn no_title_is_added_to_a_session_that_has_ended() {
    // Its end and its title are tasks both; somewhere in between the end comes first.
    for steps in 0..8 {
        let fixture = Fixture::new().await;
        let is_title = |added: &SessionEvent| added.event.kind() == "session/title";
        let told = Recorder::of(&fixture.app, EVENT, is_title).unwrap();
        let (agent, session) = (fixture.agent.fiber(), fixture.session.clone());
        // A task among tasks: the test itself would wait for all of them at each step.
        let said = tokio::spawn(async move {
            agent.cancel();
            for _ in 0..steps {
                to_the_back_of_the_queue().await;
            }
            session.append(user("first")).map(drop)
        });
        said.await.unwrap().unwrap();
        fixture.settle().await;
        assert!(!fixture.sessions.get().unwrap().is_live(&fixture.session));
        let told = told.take().into_iter().filter(|is_title| *is_title).count();
        assert_eq!(fixture.count(), told, "after {steps} steps");
    }
}

#[tokio::test]
async fn unloaded_it_gives_no_titles_and_leaves_nothing() {
    let fixture = Fixture::new().await;
    fixture.say("pending");
    let listeners = fixture.app.listeners(APPENDING);
    let disposed = fixture.plugin.dispose().await;
    assert!(disposed.still_running.is_empty(), "{disposed:?}");
    let seen = fixture.count();
    fixture.say("after");
    fixture.settle().await;
    assert_eq!(fixture.count(), seen);
    assert_eq!(fixture.app.listeners(APPENDING), listeners - 1);
    assert!(fixture.app.get(dsh_session_title::TITLES).is_none());
    assert!(fixture.titles.get().is_err());
    // The test, the store, and the effect that ends the session.
    assert_eq!(Arc::strong_count(&fixture.session), 3);
}
