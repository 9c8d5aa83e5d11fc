//! Appending: what an event is given, what is refused, and that a refusal changes nothing.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use cordis::{App, BoxError};
use dsh_llm::{ContentBlock, Message, Role, Source};
use dsh_session::{
    APPENDING, AppendError, CreateSession, NewEvent, Session, SessionStore, SurfaceError, ToolResult,
    TurnStart,
};
use support::{Said, answer_of, event, message, raw, result_of, session, state, texts, user};

fn now_ms() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

// spec: session/S14
#[test]
fn append_gives_the_event_with_its_number_its_time_and_its_data() {
    let session = session();
    let before = now_ms();
    for turn in 0..3 {
        let event = session.append(event(&TurnStart { turn })).unwrap();
        assert_eq!((event.seq(), event.kind()), (turn, "turn/start"));
        assert!((before..=now_ms()).contains(&event.time_ms()));
        assert_eq!(event.data().get(), format!(r#"{{"turn":{turn}}}"#));
        assert!(Arc::ptr_eq(&event, &session.events().last().unwrap()), "it is the very one of the log");
    }
}

// spec: session/S15
#[test]
fn types_and_reasons_of_the_past_are_refused() {
    let session = session();
    let header = |reason: &str| {
        raw(
            "request/header",
            &format!(r#"{{"header":{{"config":{{"provider":"p","model":"m"}}}},"reason":"{reason}"}}"#),
        )
    };
    for new in [raw("request/header-delta", "{}"), header("fallback")] {
        assert!(matches!(session.append(new), Err(AppendError::Legacy { session, .. }) if session == "s-1"));
    }
    assert!(session.is_empty());
    for reason in ["initial", "resume", "change"] {
        session.append(header(reason)).unwrap();
    }
}

// spec: session/S15
#[tokio::test]
async fn the_first_violation_is_the_one_that_is_told() {
    let app = App::new().unwrap();
    let store = SessionStore::new();
    let session = store.create(&app, CreateSession::default()).unwrap();
    let said = Said::default();
    let again = (said.clone(), session.clone());
    app.on(APPENDING)
        .run(move |it| {
            let (said, session) = &again;
            said.say(format!("asked {} {}", it.event.kind(), it.session.len()));
            // Inside of an append: refused for that, whatever else is wrong with the mark; but the past comes first.
            said.say(session.append(raw("request/header-delta", "{}")).unwrap_err());
            said.say(session.append(user("x").replacing(7, 7)).unwrap_err());
            Err::<(), BoxError>("no".into())
        })
        .unwrap();
    let id = session.id();
    let error = session.append(user("x").replacing(7, 7)).unwrap_err();
    assert!(matches!(error, AppendError::Surface { .. }), "{error}");
    assert_eq!(said.take(), [""; 0], "validators are not asked of what cannot be");
    let error = session.append(user("x")).unwrap_err();
    assert!(matches!(&error, AppendError::Refused { source, .. } if source.to_string() == "no"), "{error}");
    let said = said.take();
    assert_eq!(said[0], "asked user/message 0");
    assert!(said[1].contains("request/header-delta") && said[1].contains(id), "{}", said[1]);
    assert!(said[2].contains("observer"), "{}", said[2]);
    assert_eq!(session.len(), 0);
}

// spec: session/S16
#[test]
fn neither_an_unknown_type_nor_the_order_of_turns_and_steps_is_refused() {
    let session = session();
    for (kind, data) in [
        ("made/up", "null"),
        ("turn/end", r#"{"turn":7,"reason":{"kind":"completed"}}"#),
        ("step/end", r#"{"turn":1,"step":9}"#),
        ("turn/start", r#"{"turn":3}"#),
        ("turn/start", r#"{"turn":1}"#),
        ("tool/call", r#"{"nothing":"of it"}"#),
    ] {
        session.append(raw(kind, data)).unwrap();
    }
    assert_eq!(session.len(), 6);
}

#[test]
fn a_type_that_reads_as_a_packed_row_is_refused_as_its_line_could_not_be_read_again() {
    for kind in ["text-chunks", "reasoning-chunks", "tool-call-chunks"] {
        NewEvent::raw(kind, "{}").expect_err(kind);
    }
}

// spec: session/S17
#[test]
fn what_is_inside_of_the_blocks_of_a_message_is_not_looked_at() {
    let session = session();
    let data = r#"{"id":"m","role":"user","source":{"kind":"plugin-x","n":1},"content":[{"type":"text","text":7},{"type":"made-up","deep":[{}]}],"more":true}"#;
    let event = session.append(raw("user/message", data).appended()).unwrap();
    assert_eq!(event.data().get(), data);
    assert_eq!(event.message().unwrap().content.len(), 2);
}

#[test]
fn a_message_that_no_reader_would_accept_is_refused_however_it_is_made() {
    let bad =
        |id: &str, role, source| Arc::new(Message { id: id.to_owned(), role, content: Vec::new(), source });
    let model =
        |name: &str| Source::Model { provider: "p".to_owned(), model: name.to_owned(), replay_state: None };
    for message in [
        bad("", Role::User, Source::User {}),
        bad("m", Role::Assistant, Source::User {}),
        bad("m", Role::System, Source::User {}),
    ] {
        NewEvent::user(message).unwrap_err();
    }
    for message in [
        bad("", Role::Assistant, model("m")),
        bad("m", Role::User, model("m")),
        bad("m", Role::Assistant, model("")),
    ] {
        let mut answer = answer_of(Vec::new());
        answer.message = message;
        NewEvent::answer(&answer).unwrap_err();
        NewEvent::new(&answer).unwrap_err();
    }
    let mut result = result_of("c", "x");
    result.message = message("x");
    NewEvent::tool_result(&result).unwrap_err();
    NewEvent::new(&result).unwrap_err();
}

#[test]
fn a_message_is_part_of_the_conversation_whichever_way_its_event_was_made() {
    let session = session();
    let answer = answer_of(vec![ContentBlock::text("a")]);
    let result = result_of("c", "r");
    session.append(NewEvent::new(&answer).unwrap().appended()).unwrap();
    session.append(NewEvent::new(&result).unwrap().appended()).unwrap();
    assert_eq!(texts(&session), ["a", "r"]);
    let read = session.events().last().unwrap().payload::<ToolResult>().unwrap().unwrap();
    assert_eq!(read, result);
}

// spec: session/S18
#[tokio::test]
async fn after_every_kind_of_refusal_the_session_is_as_it_was_and_can_be_used() {
    let app = App::new().unwrap();
    let session = SessionStore::new().create(&app, CreateSession::default()).unwrap();
    app.on(APPENDING)
        .run(|it| if it.event.kind() == "made/up" { Err::<(), BoxError>("vetoed".into()) } else { Ok(()) })
        .unwrap();
    session.append(user("a")).unwrap();
    let header = r#"{"header":{"config":{"provider":"p","model":"m"}},"reason":"initial"}"#;
    session.append(raw("request/header", header)).unwrap();
    session.append(raw("request/context", r#"{"provider":"p","model":"m"}"#)).unwrap();
    let before = state(&session);
    let refused: [fn() -> NewEvent; 7] = [
        || raw("request/header-delta", "{}"),
        || raw("made/up", "{}"),
        || raw("turn/start", "{}").appended(),
        || raw("turn/start", "{}").made_from([0]),
        || user("b").made_from([9]),
        || user("b").replacing(0, 0),
        || user("b").replacing(1, 1).made_from([1]),
    ];
    for (which, new) in refused.into_iter().enumerate() {
        session.append(new()).expect_err("it is refused");
        assert_eq!(state(&session), before, "{which}");
    }
    assert_eq!(session.append(user("c")).unwrap().seq(), 3);
    assert_eq!(texts(&session), ["a", "c"]);
}

// spec: session/S19
#[test]
fn numbers_are_places_and_are_never_used_again() {
    let session = session();
    assert_eq!((session.len(), session.is_empty()), (0, true));
    for turn in 0..300 {
        if turn % 3 == 0 {
            let error = session.append(raw("turn/start", "{}").appended()).unwrap_err();
            assert!(matches!(
                error,
                AppendError::Surface { source: SurfaceError::MarkNotAllowed { .. }, .. }
            ));
        }
        assert_eq!(session.append(event(&TurnStart { turn })).unwrap().seq(), turn);
        assert_eq!(session.len(), turn + 1);
    }
    let numbers: Vec<_> = session.events().iter().map(|event| event.seq()).collect();
    assert_eq!(numbers, (0..300).collect::<Vec<_>>());
}

#[test]
fn an_error_of_an_append_names_the_session_and_what_is_wrong() {
    let session = Session::detached("mine");
    let error = session.append(raw("turn/start", "{}").appended()).unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(error.to_string().contains("`mine`") && error.to_string().contains("`turn/start`"), "{error}");
    assert!(cause.contains("surfaceOp"), "{cause}");
}
