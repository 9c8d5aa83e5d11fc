//! Random logs: what a session keeps as it goes is what its log says, and what is written is what is read.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use std::sync::Arc;

use dsh_llm::{ContentBlock, StreamChunk};
use dsh_session::{
    AssistantChunk, Event, NewEvent, Row, Session, SessionLog, Surface, closers, derive_messages, rows,
};
use proptest::prelude::*;
use support::{answer_of, event, raw, result, said, seeded, session, state, text, user};

/// One thing that is done to a log.
#[derive(Clone, Debug)]
enum Act {
    User,
    Answer,
    EmptyAnswer,
    Result,
    Other,
    /// Replaces from one place of the conversation to another, if they are there in that order.
    Replace {
        by: u8,
        first: prop::sample::Index,
        last: prop::sample::Index,
    },
    Head(u8),
    Tail(u8),
    Whole(u8),
    /// Something that cannot be, of several kinds.
    Refused(u8),
}

fn act() -> impl Strategy<Value = Act> {
    let place = any::<prop::sample::Index>;
    prop_oneof![
        4 => Just(Act::User),
        3 => Just(Act::Answer),
        2 => Just(Act::EmptyAnswer),
        2 => Just(Act::Result),
        2 => Just(Act::Other),
        4 => (0..3_u8, place(), place()).prop_map(|(by, first, last)| Act::Replace { by, first, last }),
        1 => (0..3_u8).prop_map(Act::Head),
        1 => (0..3_u8).prop_map(Act::Tail),
        1 => (0..3_u8).prop_map(Act::Whole),
        2 => (0..6_u8).prop_map(Act::Refused),
    ]
}

/// The conversation as a plain list: the event, and what the model reads of it.
type Model = Vec<(u64, Option<String>)>;

/// A new message, and what the model would read of it.
fn new(by: u8, text: &str) -> (NewEvent, Option<String>) {
    match by {
        0 => (user(text), Some(text.to_owned())),
        1 => (NewEvent::answer(&answer_of(vec![ContentBlock::text(text)])).unwrap(), Some(text.to_owned())),
        _ => (NewEvent::answer(&answer_of(Vec::new())).unwrap(), None),
    }
}

fn replace(session: &Arc<Session>, model: &mut Model, by: u8, range: std::ops::RangeInclusive<usize>) {
    let seq = session.len();
    let (event, text) = new(by, &format!("r{seq}"));
    let shadowed: Vec<u64> = model[range.clone()].iter().map(|(seq, _)| *seq).collect();
    let (start, end) = (shadowed[0], shadowed[shadowed.len() - 1]);
    session.append(event.replacing(start, end).made_from(shadowed)).unwrap();
    model.splice(range, [(seq, text)]);
}

