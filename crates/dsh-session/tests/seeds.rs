//! Sessions that start from events: what is checked, what is marked, and who is told.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use std::sync::Arc;

use cordis::App;
use dsh_session::{
    APPENDING, CreateSession, EVENT, EndSeed, Event, Payload, Problem, Seed, SeedError, Session,
    SessionHeader, SessionStore,
};
use support::{Said, events, kinds, raw, refused, seeded, session, texts, user};

const TURN: &str = r#"{"type":"turn/start","seq":0,"time":5,"data":{"turn":1}}"#;

/// Why a session cannot start from these events.
fn wrong(seed: impl IntoIterator<Item = Arc<Event>>) -> (u64, String, String) {
    match Session::new(SessionHeader::new("s", 1), Some(Seed::new(seed))).unwrap_err() {
        SeedError::Event { seq, kind, reason } => (seq, kind, reason),
        other => panic!("another refusal: {other}"),
    }
}

/// The line of a request header.
fn header(header: &str) -> String {
    format!(r#"{{"type":"request/header","seq":0,"time":1,"data":{{"header":{header},"reason":"initial"}}}}"#)
}

// spec: session/S37
#[test]
fn a_session_shares_the_events_that_it_starts_from() {
    let parent = session();
    parent.append(user("a")).unwrap();
    parent.append(raw("made/up", "{}")).unwrap();
    let child = seeded(parent.events().iter());
    for (one, two) in parent.events().iter().zip(child.events().iter()) {
        assert!(Arc::ptr_eq(&one, &two));
    }
    child.append(user("b")).unwrap();
    assert_eq!((parent.len(), child.len()), (2, 4), "and nothing else");
}

// spec: session/S38
#[test]
fn a_seed_is_refused_at_its_first_event_that_cannot_stand_where_it_does() {
    let other = session();
    other.append(user("a")).unwrap();
    other.append(user("b").replacing(0, 0).made_from([0])).unwrap();
    let all: Vec<_> = other.events().iter().collect();
    let (seq, kind, reason) = wrong(all[1..].to_vec());
    assert_eq!((seq, kind.as_str()), (1, "user/message"));
    assert!(reason.contains("expected seq 0"), "{reason}");
    assert_eq!(wrong([all[0].clone(), all[0].clone()]).0, 0, "a repeat");
    // Of another log, where what it replaces is no message.
    let turn = events(&[TURN]).remove(0);
    let (seq, _, reason) = wrong([turn, all[1].clone()]);
    assert!(seq == 1 && reason.contains("starts at 0"), "{reason}");
}

// spec: session/S38
#[test]
fn a_log_is_checked_in_the_order_of_the_format() {
    // Of the past and with a wrong mark: the past is told.
    let past = r#"{"type":"request/header-delta","seq":0,"time":1,"data":{},"surfaceOp":"append"}"#;
    assert!(matches!(refused(&[past]).1, Problem::BadData { kind, .. } if kind == "request/header-delta"));
    let fallback = r#"{"type":"request/header","seq":0,"time":1,"data":{"header":{},"reason":"fallback"}}"#;
    let (_, problem) = refused(&[fallback]);
    assert!(problem.to_string().contains("fallback"), "{problem}");
    // A wrong shape and a range that is not there: the shape is told.
    let both = r#"{"type":"user/message","seq":0,"time":1,"data":{"id":""},"surfaceOp":{"op":"replace","start":7,"end":7}}"#;
    assert!(matches!(refused(&[both]).1, Problem::BadData { .. }));
    let range = r#"{"type":"user/message","seq":0,"time":1,"data":{"id":"m","role":"user","source":{"kind":"user"},"content":[]},"surfaceOp":{"op":"replace","start":7,"end":7},"sourceEventSeqs":[]}"#;
    assert!(matches!(refused(&[range]).1, Problem::Misplaced { .. }));
}

// spec: session/S39
#[tokio::test]
async fn the_events_of_a_seed_and_its_mark_are_told_to_nobody() {
    let app = App::new().unwrap();
    let said = Said::default();
    let to = said.clone();
    app.on(APPENDING)
        .run(move |it| {
            to.say(format!("asked {}", it.event.seq()));
            Ok(())
        })
        .unwrap();
    let to = said.clone();
    app.on(EVENT).run(move |it| to.say(format!("told {}", it.event.seq()))).unwrap();
    let seed = Some(Seed::new(events(&[TURN])));
    let session =
        SessionStore::new().create(&app, CreateSession { seed, ..CreateSession::default() }).unwrap();
    assert_eq!((session.len(), session.first_live_seq()), (2, 1));
    assert_eq!(said.take(), [""; 0]);
    session.append(user("a")).unwrap();
    assert_eq!(said.take(), ["asked 2", "told 2"]);
}

// spec: session/S39, S40
#[test]
fn the_end_of_a_seed_is_marked_once() {
    let fresh = session();
    assert_eq!((fresh.len(), fresh.first_live_seq()), (0, 0), "no seed, no mark");
    let empty = seeded([]);
    assert_eq!((kinds(&empty), empty.first_live_seq()), (vec!["session/end-seed".to_owned()], 0));
    let marked = seeded(events(&[TURN]));
    assert_eq!(
        (kinds(&marked), marked.first_live_seq()),
        (vec!["turn/start".to_owned(), "session/end-seed".to_owned()], 1)
    );
    let mark = marked.events().last().unwrap().clone();
    assert_eq!((mark.seq(), mark.data().get(), mark.is_ignorable()), (1, "{}", false));
    assert!(mark.payload::<EndSeed>().unwrap().is_some());
    let reopened = seeded(marked.events().iter());
    assert_eq!(reopened.events(), marked.events(), "opening it again adds nothing");
    assert_eq!(reopened.first_live_seq(), 2);
}

// spec: session/S40
#[test]
fn a_seed_with_an_older_mark_in_it_is_marked_at_its_end_and_the_last_mark_counts() {
    let first = seeded(events(&[TURN]));
    first.append(user("a")).unwrap();
    let second = seeded(first.events().iter());
    assert_eq!(kinds(&second), ["turn/start", "session/end-seed", "user/message", "session/end-seed"]);
    assert_eq!(second.first_live_seq(), 3, "inside of a turn that is open");
    let last = kinds(&second).iter().rposition(|kind| kind == EndSeed::TYPE);
    assert_eq!(last, Some(3));
}

// spec: session/S41
#[test]
fn a_request_header_that_nothing_can_be_asked_with_refuses_the_log() {
    let of = |config: &str, rest: &str| header(&format!(r#"{{"config":{{{config}}}{rest}}}"#));
    let base = r#""provider":"p","model":"m""#;
    let full = r#""provider":"p","model":"m","reasoningEffort":"high","maxTokens":5"#;
    for (line, name) in [
        (of(r#""provider":"","model":"m""#, ""), "provider"),
        (of(r#""provider":"p","model":"""#, ""), "model"),
        (of(r#""model":"m""#, ""), "provider"),
        (of(r#""provider":"p","model":"m","reasoningEffort":"""#, ""), "reasoningEffort"),
        (of(r#""provider":"p","model":"m","reasoningEffort":null"#, ""), "null"),
        (of(r#""provider":"p","model":"m","reasoningEffort":3"#, ""), "string"),
        (of(full, r#","adapterDefaults":[]"#), "map"),
        (of(full, r#","adapterDefaults":null"#), "null"),
        (of(full, r#","adapterDefaults":{"stop":true}"#), "stop"),
        (of(full, r#","adapterDefaults":{"maxTokens":false}"#), "maxTokens"),
        (of(full, r#","adapterDefaults":{"maxTokens":1}"#), "boolean"),
        (of(base, r#","adapterDefaults":{"maxTokens":true}"#), "maxTokens"),
        (of(base, r#","adapterDefaults":{"reasoningEffort":true}"#), "reasoningEffort"),
    ] {
        let (_, problem) = refused(&[&line]);
        assert!(
            matches!(&problem, Problem::BadData { kind, .. } if kind == "request/header"),
            "{line}: {problem}"
        );
        assert!(problem.to_string().contains(name), "{line}: {problem}");
    }
    events(&[&of(full, r#","adapterDefaults":{"maxTokens":true,"reasoningEffort":true}"#)]);
    events(&[&of(base, r#","adapterDefaults":{}"#)]);
}

/// The line of an event of the conversation.
fn line(kind: &str, data: &str) -> String {
    format!(r#"{{"type":"{kind}","seq":0,"time":1,"data":{data},"surfaceOp":"append"}}"#)
}

// spec: session/S42
#[test]
fn a_message_of_a_wrong_shape_refuses_the_log() {
    let user = r#"{"id":"m","role":"user","source":{"kind":"user"},"content":[]}"#;
    let answer = r#"{"turn":1,"step":1,"message":{"id":"m","role":"assistant","source":{"kind":"model","provider":"p","model":"m"},"content":[]}}"#;
    events(&[&line("user/message", user)]);
    events(&[&line("assistant/message", answer)]);
    for (kind, good, from, to) in [
        ("user/message", user, r#""id":"m","#, ""),
        ("user/message", user, r#""id":"m""#, r#""id":"""#),
        ("user/message", user, r#""id":"m""#, r#""id":7"#),
        ("user/message", user, r#""role":"user""#, r#""role":"assistant""#),
        ("user/message", user, r#""role":"user""#, r#""role":"system""#),
        ("user/message", user, r#"{"kind":"user"}"#, "{}"),
        ("user/message", user, r#"{"kind":"user"}"#, r#"{"kind":""}"#),
        ("user/message", user, r#"{"kind":"user"}"#, r#""user""#),
        ("user/message", user, r#""content":[]"#, r#""content":"x""#),
        ("user/message", user, user, "[]"),
        ("user/message", user, user, "null"),
        ("assistant/message", answer, r#""role":"assistant""#, r#""role":"user""#),
        ("assistant/message", answer, r#""kind":"model""#, r#""kind":"user""#),
        ("assistant/message", answer, r#""provider":"p""#, r#""provider":"""#),
        ("assistant/message", answer, r#""model":"m""#, r#""model":"""#),
        ("assistant/message", answer, r#""provider":"p","#, ""),
        ("assistant/message", answer, r#""message":"#, r#""massage":"#),
    ] {
        let bad = good.replace(from, to);
        assert_ne!(bad, good);
        let (_, problem) = refused(&[&line(kind, &bad)]);
        assert!(
            matches!(&problem, Problem::BadData { kind: named, .. } if named == kind),
            "{bad}: {problem}"
        );
    }
}

// spec: session/S42
#[test]
fn nothing_deeper_than_the_shape_of_a_message_is_looked_at() {
    let odd = r#"{"id":"m","role":"user","source":{"kind":"new-kind","x":[1]},"content":[{"type":"text"},{"type":"tool-call","id":5},{"type":"new"}],"more":{}}"#;
    let answer = r#"{"turn":"one","message":{"id":"m","role":"assistant","source":{"kind":"model","provider":"p","model":"m"},"content":[{"type":"reasoning","text":5}]},"usage":"much"}"#;
    assert_eq!(events(&[&line("user/message", odd)])[0].data().get(), odd);
    assert_eq!(events(&[&line("assistant/message", answer)])[0].message().unwrap().content.len(), 1);
}

// spec: session/S44
#[test]
fn what_a_message_cannot_hold_is_kept_in_the_text_of_its_event() {
    let odd = r#"{"id":"m","role":"user","source":{"kind":"user"},"content":[{"type":"text","text":"\ud800 \ud83d\ude00 \\ud800"}],"more":{"a":1}}"#;
    let event = &events(&[&line("user/message", odd)])[0];
    assert_eq!(
        event.message().unwrap().text(),
        "\u{fffd} \u{1f600} \\ud800",
        "halves of a pair cannot be text"
    );
    assert_eq!(event.data().get(), odd);
}

#[test]
fn a_seeded_conversation_goes_on_where_it_was() {
    let parent = session();
    for text in ["a", "b"] {
        parent.append(user(text)).unwrap();
    }
    parent.append(user("sum").replacing(0, 1).made_from([0, 1])).unwrap();
    let child = seeded(parent.events().iter());
    assert_eq!((texts(&child), child.replace_generation()), (vec!["sum".to_owned()], 1));
    child.append(user("more").replacing(2, 2).made_from([2])).unwrap();
    assert_eq!(texts(&child), ["more"]);
}
