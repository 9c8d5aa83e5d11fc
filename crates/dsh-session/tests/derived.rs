//! What is derived from a log: the conversation, and with what the next request is made.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use std::sync::Arc;

use dsh_llm::{AdapterDefaults, CallConfig, ContentBlock, Message, ToolSchema};
use dsh_session::{EpochHeader, HeaderReason, NewEvent, RequestContext, RequestHeader, derive_messages};
use support::{answer, answer_of, event, message, raw, result, seeded, session, texts, user};

fn config() -> CallConfig {
    CallConfig {
        provider: "p".to_owned(),
        model: "m".to_owned(),
        reasoning_effort: None,
        temperature: None,
        max_tokens: None,
        stop: None,
    }
}

fn header() -> EpochHeader {
    EpochHeader { config: config(), adapter_defaults: None, system: None, tools: None }
}

fn tool(name: &str) -> ToolSchema {
    ToolSchema { name: name.to_owned(), description: String::new(), parameters: serde_json::Map::new() }
}

fn record(header: &EpochHeader) -> NewEvent {
    event(&RequestHeader { header: header.clone(), reason: HeaderReason::Change })
}

// spec: session/S44
#[test]
fn the_conversation_is_the_messages_themselves_without_answers_that_are_empty() {
    let session = session();
    let said = message("a");
    session.append(NewEvent::user(said.clone()).unwrap()).unwrap();
    session.append(raw("made/up", r#"{"content":["x"]}"#)).unwrap();
    session.append(NewEvent::answer(&answer_of(Vec::new())).unwrap()).unwrap();
    let empty = Arc::new(Message::user(Vec::new()));
    session.append(NewEvent::user(empty.clone()).unwrap()).unwrap();
    let spoken = answer_of(vec![ContentBlock::text("")]);
    session.append(NewEvent::answer(&spoken).unwrap()).unwrap();
    session.append(result("c", "r")).unwrap();
    let messages = session.messages();
    assert_eq!(messages.len(), 4, "an empty message of a user stays, an empty answer does not");
    assert_eq!(*messages.get(0).unwrap(), said);
    assert_eq!(*messages.get(1).unwrap(), empty);
    assert_eq!(*messages.get(2).unwrap(), spoken.message);
    assert_eq!(session.surface().nodes(), [0, 2, 3, 4, 5], "which is part of the conversation all the same");
}

// spec: session/S45
#[test]
fn results_are_messages_of_their_own_in_the_order_in_which_they_came() {
    let session = session();
    let call = |id: &str| ContentBlock::ToolCall {
        id: id.to_owned(),
        name: "bash".to_owned(),
        arguments: "{}".to_owned(),
    };
    session.append(NewEvent::answer(&answer_of(vec![call("c1"), call("c2")])).unwrap()).unwrap();
    session.append(result("c2", "second")).unwrap();
    session.append(result("c1", "first")).unwrap();
    assert_eq!(texts(&session), ["", "second", "first"]);
    let roles: Vec<_> = session.messages().iter().map(|it| format!("{:?}", it.role)).collect();
    assert_eq!(roles, ["Assistant", "User", "User"]);
}

// spec: session/S46
#[test]
fn the_messages_are_the_very_ones_of_the_log_after_replacements_too() {
    let session = session();
    let same = || {
        let (events, messages) = (session.events(), session.messages());
        let surface = session.surface();
        let of_log: Vec<_> = surface
            .nodes()
            .iter()
            .map(|seq| events.get(usize::try_from(*seq).unwrap()).unwrap().message().unwrap().clone())
            .collect();
        assert_eq!(of_log.len(), messages.len());
        assert!(of_log.into_iter().zip(messages.iter()).all(|(one, two)| Arc::ptr_eq(&one, two)));
    };
    for text in ["a", "b", "c"] {
        session.append(user(text)).unwrap();
        same();
    }
    session.append(user("B").replacing(1, 1).made_from([1])).unwrap();
    same();
    session.append(answer("d")).unwrap();
    same();
    assert_eq!(texts(&session), ["a", "B", "c", "d"]);
}

// spec: session/S47
#[test]
fn what_is_not_a_message_never_changes_the_conversation_and_a_replay_gives_the_same() {
    let (plain, noisy) = (session(), session());
    let said: Vec<_> = ["a", "b", "c"].iter().map(|text| message(text)).collect();
    for message in &said {
        plain.append(NewEvent::user(message.clone()).unwrap()).unwrap();
        for (kind, data) in [
            ("turn/start", r#"{"turn":1}"#),
            ("made/up", "[]"),
            ("assistant/chunk", "{}"),
            ("todo/write", r#"{"todos":[]}"#),
        ] {
            noisy.append(raw(kind, data)).unwrap();
        }
        noisy.append(NewEvent::user(message.clone()).unwrap()).unwrap();
    }
    assert_eq!(plain.messages(), noisy.messages());
    assert_eq!(seeded(noisy.events().iter()).messages(), noisy.messages());
    let events: Vec<_> = noisy.events().iter().collect();
    assert_eq!(derive_messages(&events.iter().cloned().collect()).unwrap(), said);
}

// spec: session/S48
#[test]
fn the_request_header_is_the_latest_in_canonical_form() {
    let session = session();
    assert_eq!(session.request_header(), None);
    session.append(user("a")).unwrap();
    let written = EpochHeader {
        system: Some(String::new()),
        tools: Some(Vec::new()),
        adapter_defaults: Some(AdapterDefaults::default()),
        ..header()
    };
    session.append(record(&written)).unwrap();
    let read = session.request_header().unwrap();
    assert_eq!(*read, header());
    let full = EpochHeader {
        system: Some("be brief".to_owned()),
        tools: Some(vec![tool("bash")]),
        adapter_defaults: Some(AdapterDefaults { max_tokens: Some(true), reasoning_effort: None }),
        config: CallConfig { max_tokens: Some(9), ..config() },
    };
    session.append(record(&full)).unwrap();
    session.append(raw("made/up", "{}")).unwrap();
    assert_eq!(*session.request_header().unwrap(), full);
    assert_eq!(*read, header(), "the one at hand stays");
    assert_eq!(seeded(session.events().iter()).request_header().as_deref(), Some(&full));
}

// spec: session/S49
#[test]
fn headers_are_the_same_if_a_model_would_be_asked_in_the_same_way() {
    let one =
        EpochHeader { tools: Some(vec![tool("a"), tool("b")]), system: Some("s".to_owned()), ..header() };
    assert!(one.same_as(&one.clone()));
    let absent = EpochHeader {
        system: Some(String::new()),
        tools: Some(Vec::new()),
        adapter_defaults: Some(AdapterDefaults { max_tokens: Some(false), reasoning_effort: None }),
        ..header()
    };
    assert!(absent.same_as(&header()) && header().same_as(&absent), "empty is absent");
    let stops = |stop: &[&str]| CallConfig {
        stop: Some(stop.iter().map(|it| (*it).to_owned()).collect()),
        ..config()
    };
    let marked = |max_tokens, reasoning_effort| Some(AdapterDefaults { max_tokens, reasoning_effort });
    let others = [
        header(),
        EpochHeader { system: Some("t".to_owned()), ..one.clone() },
        EpochHeader { tools: Some(vec![tool("b"), tool("a")]), ..one.clone() },
        EpochHeader { tools: Some(vec![tool("a")]), ..one.clone() },
        EpochHeader { adapter_defaults: marked(Some(true), None), ..one.clone() },
        EpochHeader { adapter_defaults: marked(None, Some(true)), ..one.clone() },
        EpochHeader { config: CallConfig { provider: "q".to_owned(), ..config() }, ..one.clone() },
        EpochHeader { config: CallConfig { model: "n".to_owned(), ..config() }, ..one.clone() },
        EpochHeader {
            config: CallConfig { reasoning_effort: Some("low".to_owned()), ..config() },
            ..one.clone()
        },
        EpochHeader { config: CallConfig { temperature: Some(0.5), ..config() }, ..one.clone() },
        EpochHeader { config: CallConfig { max_tokens: Some(1), ..config() }, ..one.clone() },
        EpochHeader { config: stops(&["x", "y"]), ..one.clone() },
        EpochHeader { config: stops(&["y", "x"]), ..one.clone() },
    ];
    for (at, other) in others.iter().enumerate() {
        assert!(!one.same_as(other), "{at}");
        for (before, earlier) in others[..at].iter().enumerate() {
            assert!(!earlier.same_as(other), "{before} and {at}");
        }
    }
    let reordered: ToolSchema =
        serde_json::from_str(r#"{"parameters":{"b":1,"a":2},"description":"","name":"t"}"#).unwrap();
    let ordered: ToolSchema =
        serde_json::from_str(r#"{"name":"t","description":"","parameters":{"a":2,"b":1}}"#).unwrap();
    let of = |tool| EpochHeader { tools: Some(vec![tool]), ..header() };
    assert!(of(reordered).same_as(&of(ordered)), "the order of keys is no difference");
}

// spec: session/S50
#[test]
fn the_request_context_is_the_latest_record_as_a_whole() {
    let session = session();
    assert_eq!(session.request_context(), None);
    let context = |model: &str, context_window| RequestContext {
        provider: "p".to_owned(),
        model: model.to_owned(),
        context_window,
    };
    session.append(event(&context("m", Some(100)))).unwrap();
    let held = session.request_context().unwrap();
    session.append(record(&header())).unwrap();
    assert_eq!(*session.request_context().unwrap(), context("m", Some(100)), "a header takes no part in it");
    session.append(event(&context("n", None))).unwrap();
    assert_eq!(*session.request_context().unwrap(), context("n", None), "nothing of the older one is left");
    assert_eq!(*held, context("m", Some(100)));
    assert_eq!(*session.request_header().unwrap(), header());
}
