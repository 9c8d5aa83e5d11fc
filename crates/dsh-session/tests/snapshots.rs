//! What a caller holds of a log does not change any more.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use std::sync::Arc;

use dsh_llm::ContentBlock;
use dsh_session::NewEvent;
use support::{message, raw, session, texts, user};

// spec: session/S35
#[test]
fn a_list_of_events_never_grows_however_long_the_log_becomes() {
    let session = session();
    let mut held = vec![session.events()];
    for at in 0..200 {
        session.append(user(&at.to_string())).unwrap();
        held.push(session.events());
    }
    for (length, events) in held.iter().enumerate() {
        assert_eq!(events.len(), length);
        assert_eq!(events.iter().count(), length);
        assert_eq!(events.last().map(|event| event.seq() + 1), (length > 0).then_some(length as u64));
        assert!(events.get(length).is_none());
        assert_eq!(events.from(length).count(), 0);
    }
    let middle: Vec<_> = held[150].from(60).map(|event| event.seq()).collect();
    assert_eq!(middle, (60..150).collect::<Vec<_>>());
}

// spec: session/S35
#[test]
fn two_lists_with_no_append_between_them_share_their_events() {
    let session = session();
    for _ in 0..70 {
        session.append(user("a")).unwrap();
    }
    let (one, two) = (session.events(), session.events());
    assert_eq!(one, two);
    assert!(one.iter().zip(two.iter()).all(|(one, two)| Arc::ptr_eq(&one, &two)));
    session.append(raw("made/up", "{}")).unwrap();
    assert_ne!(one, session.events());
    assert!(
        Arc::ptr_eq(&one.get(0).unwrap(), &session.events().get(0).unwrap()),
        "not copied by the append either"
    );
}

// spec: session/S36
#[test]
fn what_the_caller_does_to_its_own_values_later_changes_nothing() {
    let session = session();
    let mut shared = message("as it was");
    let mut data = String::from(r#"{"a":1}"#);
    let mut sources = vec![0];
    let event = session.append(NewEvent::user(shared.clone()).unwrap()).unwrap();
    let other = session.append(raw("made/up", &data)).unwrap();
    let from = session.append(user("b").made_from(sources.clone())).unwrap();
    Arc::make_mut(&mut shared).content.push(ContentBlock::text("later"));
    data.replace_range(.., "[]");
    sources.push(1);
    assert_eq!(texts(&session), ["as it was", "b"]);
    assert!(event.data().get().contains("as it was") && !event.data().get().contains("later"));
    assert_eq!((other.data().get(), from.sources()), (r#"{"a":1}"#, Some(&[0][..])));
}

// spec: session/S36
#[test]
fn a_conversation_at_hand_stays_as_it_is_when_a_part_is_replaced() {
    let session = session();
    for text in ["a", "b"] {
        session.append(user(text)).unwrap();
    }
    let held = session.messages();
    session.append(user("sum").replacing(0, 1).made_from([0, 1])).unwrap();
    let held: Vec<_> = held.iter().map(|message| message.text()).collect();
    assert_eq!((held, texts(&session)), (vec!["a".to_owned(), "b".to_owned()], vec!["sum".to_owned()]));
}
