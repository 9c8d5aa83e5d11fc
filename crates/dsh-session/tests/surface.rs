//! The surface: which events make up the conversation, by rules that are the same for appends, seeds and whole logs.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use std::sync::Arc;

use dsh_llm::Message;
use dsh_session::{
    AppendError, ErrorInfo, Event, Events, NewEvent, Problem, Replacement, Session, Surface, SurfaceError,
    SurfaceOp, ToolResult, derive_messages,
};
use support::{answer, answer_of, events, raw, refused, result, result_of, session, texts, user};

/// Why an append is refused.
fn wrong(session: &Arc<Session>, new: NewEvent) -> SurfaceError {
    let before = support::state(session);
    let error = session.append(new).unwrap_err();
    assert_eq!(support::state(session), before);
    match error {
        AppendError::Surface { source, .. } => source,
        other => panic!("another refusal: {other}"),
    }
}

/// A session of these messages, one each.
fn said(texts: &[&str]) -> Arc<Session> {
    let session = session();
    for text in texts {
        session.append(user(text)).unwrap();
    }
    session
}

fn nodes(session: &Session) -> Vec<u64> {
    session.surface().nodes().to_vec()
}

/// A user's message as a line.
fn line(seq: u64, rest: &str) -> String {
    format!(
        r#"{{"type":"user/message","seq":{seq},"time":1,"data":{{"id":"m{seq}","role":"user","source":{{"kind":"user"}},"content":[]}},{rest}}}"#
    )
}

// spec: session/S20
#[test]
fn only_the_event_of_the_next_number_can_be_planned() {
    let events = said(&["a", "b", "c"]).events();
    let none = |_: u64| None::<std::sync::Arc<Event>>;
    let mut surface = Surface::default();
    let plan = |surface: &Surface, index: usize| surface.plan(&events.get(index).unwrap(), none);
    assert_eq!(plan(&surface, 1), Err(SurfaceError::NotNext { expected: 0, found: 1 }));
    let first = plan(&surface, 0).unwrap();
    surface.commit(0, first);
    assert_eq!(plan(&surface, 0), Err(SurfaceError::NotNext { expected: 1, found: 0 }));
    assert_eq!(plan(&surface, 2), Err(SurfaceError::NotNext { expected: 1, found: 2 }));
}