fn refuse(session: &Arc<Session>, model: &Model, which: u8) {
    let seq = session.len();
    let head = model.first().map_or(0, |(seq, _)| *seq);
    let bad = match which {
        0 => raw("made/up", "{}").appended(),
        1 => user("x").made_from([seq]),
        2 => user("x").replacing(seq, seq).made_from([0]),
        3 => user("x").replacing(head, head),
        4 => raw("user/message", r#"{"id":"m","role":"user","source":{"kind":"user"},"content":[]}"#),
        _ => raw("request/header-delta", "{}"),
    };
    let before = state(session);
    session.append(bad).unwrap_err();
    assert_eq!(state(session), before);
}

fn perform(session: &Arc<Session>, model: &mut Model, act: &Act) {
    let seq = session.len();
    let text = format!("m{seq}");
    match act {
        Act::User | Act::Answer | Act::EmptyAnswer => {
            let by = match act {
                Act::User => 0,
                Act::Answer => 1,
                _ => 2,
            };
            let (event, text) = new(by, &text);
            session.append(event).unwrap();
            model.push((seq, text));
        }
        Act::Result => {
            session.append(result("c", &text)).unwrap();
            model.push((seq, Some(text)));
        }
        Act::Other => {
            session.append(raw("todo/write", r#"{"todos":[]}"#)).unwrap();
        }
        Act::Refused(which) => refuse(session, model, *which),
        Act::Replace { .. } | Act::Head(_) | Act::Tail(_) | Act::Whole(_) if model.is_empty() => {}
        Act::Replace { by, first, last } => {
            let (one, two) = (first.index(model.len()), last.index(model.len()));
            replace(session, model, *by, one.min(two)..=one.max(two));
        }
        Act::Head(by) => replace(session, model, *by, 0..=0),
        Act::Tail(by) => replace(session, model, *by, model.len() - 1..=model.len() - 1),
        Act::Whole(by) => replace(session, model, *by, 0..=model.len() - 1),
    }
}

/// Everything that is derived from the log agrees with the model.
fn check(session: &Arc<Session>, model: &Model) {
    let events: Vec<_> = session.events().iter().collect();
    let expected: Vec<_> = model.iter().filter_map(|(_, text)| text.clone()).collect();
    let messages: Vec<_> = session.messages().iter().cloned().collect();
    assert_eq!(messages.iter().map(|message| said(message)).collect::<Vec<_>>(), expected);
    let derived = derive_messages(&events.iter().cloned().collect()).unwrap();
    assert_eq!(derived.len(), messages.len());
    assert!(derived.iter().zip(&messages).all(|(one, two)| Arc::ptr_eq(one, two)), "the very same messages");
    let nodes: Vec<_> = model.iter().map(|(seq, _)| *seq).collect();
    assert_eq!(session.surface().nodes(), nodes);
    let (surface, replacements) = Surface::fold(&events.iter().cloned().collect()).unwrap();
    assert_eq!((surface.nodes(), replacements.len() as u64), (&nodes[..], session.replace_generation()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    // spec: session/S18, S25, S27, S29, S44, S46, S47
    #[test]
    fn the_conversation_that_a_session_keeps_is_the_one_that_its_log_makes(acts in prop::collection::vec(act(), 0..60)) {
        let session = session();
        let mut model = Model::new();
        for (at, act) in acts.iter().enumerate() {
            perform(&session, &mut model, act);
            if at % 7 == 0 {
                check(&session, &model);
            }
        }
        check(&session, &model);
        // As a seed, and by way of a file.
        let child = seeded(session.events().iter());
        prop_assert_eq!(child.messages(), session.messages());
        let events: Vec<_> = session.events().iter().collect();
        let log = SessionLog::parse(file(&events, true).as_bytes()).unwrap();
        prop_assert_eq!(&log.events.to_vec(), &events);
        prop_assert_eq!(derive_messages(&log.events).unwrap(), derive_messages(&events.iter().cloned().collect()).unwrap());
    }
}

/// The text of a log.
fn file(events: &[Arc<Event>], pack: bool) -> String {
    let mut out = text(&[]);
    rows(events, pack).for_each(|row| row.write_line(&mut out));
    out
}

/// One event of a streamed answer.
#[derive(Clone, Debug)]
enum Piece {
    Chunk(StreamChunk),
    /// As above, of another turn or step.
    Elsewhere(StreamChunk),
    /// A chunk that a row cannot keep, or something else.
    Raw(&'static str, &'static str),
}

fn chunk() -> impl Strategy<Value = StreamChunk> {
    let piece = || prop_oneof![Just(String::new()), "[a-z\"\\\\é\u{2028}\n😀]{0,4}"];
    let id = || prop_oneof![4 => Just("c".to_owned()), 1 => Just(String::new()), 1 => Just("d".to_owned())];
    let name =
        || prop_oneof![4 => Just(None), 1 => Just(Some("n".to_owned())), 1 => Just(Some(String::new()))];
    let index = || prop_oneof![6 => Just(0_u64), 1 => Just(1)];
    prop_oneof![
        6 => (index(), piece()).prop_map(|(index, text)| StreamChunk::TextDelta { index, text }),
        4 => (index(), piece()).prop_map(|(index, text)| StreamChunk::ReasoningDelta { index, text }),
        6 => (index(), id(), name(), piece()).prop_map(|(index, id, name, arguments_delta)| {
            StreamChunk::ToolCallDelta { index, id, name, arguments_delta }
        }),
        1 => index().prop_map(|index| StreamChunk::BlockStart { index, block_type: "text".to_owned() }),
    ]
}

/// Runs of pieces: each is repeated, so that rows of every kind come up.
fn pieces() -> impl Strategy<Value = Vec<Piece>> {
    let odd = prop_oneof![
        Just(Piece::Raw(
            "assistant/chunk",
            r#"{"turn":1,"step":1,"chunk":{"type":"text-delta","index":-1.5,"text":"x"}}"#
        )),
        Just(Piece::Raw(
            "assistant/chunk",
            r#"{"turn":1,"step":1,"chunk":{"type":"text-delta","index":0,"text":"x","y":1}}"#
        )),
        Just(Piece::Raw(
            "assistant/chunk",
            r#"{"turn":null,"step":1,"chunk":{"type":"text-delta","index":0,"text":"x"}}"#
        )),
        Just(Piece::Raw("assistant/chunk", "5")),
        Just(Piece::Raw("todo/write", r#"{"todos":[]}"#)),
    ];
    let one =
        prop_oneof![8 => chunk().prop_map(Piece::Chunk), 1 => chunk().prop_map(Piece::Elsewhere), 2 => odd];
    prop::collection::vec((one, 1..6_usize), 0..12).prop_map(|runs| {
        runs.into_iter().flat_map(|(piece, times)| std::iter::repeat_n(piece, times)).collect()
    })
}

fn stream(pieces: &[Piece]) -> Vec<Arc<Event>> {
    let session = session();
    for piece in pieces {
        let new = match piece {
            Piece::Chunk(chunk) => event(&AssistantChunk { turn: 1, step: 1, chunk: chunk.clone() }),
            Piece::Elsewhere(chunk) => event(&AssistantChunk { turn: 1, step: 2, chunk: chunk.clone() }),
            Piece::Raw(kind, data) => raw(kind, data),
        };
        session.append(new).unwrap();
    }
    session.events().iter().collect()
}

/// The same events at other times, as a file gives them.
fn at_times(events: &[Arc<Event>], times: &[i64]) -> Vec<Arc<Event>> {
    let lines: Vec<_> = events
        .iter()
        .zip(times)
        .map(|(event, time)| {
            event.to_line().replacen(
                &format!(r#""time":{}"#, event.time_ms()),
                &format!(r#""time":{time}"#),
                1,
            )
        })
        .collect();
    support::events(&lines.iter().map(String::as_str).collect::<Vec<_>>())
}

/// A row holds at least three pieces, no two rows could have been one, and nothing is left out.
fn check_rows(events: &[Arc<Event>]) {
    let mut told = Vec::new();
    for row in rows(events, true) {
        match row {
            Row::Event(event) => told.push(event.seq()),
            Row::Run(run) => {
                assert!(run.events().len() >= 3);
                assert!(run.events().iter().all(|event| event.kind() == "assistant/chunk"));
                told.extend(run.events().iter().map(|event| event.seq()));
            }
        }
    }
    assert_eq!(told, events.iter().map(|event| event.seq()).collect::<Vec<_>>());
}

const SAFE: i64 = (1 << 53) - 1;

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    // spec: session/S93
    #[test]
    fn packed_and_read_again_every_event_is_what_it_was(
        pieces in pieces(),
        times in prop::collection::vec(prop_oneof![8 => -5..5_i64, 1 => Just(SAFE), 1 => Just(-SAFE)], 64),
    ) {
        let events = stream(&pieces);
        let events = at_times(&events, &times);
        check_rows(&events);
        for pack in [true, false] {
            let log = SessionLog::parse(file(&events, pack).as_bytes()).unwrap();
            prop_assert_eq!(log.torn, None);
            prop_assert_eq!(&log.events.to_vec(), &events);
        }
    }

    // spec: session/S96, cases/G1, design/P8
    #[test]
    fn a_log_cut_anywhere_in_its_last_two_records_gives_whole_records(pieces in pieces()) {
        let events = stream(&pieces);
        let mut ends = vec![(text(&[]).len(), 0)];
        let mut whole = text(&[]);
        for row in rows(&events, true) {
            row.write_line(&mut whole);
            let count = match row {
                Row::Event(_) => 1,
                Row::Run(run) => run.events().len(),
            };
            ends.push((whole.len(), ends[ends.len() - 1].1 + count));
        }
        let from = ends[ends.len().saturating_sub(3)].0;
        for cut in from..=whole.len() {
            let log = SessionLog::parse(&whole.as_bytes()[..cut]).unwrap();
            let (end, count) = *ends.iter().rev().find(|(end, _)| *end <= cut).unwrap();
            prop_assert_eq!(&log.events.to_vec()[..], &events[..count]);
            prop_assert_eq!(log.torn.map(|torn| (torn.offset, torn.bytes)), (cut > end).then_some((end, cut - end)));
        }
    }

    // spec: session/S67, S68
    #[test]
    fn whatever_a_log_ends_in_it_is_closed_once(steps in prop::collection::vec(0..7_u8, 0..30)) {
        let session = session();
        for (at, step) in steps.iter().enumerate() {
            let call = |id: usize| ContentBlock::ToolCall { id: format!("c{id}"), name: "n".to_owned(), arguments: String::new() };
            let new = match step {
                0 => raw("turn/start", &format!(r#"{{"turn":{at}}}"#)),
                1 => raw("turn/end", &format!(r#"{{"turn":{at},"reason":{{"kind":"completed"}}}}"#)),
                2 => raw("step/start", &format!(r#"{{"turn":1,"step":{at}}}"#)),
                3 => raw("step/end", &format!(r#"{{"turn":1,"step":{at}}}"#)),
                4 => NewEvent::answer(&answer_of(vec![call(at % 3), call(3)])).unwrap(),
                5 => raw("tool/call", &format!(r#"{{"turn":1,"step":1,"callId":"c{}","name":"n","arguments":""}}"#, at % 4)),
                _ => result(&format!("c{}", at % 4), "r"),
            };
            session.append(new).unwrap();
        }
        let made = closers(&session.events());
        let closed = seeded(session.events().iter().chain(made.iter().cloned()));
        let turns: Vec<_> = closed.events().iter().map(|event| event.kind().to_owned()).filter(|kind| kind.starts_with("turn/")).collect();
        prop_assert!(turns.last().is_none_or(|kind| kind == "turn/end"));
        prop_assert!(closers(&closed.events()).is_empty());
        let lines = file(&session.events().iter().chain(made.clone()).collect::<Vec<_>>(), true);
        let read = SessionLog::parse(lines.as_bytes()).unwrap().events;
        prop_assert_eq!(&read.to_vec()[read.len() - made.len()..], &made[..]);
    }
}
