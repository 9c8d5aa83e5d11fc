//! A session that a test writes by hand.

use std::sync::Arc;

use dsh_llm::{CallConfig, ContentBlock, FinishReason, Message, StreamChunk, TokenUsage, ToolSchema};
use dsh_session::{
    AssistantChunk, AssistantMessage, EpochHeader, HeaderReason, NewEvent, Payload, RequestHeader, Session,
    StepEnd, StepStart, TurnStart,
};

pub(crate) struct Written(pub(crate) Arc<Session>);

impl Written {
    /// A turn is open.
    pub(crate) fn new() -> Self {
        let written = Self(Session::detached("s-1"));
        written.log(&TurnStart { turn: 1 });
        written
    }

    pub(crate) fn add(&self, event: NewEvent) -> u64 {
        self.0.append(event).unwrap().seq()
    }

    pub(crate) fn log<P: Payload>(&self, data: &P) -> u64 {
        self.add(NewEvent::new(data).unwrap())
    }

    pub(crate) fn raw(&self, kind: &str, data: &str) -> u64 {
        self.add(NewEvent::raw(kind, data).unwrap())
    }

    pub(crate) fn step(&self, step: u64) -> u64 {
        self.log(&StepStart { turn: 1, step })
    }

    pub(crate) fn ends(&self, step: u64) -> u64 {
        self.log(&StepEnd { turn: 1, step })
    }

    pub(crate) fn user(&self, text: &str) -> u64 {
        self.add(NewEvent::user(said(text)).unwrap())
    }

    pub(crate) fn header(&self, header: EpochHeader) -> u64 {
        self.log(&RequestHeader { header, reason: HeaderReason::Initial })
    }

    pub(crate) fn piece(&self, step: u64, chunk: StreamChunk) -> u64 {
        self.log(&AssistantChunk { turn: 1, step, chunk })
    }

    /// An answer of one text, made from these pieces.
    pub(crate) fn answers(
        &self,
        step: u64,
        text: &str,
        usage: Option<TokenUsage>,
        pieces: Option<Vec<u64>>,
    ) -> u64 {
        let event = answer(step, text, usage);
        self.add(match pieces {
            Some(pieces) => event.made_from(pieces),
            None => event,
        })
    }
}

pub(crate) fn said(text: &str) -> Arc<Message> {
    Arc::new(Message::user(vec![ContentBlock::text(text)]))
}

pub(crate) fn answer(step: u64, text: &str, usage: Option<TokenUsage>) -> NewEvent {
    let content = if text.is_empty() { Vec::new() } else { vec![ContentBlock::text(text)] };
    let message = Arc::new(Message::assistant(content, "p", "m"));
    NewEvent::answer(&AssistantMessage { turn: 1, step, message, usage, interrupted: None }).unwrap()
}

pub(crate) fn usage(input_tokens: u64, output_tokens: u64) -> TokenUsage {
    TokenUsage { input_tokens, output_tokens, ..TokenUsage::default() }
}

pub(crate) fn text(text: &str) -> StreamChunk {
    StreamChunk::TextDelta { index: 0, text: text.to_owned() }
}

pub(crate) fn counted(usage: TokenUsage) -> StreamChunk {
    StreamChunk::Usage { usage }
}

pub(crate) fn finish(reason: FinishReason) -> StreamChunk {
    StreamChunk::Finish { reason, replay_state: None }
}

pub(crate) fn header(system: &str) -> EpochHeader {
    EpochHeader {
        config: CallConfig::new("p", "m"),
        adapter_defaults: None,
        system: Some(system.to_owned()),
        tools: None,
    }
}

pub(crate) fn tool(name: &str) -> ToolSchema {
    ToolSchema { name: name.to_owned(), description: "d".to_owned(), parameters: serde_json::Map::new() }
}
