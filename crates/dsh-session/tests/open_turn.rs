//! Which turn is open, and what is added to it alone.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use std::sync::Barrier;

use cordis::App;
use dsh_session::{
    AppendError, CreateSession, EVENT, NewEvent, OpenTurn, Seed, Session, SessionEvent, SessionHeader,
    SessionStore, TurnEnd, TurnEndReason, TurnStart,
};
use support::{Said, event, raw, user};

fn start(turn: u64) -> NewEvent {
    event(&TurnStart { turn })
}

fn end(turn: u64) -> NewEvent {
    event(&TurnEnd { turn, reason: TurnEndReason::Completed {} })
}

fn open(began: u64, number: u64) -> Option<OpenTurn> {
    Some(OpenTurn { began, number: Some(number) })
}

#[test]
fn the_last_boundary_says_which_turn_is_open() {
    let session = Session::detached("s-1");
    assert_eq!(session.open_turn(), None);
    for (event, turn) in [
        (user("before"), None),
        (start(1), open(1, 1)),
        (user("go"), open(1, 1)),
        (end(7), None),
        (end(1), None),
        (start(1), open(5, 1)),
        (start(3), open(6, 3)),
        (raw("turn/start", r#"{"turn":"4"}"#), Some(OpenTurn { began: 7, number: None })),
    ] {
        session.append(event).unwrap();
        assert_eq!(session.open_turn(), turn, "{:?}", session.events().last());
    }
}

#[test]
fn a_seed_says_which_turn_is_open() {
    let ours = Session::detached("s-1");
    for event in [start(1), end(1), start(2), user("go")] {
        ours.append(event).unwrap();
    }
    let seeded = |events| Session::new(SessionHeader::new("s-2".to_owned(), 1), Some(Seed::new(events)));
    let events: Vec<_> = ours.events().iter().collect();
    assert_eq!(seeded(events.clone()).unwrap().open_turn(), open(2, 2));
    assert_eq!(seeded(events[..2].to_vec()).unwrap().open_turn(), None);
}

#[test]
fn an_event_is_added_to_its_turn_or_not_at_all() {
    let session = Session::detached("s-1");
    session.append(start(1)).unwrap();
    let first = session.open_turn().unwrap();
    assert_eq!(session.append_to_turn(first, user("go")).unwrap().seq(), 1);
    session.append(end(1)).unwrap();
    session.append(start(1)).unwrap();
    let error = session.append_to_turn(first, user("late")).unwrap_err();
    assert_eq!(error.to_string(), "session `s-1`: `user/message` cannot be added to a turn that has ended");
    assert_eq!(session.len(), 4, "another turn of the same number is another one");
}

#[tokio::test]
async fn an_observer_of_the_end_is_told_that_the_turn_has_ended() {
    let app = App::new().unwrap();
    let session = SessionStore::new().create(&app, CreateSession::default()).unwrap();
    session.append(start(1)).unwrap();
    let (turn, said) = (session.open_turn().unwrap(), Said::default());
    let to = said.clone();
    app.on(EVENT)
        .run(move |it: &SessionEvent| to.say(it.session.append_to_turn(turn, user("x")).unwrap_err()))
        .unwrap();
    session.append(user("go")).unwrap();
    session.append(end(1)).unwrap();
    let said = said.take();
    assert!(said[0].contains("observer") && said[1].contains("ended"), "{said:?}");
}

#[tokio::test]
async fn a_turn_that_is_ended_on_another_thread_gets_nothing_more() {
    let app = App::new().unwrap();
    let session = SessionStore::new().create(&app, CreateSession::default()).unwrap();
    let (told, said) = (Said::default(), Said::default());
    let to = told.clone();
    app.on(EVENT).run(move |it: &SessionEvent| to.say(it.event.kind())).unwrap();
    for turn in 0..100 {
        session.append(start(turn)).unwrap();
        let open = session.open_turn().unwrap();
        let meet = Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                meet.wait();
                session.append(end(turn)).unwrap();
            });
            meet.wait();
            loop {
                match session.append_to_turn(open, raw("made/up", "null")) {
                    Ok(_) => said.say("added"),
                    Err(AppendError::TurnEnded { .. }) => break,
                    Err(error) => panic!("{error}"),
                }
            }
        });
        let kinds = told.take();
        assert_eq!(kinds.last().map(String::as_str), Some("turn/end"), "{kinds:?}");
    }
}

#[test]
fn what_is_open_is_as_in_the_log_whatever_the_threads_do() {
    let session = Session::detached("s-1");
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for turn in 0..200 {
                    session.append(start(turn)).unwrap();
                    session.append(end(turn)).unwrap();
                }
            });
        }
    });
    assert_eq!(session.open_turn(), None);
    assert_eq!(session.events().last().unwrap().kind(), "turn/end");
}
