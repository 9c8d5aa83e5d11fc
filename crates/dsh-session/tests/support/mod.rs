//! What the tests of sessions share: short ways to say an event, and a log as its lines.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::sync::{Arc, Mutex};

use dsh_llm::{ContentBlock, Message};
use dsh_session::{
    AssistantMessage, Event, NewEvent, Payload, Problem, ReadError, Seed, Session, SessionHeader, SessionLog,
    ToolResult,
};

pub(crate) const HEADER: &str =
    r#"{"type":"session","version":0,"id":"s-1","createdAt":1,"cwd":"/w","delegationDepth":0}"#;

/// Lines in the order in which they were said, by several owners.
#[derive(Clone, Default)]
pub(crate) struct Said(Arc<Mutex<Vec<String>>>);

impl Said {
    pub(crate) fn say(&self, line: impl ToString) {
        self.0.lock().unwrap().push(line.to_string());
    }

    /// The lines since the last call.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

/// The text of a log: the header and these lines, all ended.
pub(crate) fn text(lines: &[&str]) -> String {
    let mut text = format!("{HEADER}\n");
    for line in lines {
        text.push_str(line);
        text.push('\n');
    }
    text
}

pub(crate) fn read(lines: &[&str]) -> Result<SessionLog, ReadError> {
    SessionLog::parse(text(lines).as_bytes())
}

/// The events of lines that are a log.
pub(crate) fn events(lines: &[&str]) -> Vec<Arc<Event>> {
    let log = read(lines).unwrap();
    assert_eq!(log.torn, None);
    log.events.to_vec()
}

/// Why a log of these lines is refused, and at which line.
pub(crate) fn refused(lines: &[&str]) -> (usize, Problem) {
    match read(lines) {
        Ok(log) => panic!("the log must be refused, and gave {:?}", log.events),
        Err(error) => (error.line, error.problem),
    }
}

pub(crate) fn message(text: &str) -> Arc<Message> {
    Arc::new(Message::user(vec![ContentBlock::text(text)]))
}

pub(crate) fn user(text: &str) -> NewEvent {
    NewEvent::user(message(text)).unwrap()
}

pub(crate) fn answer_of(blocks: Vec<ContentBlock>) -> AssistantMessage {
    let message = Arc::new(Message::assistant(blocks, "p", "m"));
    AssistantMessage { turn: 1, step: 1, message, usage: None, interrupted: None }
}

pub(crate) fn answer(text: &str) -> NewEvent {
    NewEvent::answer(&answer_of(vec![ContentBlock::text(text)])).unwrap()
}

pub(crate) fn result_of(call: &str, text: &str) -> ToolResult {
    let message = Arc::new(Message::tool_result(call, vec![ContentBlock::text(text)], false));
    ToolResult { turn: 1, step: 1, message, error: None, meta: None }
}

pub(crate) fn result(call: &str, text: &str) -> NewEvent {
    NewEvent::tool_result(&result_of(call, text)).unwrap()
}

pub(crate) fn raw(kind: &str, data: &str) -> NewEvent {
    NewEvent::raw(kind, data).unwrap()
}

pub(crate) fn event<P: Payload>(data: &P) -> NewEvent {
    NewEvent::new(data).unwrap()
}

pub(crate) fn session() -> Arc<Session> {
    Session::detached("s-1")
}

pub(crate) fn seeded(events: impl IntoIterator<Item = Arc<Event>>) -> Arc<Session> {
    Session::new(SessionHeader::new("s-2", 1), Some(Seed::new(events))).unwrap()
}

/// What the model reads, message by message.
pub(crate) fn texts(session: &Session) -> Vec<String> {
    session.messages().iter().map(|message| said(message)).collect()
}

/// The text of a message, results of tools included.
pub(crate) fn said(message: &Message) -> String {
    match message.content.as_slice() {
        [ContentBlock::ToolResult { content, .. }] => Message::user(content.clone()).text(),
        _ => message.text(),
    }
}

pub(crate) fn kinds(session: &Session) -> Vec<String> {
    session.events().iter().map(|event| event.kind().to_owned()).collect()
}

/// All that an append could change.
pub(crate) fn state(session: &Session) -> impl PartialEq + std::fmt::Debug + use<> {
    let surface = session.surface();
    (
        session.events(),
        session.len(),
        session.messages(),
        surface.nodes().to_vec(),
        surface.replace_generation(),
        session.request_header(),
        session.request_context(),
    )
}
