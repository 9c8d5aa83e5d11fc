//! Who may change a title.

use dsh_session::{AppendError, NewEvent};
use dsh_session_title::{OutOfTurn, RefreshError, RenameError, TitleSource, title_of};

use crate::fixture::{Fixture, provided};

// spec: session/S118
#[tokio::test]
async fn a_title_of_the_user_is_normalized_and_cut() {
    let fixture = Fixture::new().await;
    let title = fixture.titles.get().unwrap().rename(&fixture.session, &format!(" my\n{}", "x".repeat(99)));
    let title = title.unwrap();
    assert_eq!(title.title(), format!("my {}", "x".repeat(77)));
    assert_eq!((title.source(), title.message_seqs()), (&TitleSource::User {}, &[][..]));
    assert_eq!(title_of(&fixture.session), Some(title));
}

// spec: session/S118
#[tokio::test]
async fn a_title_of_which_nothing_can_be_seen_is_refused() {
    let fixture = Fixture::new().await;
    let refused = fixture.titles.get().unwrap().rename(&fixture.session, "\u{1b}[0m \u{200b}");
    assert!(matches!(refused, Err(RenameError::Invalid)), "{refused:?}");
    assert_eq!(fixture.count(), 0);
}

// spec: session/S118
#[tokio::test]
async fn a_session_that_is_not_live_is_neither_renamed_nor_refreshed() {
    let fixture = Fixture::new().await;
    fixture.say("said");
    fixture.agent.close().await;
    let before = fixture.session.len();
    let titles = fixture.titles.get().unwrap();
    let renamed = titles.rename(&fixture.session, "mine");
    assert!(matches!(renamed, Err(RenameError::NotLive { .. })), "{renamed:?}");
    let refreshed = titles.refresh(&fixture.session);
    assert!(matches!(refreshed, Err(RefreshError::NotLive { .. })), "{refreshed:?}");
    assert_eq!(fixture.session.len(), before);
}

// spec: session/S118
#[tokio::test]
async fn the_users_title_outlives_one_that_was_about_to_be_made() {
    let fixture = Fixture::new().await;
    fixture.say("said");
    fixture.titles.get().unwrap().rename(&fixture.session, "mine").unwrap();
    fixture.settle().await;
    assert_eq!((fixture.title().as_deref(), fixture.count()), (Some("mine"), 1));
}

// spec: session/S118
#[tokio::test]
async fn a_pinned_title_gives_way_to_the_user_and_to_nobody_else() {
    let fixture = Fixture::new().await;
    fixture.say("said");
    fixture.settle().await;
    fixture.session.append(provided("made")).unwrap();
    let titles = fixture.titles.get().unwrap();
    titles.rename(&fixture.session, "mine").unwrap();
    match fixture.session.append(provided("made later")).unwrap_err() {
        AppendError::Refused { source, .. } => {
            let refusal = source.downcast_ref::<OutOfTurn>().unwrap();
            assert_eq!(refusal.title, "mine");
        }
        other => panic!("refused for another reason: {other}"),
    }
    titles.rename(&fixture.session, "mine again").unwrap();
    assert_eq!(fixture.title().as_deref(), Some("mine again"));
}

// spec: session/S118
#[tokio::test]
async fn only_a_refresh_takes_the_pin_away() {
    let fixture = Fixture::new().await;
    fixture.say("said first");
    let titles = fixture.titles.get().unwrap();
    titles.rename(&fixture.session, "mine").unwrap();
    let title = titles.refresh(&fixture.session).unwrap();
    assert_eq!((title.title(), title.is_pinned()), ("said first", false));
    assert_eq!(title_of(&fixture.session), Some(title));
    fixture.session.append(provided("made")).unwrap();
    assert_eq!(fixture.title().as_deref(), Some("made"));
}

#[tokio::test]
async fn a_fallback_takes_the_place_of_nothing_after_a_refresh_either() {
    let fixture = Fixture::new().await;
    fixture.say("said first");
    fixture.titles.get().unwrap().refresh(&fixture.session).unwrap();
    let fallback = r#"{"title":"late","messageSeqs":[0],"source":{"kind":"fallback"}}"#;
    assert!(fixture.session.append(NewEvent::raw("session/title", fallback).unwrap()).is_err());
    fixture.settle().await;
    assert_eq!(fixture.count(), 1);
}

#[tokio::test]
async fn there_is_nothing_to_refresh_before_the_user_has_said_something() {
    let fixture = Fixture::new().await;
    let refused = fixture.titles.get().unwrap().refresh(&fixture.session);
    assert!(matches!(refused, Err(RefreshError::NothingSaid { .. })), "{refused:?}");
}

// spec: session/S117
#[tokio::test]
async fn an_event_that_is_not_what_a_title_is_is_not_added() {
    let fixture = Fixture::new().await;
    let wrong = r#"{"title":"t","messageSeqs":[1],"source":{"kind":"user"}}"#;
    assert!(fixture.session.append(NewEvent::raw("session/title", wrong).unwrap()).is_err());
    assert_eq!(fixture.count(), 0);
}