// spec: session/S21
#[test]
fn an_event_outside_of_the_conversation_carries_neither_mark_nor_sources() {
    let session = said(&["a"]);
    let kind = "turn/start".to_owned();
    let turn = || raw("turn/start", r#"{"turn":1}"#);
    assert_eq!(wrong(&session, turn().appended()), SurfaceError::MarkNotAllowed { kind: kind.clone() });
    assert_eq!(wrong(&session, turn().replacing(0, 0)), SurfaceError::MarkNotAllowed { kind: kind.clone() });
    assert_eq!(wrong(&session, turn().made_from([0])), SurfaceError::SourcesNotAllowed { kind });
    let line = r#"{"type":"made/up","seq":0,"time":1,"data":{},"ignorable":true,"sourceEventSeqs":[]}"#;
    assert!(matches!(refused(&[line]), (2, Problem::Misplaced { .. })));
}

// spec: session/S22
#[test]
fn a_message_must_say_what_it_does_to_the_conversation() {
    let session = said(&["a"]);
    let data = r#"{"id":"m","role":"user","source":{"kind":"user"},"content":[]}"#;
    let kind = "user/message".to_owned();
    assert_eq!(wrong(&session, raw("user/message", data)), SurfaceError::NoMark { kind: kind.clone() });
    assert_eq!(wrong(&session, raw("user/message", data).made_from([0])), SurfaceError::NoMark { kind });
    let answer = NewEvent::new(&answer_of(Vec::new())).unwrap();
    assert_eq!(wrong(&session, answer), SurfaceError::NoMark { kind: "assistant/message".to_owned() });
}

// spec: session/S23
#[test]
fn a_mark_is_append_or_a_range_and_nothing_else() {
    for op in [
        "null",
        "[]",
        "0",
        r#""prepend""#,
        r#""""#,
        r#"["replace",0,0]"#,
        "{}",
        r#"{"op":"append"}"#,
        r#"{"op":"replace","start":0}"#,
        r#"{"op":"replace","end":0}"#,
        r#"{"start":0,"end":0}"#,
        r#"{"op":"replace","start":0,"end":0,"more":1}"#,
        r#"{"op":"replace","start":-1,"end":0}"#,
        r#"{"op":"replace","start":0.5,"end":0}"#,
        r#"{"op":"replace","start":"0","end":0}"#,
        r#"{"op":"replace","start":0,"end":9007199254740992}"#,
        r#"{"op":"Replace","start":0,"end":0}"#,
    ] {
        let second = line(1, &format!(r#""sourceEventSeqs":[0],"surfaceOp":{op}"#));
        let (number, problem) = refused(&[&line(0, r#""surfaceOp":"append""#), &second]);
        assert!(number == 3 && matches!(problem, Problem::BadEvent { .. }), "{op}: {problem}");
    }
    let range = line(1, r#""sourceEventSeqs":[0],"surfaceOp":{"end":0,"op":"replace","start":0}"#);
    assert_eq!(
        events(&[&line(0, r#""surfaceOp":"append""#), &range])[1].surface(),
        Some(SurfaceOp::Replace { start: 0, end: 0 })
    );
}

// spec: session/S24
#[test]
fn an_append_adds_its_number_at_the_end() {
    let session = session();
    session.append(user("a")).unwrap();
    session.append(raw("made/up", "{}")).unwrap();
    session.append(answer("b")).unwrap();
    session.append(result("c", "r")).unwrap();
    assert_eq!(nodes(&session), [0, 2, 3]);
    assert_eq!(session.replace_generation(), 0);
}

// spec: session/S25
#[test]
fn a_replacement_takes_the_place_of_a_range_by_position() {
    let session = said(&["a", "b", "c", "d"]);
    session.append(user("B").replacing(1, 1).made_from([1])).unwrap();
    assert_eq!(
        (nodes(&session), texts(&session)),
        (vec![0, 4, 2, 3], ["a", "B", "c", "d"].map(String::from).to_vec())
    );
    // From 4 to 3 by number, but from the second to the last by place.
    session.append(user("rest").replacing(4, 3).made_from([4, 2, 3])).unwrap();
    assert_eq!(nodes(&session), [0, 5]);
    session.append(user("head").replacing(0, 0).made_from([0])).unwrap();
    assert_eq!(texts(&session), ["head", "rest"]);
    session.append(user("all").replacing(6, 5).made_from([5, 6])).unwrap();
    assert_eq!((nodes(&session), texts(&session)), (vec![7], vec!["all".to_owned()]));
}

// spec: session/S25
#[test]
fn each_way_in_which_a_range_cannot_be_is_an_error_of_its_own() {
    let session = said(&["a", "b"]);
    session.append(raw("made/up", "{}")).unwrap();
    session.append(user("B").replacing(1, 1).made_from([1])).unwrap();
    let all = [0, 1, 2, 3];
    let replacing = |start, end| user("x").replacing(start, end).made_from(all);
    assert_eq!(wrong(&session, replacing(1, 3)), SurfaceError::StartNotFound { start: 1 }, "shadowed");
    assert_eq!(wrong(&session, replacing(2, 3)), SurfaceError::StartNotFound { start: 2 }, "no message");
    assert_eq!(wrong(&session, replacing(9, 9)), SurfaceError::StartNotFound { start: 9 });
    assert_eq!(wrong(&session, replacing(0, 1)), SurfaceError::EndNotFound { end: 1 });
    assert_eq!(wrong(&session, replacing(0, 4)), SurfaceError::EndNotFound { end: 4 }, "the event itself");
    assert_eq!(wrong(&session, replacing(3, 0)), SurfaceError::Reversed { start: 3, end: 0 });
}

// spec: session/S26
#[test]
fn sources_are_earlier_events_each_named_once() {
    let session = said(&["a", "b"]);
    for kind in ["user/message", "tool/result"] {
        let new = if kind == "user/message" { user("x") } else { result("c", "x") };
        assert_eq!(wrong(&session, new.made_from([])), SurfaceError::SourcesEmpty { kind: kind.to_owned() });
    }
    assert_eq!(
        wrong(&session, user("x").made_from([0, 2])),
        SurfaceError::SourceNotEarlier { named: 2, seq: 2 }
    );
    assert_eq!(
        wrong(&session, user("x").made_from([7])),
        SurfaceError::SourceNotEarlier { named: 7, seq: 2 }
    );
    assert_eq!(wrong(&session, user("x").made_from([1, 0, 1])), SurfaceError::SourceTwice { named: 1 });
    let none = session.append(answer("x").made_from([])).unwrap();
    assert_eq!(none.sources(), Some(&[][..]), "known to be made from nothing");
    let unrecorded = session.append(answer("x")).unwrap();
    assert_eq!(unrecorded.sources(), None);
    let some = session.append(user("x").made_from([1, 0])).unwrap();
    assert_eq!(some.sources(), Some(&[1, 0][..]), "in the order in which they were given");
}

// spec: session/S27
#[test]
fn a_replacement_names_all_that_it_shadows_and_may_name_more() {
    let session = said(&["a", "b", "c", "d"]);
    let missing = |session: &Arc<Session>, new| match wrong(session, new) {
        SurfaceError::SourcesMissing { missing } => missing,
        other => panic!("{other}"),
    };
    assert_eq!(missing(&session, user("x").replacing(1, 3)), [1, 2, 3]);
    assert_eq!(missing(&session, user("x").replacing(1, 3).made_from([0, 2])), [1, 3]);
    assert_eq!(missing(&session, answer("x").replacing(1, 1).made_from([])), [1]);
    session.append(user("x").replacing(1, 2).made_from([2, 0, 1])).unwrap();
    assert_eq!(texts(&session), ["a", "x", "d"]);
    let long = said(&["a"; 40]);
    let sources: Vec<u64> = (0..40).filter(|seq| seq % 13 != 5).collect();
    assert_eq!(missing(&long, user("x").replacing(0, 39).made_from(sources)), [5, 18, 31]);
}

/// A session with one result, which replacements aim at.
fn with_result() -> (Arc<Session>, ToolResult) {
    let session = said(&["a"]);
    let mut first = result_of("c", "long");
    first.meta = Some(serde_json::json!({"n": 1, "more": [1.5]}));
    first.error = Some(ErrorInfo { name: "N".to_owned(), code: "C".to_owned() });
    session.append(NewEvent::tool_result(&first).unwrap()).unwrap();
    (session, first)
}

fn changed(first: &ToolResult, change: impl FnOnce(&mut ToolResult, &mut Message)) -> NewEvent {
    let mut result = first.clone();
    let mut message = (*result.message).clone();
    change(&mut result, &mut message);
    result.message = Arc::new(message);
    NewEvent::tool_result(&result).unwrap().replacing(1, 1).made_from([1])
}

fn shortened(_: &mut ToolResult, message: &mut Message) {
    let other = Message::tool_result("c", vec![dsh_llm::ContentBlock::text("cut")], false);
    message.content = other.content;
}

// spec: session/S28
#[test]
fn a_result_may_take_the_place_of_a_result_that_differs_in_what_the_model_reads() {
    let (session, first) = with_result();
    session.append(changed(&first, shortened)).unwrap();
    assert_eq!(texts(&session), ["a", "cut"]);
}

// spec: session/S28
#[test]
fn keys_in_another_order_and_numbers_written_otherwise_are_no_change() {
    let session = session();
    let result = |rest: &str| {
        format!(
            r#"{{{rest},"message":{{"id":"m","role":"user","source":{{"kind":"tool","callId":"c"}},"content":[{{"type":"tool-result","toolCallId":"c","content":[]}}]}}}}"#
        )
    };
    let first = raw("tool/result", &result(r#""turn":1,"step":1,"meta":{"a":1,"b":[2]}"#));
    session.append(first.appended()).unwrap();
    let same = raw("tool/result", &result(r#""meta":{"b":[2.0],"a":1e0},"step":1,"turn":1"#));
    session.append(same.replacing(0, 0).made_from([0])).unwrap();
}

// spec: session/S28
#[test]
fn a_result_may_be_replaced_whatever_text_it_holds() {
    let session = session();
    let result = |text: &str| {
        raw(
            "tool/result",
            &format!(
                r#"{{"turn":1,"step":1,"message":{{"id":"m","role":"user","source":{{"kind":"tool","callId":"c"}},"content":[{{"type":"tool-result","toolCallId":"c","content":[{{"type":"text","text":"{text}"}}]}}]}}}}"#
            ),
        )
    };
    session.append(result(r"half a pair: \ud800").appended()).unwrap();
    session.append(result("cut").replacing(0, 0).made_from([0])).unwrap();
    assert_eq!(texts(&session), ["cut"]);
}

// spec: session/S28
#[test]
fn a_result_in_the_place_of_another_changes_nothing_but_what_the_model_reads() {
    let (session, first) = with_result();
    let changes: [fn(&mut ToolResult, &mut Message); 8] = [
        |result, _| result.turn = 2,
        |result, _| result.step = 2,
        |result, _| result.error = None,
        |result, _| result.error = Some(ErrorInfo { name: "N".to_owned(), code: "D".to_owned() }),
        |result, _| result.meta = None,
        |result, _| result.meta = Some(serde_json::json!({"n": 2, "more": [1.5]})),
        |_, message| message.id = "other".to_owned(),
        |_, message| message.content = Message::tool_result("c", Vec::new(), true).content,
    ];
    for (which, change) in changes.into_iter().enumerate() {
        assert_eq!(
            wrong(&session, changed(&first, change)),
            SurfaceError::ResultChanges { seq: 1 },
            "{which}"
        );
    }
    let other = changed(&first, |_, message| *message = Message::tool_result("d", Vec::new(), false));
    assert_eq!(wrong(&session, other), SurfaceError::ResultChanges { seq: 1 }, "another call");
}

// spec: session/S28
#[test]
fn a_result_takes_the_place_of_exactly_one_result_and_other_messages_of_anything() {
    let (session, first) = with_result();
    let of = |start, end| NewEvent::tool_result(&first).unwrap().replacing(start, end).made_from([0, 1]);
    assert_eq!(wrong(&session, of(0, 0)), SurfaceError::ResultReplacesOther);
    assert_eq!(wrong(&session, of(0, 1)), SurfaceError::ResultReplacesOther);
    session.append(NewEvent::tool_result(&first).unwrap()).unwrap();
    let two = NewEvent::tool_result(&first).unwrap().replacing(1, 2).made_from([1, 2]);
    assert_eq!(wrong(&session, two), SurfaceError::ResultReplacesOther);
    session.append(user("sum").replacing(0, 2).made_from([0, 1, 2])).unwrap();
    assert_eq!(texts(&session), ["sum"]);
}

// spec: session/S29
#[test]
fn a_plan_changes_nothing_until_it_is_committed() {
    let session = said(&["a", "b"]);
    let events = session.events();
    let mut surface = Surface::default();
    let none = |_: u64| None::<std::sync::Arc<Event>>;
    for _ in 0..2 {
        surface.plan(&events.get(0).unwrap(), none).unwrap();
        assert!(surface.nodes().is_empty());
    }
    let plan = surface.plan(&events.get(0).unwrap(), none).unwrap();
    surface.commit(0, plan);
    assert_eq!(surface.nodes(), [0]);
    wrong(&session, user("x").replacing(0, 1).made_from([0]));
    session.append(user("x").replacing(0, 1).made_from([0, 1])).unwrap();
    assert_eq!(nodes(&session), [2]);
}

// spec: session/S30
#[test]
fn replacements_are_counted_and_a_surface_at_hand_stays_as_it_is() {
    let session = said(&["a", "b"]);
    let held = session.surface();
    session.append(user("x").replacing(1, 1).made_from([1])).unwrap();
    wrong(&session, user("x").replacing(1, 1).made_from([1]));
    session.append(raw("made/up", "{}")).unwrap();
    assert_eq!(session.replace_generation(), 1);
    session.append(user("y").replacing(2, 2).made_from([2])).unwrap();
    assert_eq!((session.replace_generation(), nodes(&session)), (2, vec![0, 4]));
    assert_eq!((held.nodes(), held.replace_generation()), (&[0, 1][..], 0));
}

// spec: session/S30
#[test]
fn a_fold_of_a_whole_log_tells_of_every_replacement() {
    let session = said(&["a", "b", "c"]);
    session.append(user("x").replacing(0, 1).made_from([0, 1])).unwrap();
    session.append(user("y").replacing(3, 2).made_from([2, 3])).unwrap();
    let events = session.events();
    let (surface, replacements) = Surface::fold(&events).unwrap();
    assert_eq!((surface.nodes(), surface.replace_generation()), (&[4][..], 2));
    assert_eq!(
        replacements,
        [
            Replacement { seq: 3, start: 0, end: 1, shadowed_seqs: vec![0, 1] },
            Replacement { seq: 4, start: 3, end: 2, shadowed_seqs: vec![3, 2] },
        ]
    );
    assert_eq!(
        serde_json::to_string(&replacements[0]).unwrap(),
        r#"{"seq":3,"start":0,"end":1,"shadowedSeqs":[0,1]}"#
    );
}

// spec: session/S30
#[test]
fn a_fold_of_a_part_begins_where_the_part_does_and_replaces_nothing_before_it() {
    let session = said(&["a", "b", "c"]);
    session.append(user("B").replacing(1, 1).made_from([1])).unwrap();
    let events = session.events();
    let from = |index| events.from(index).collect::<Events>();
    let (surface, _) = Surface::fold(&from(1)).unwrap();
    assert_eq!(surface.nodes(), [3, 2]);
    let error = Surface::fold(&from(2)).unwrap_err();
    assert_eq!(error, SurfaceError::StartNotFound { start: 1 });
    let rest = from(1);
    assert_eq!(derive_messages(&rest).unwrap().iter().map(|it| it.text()).collect::<Vec<_>>(), ["B", "c"]);
}

// spec: session/S30
#[test]
fn an_event_says_whether_it_was_appended_or_took_the_place_of_others() {
    let session = said(&["a"]);
    session.append(user("b").replacing(0, 0).made_from([0])).unwrap();
    session.append(raw("made/up", "{}")).unwrap();
    let of =
        |event: Arc<Event>| (event.is_surface(), event.is_surface_append(), event.is_surface_replacement());
    assert_eq!(
        session.events().iter().map(of).collect::<Vec<_>>(),
        [(true, true, false), (true, false, true), (false, false, false)]
    );
}
