//! Sessions and logs to measure with.

use std::sync::Arc;

use cordis::App;
use dsh_llm::{ContentBlock, Message, StreamChunk};
use dsh_session::{
    AssistantChunk, AssistantMessage, CreateSession, Event, NewEvent, Session, SessionHeader, SessionStore,
    StepEnd, StepStart, TurnEnd, TurnEndReason, TurnStart,
};

/// A session of a store whose events one observer hears.
pub fn observed(app: &App, store: &SessionStore) -> Arc<Session> {
    store.create(app, CreateSession::default()).unwrap()
}

/// What an agent appends most: one streamed piece of an answer.
pub fn piece() -> NewEvent {
    let chunk = StreamChunk::TextDelta { index: 0, text: " token".to_owned() };
    NewEvent::new(&AssistantChunk { turn: 1, step: 1, chunk }).unwrap()
}

/// What a user says.
pub fn said(number: usize) -> Arc<Message> {
    let mut message = Message::user(vec![ContentBlock::text(format!("message {number}"))]);
    message.id = format!("m-{number}");
    Arc::new(message)
}

/// The events of a long session: turns of one step, each with a question, an answer streamed in `PIECES` pieces, and the
/// answer itself; at least `count` of them, the last turn closed.
pub fn long_session(count: usize) -> (SessionHeader, Vec<Arc<Event>>) {
    const PIECES: usize = 90;
    let session = Session::detached("bulk");
    let mut turn = 0;
    while (session.len() as usize) < count {
        turn += 1;
        let add = |event: NewEvent| drop(session.append(event).unwrap());
        add(NewEvent::new(&TurnStart { turn }).unwrap());
        add(NewEvent::user(said(turn as usize)).unwrap());
        add(NewEvent::new(&StepStart { turn, step: 1 }).unwrap());
        let mut text = String::new();
        for piece in 0..PIECES {
            let word = [" the", " log", " is", " read", " again", ",", " word by", " word"][piece % 8];
            text.push_str(word);
            let chunk = StreamChunk::TextDelta { index: 0, text: word.to_owned() };
            add(NewEvent::new(&AssistantChunk { turn, step: 1, chunk }).unwrap());
        }
        let mut message = Message::assistant(vec![ContentBlock::text(text)], "provider", "model");
        message.id = format!("a-{turn}");
        let message = Arc::new(message);
        let answer = AssistantMessage { turn, step: 1, message, usage: None, interrupted: None };
        add(NewEvent::answer(&answer).unwrap());
        add(NewEvent::new(&StepEnd { turn, step: 1 }).unwrap());
        add(NewEvent::new(&TurnEnd { turn, reason: TurnEndReason::Completed {} }).unwrap());
    }
    ((**session.header()).clone(), session.events().iter().collect())
}
