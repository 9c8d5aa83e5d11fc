//! The events that end what a crash left open.

use std::sync::Arc;

use dsh_llm::{ContentBlock, Message, Role, Source};

use crate::event::{Event, kind_of};
use crate::events::Events;
use crate::lossless;
use crate::payload::{
    AssistantMessage, ErrorInfo, Payload, StepEnd, StepStart, ToolCall, ToolResult, TurnEnd, TurnEndReason,
    TurnStart,
};
use crate::surface::SurfaceOp;

/// What the model is told of a call that had not begun.
const NOT_STARTED: &str = "The session was interrupted before this call was started, so it has had no effect. \
                           Call the tool again if you still need it.";
/// What the model is told of a call that may have run.
const OUTCOME_UNKNOWN: &str = "The session was interrupted while this call was running, and what came of it was not \
                               recorded. It may have had its effect, in whole or in part. Repeat it only if it reads \
                               and changes nothing, or gives the same end when it is done twice; otherwise look first \
                               what state things are in, or ask the user.";

/// What is open at the end of a log.
#[derive(Default)]
struct Open {
    turn: Option<u64>,
    step: Option<u64>,
    calls: Vec<Call>,
}

struct Call {
    id: String,
    /// The event that recorded its start.
    started: Option<u64>,
}

/// The events that end the open turn of a log: a failed result for every unanswered call in the order in which the model
/// asked, the end of the step, and the end of the turn. None where no turn is open. They carry the time of the last event.
#[must_use]
pub fn closers(events: &Events) -> Vec<Arc<Event>> {
    let mut open = Open::default();
    for event in events {
        open.note(&event);
    }
    let (Some(turn), Some(last)) = (open.turn, events.last()) else { return Vec::new() };
    let mut made = Made { next: events.len() as u64, time_ms: last.time_ms(), events: Vec::new() };
    if let Some(step) = open.step {
        for call in open.calls {
            made.result(turn, step, &call);
        }
        made.log(&StepEnd { turn, step });
    }
    made.log(&TurnEnd { turn, reason: TurnEndReason::Interrupted {} });
    made.events
}

impl Open {
    fn note(&mut self, event: &Event) {
        match event.kind() {
            TurnStart::TYPE => {
                let turn = event.payload::<TurnStart>().ok().flatten().map(|it| it.turn);
                *self = Self { turn, ..Self::default() };
            }
            TurnEnd::TYPE => *self = Self::default(),
            StepStart::TYPE => self.step = event.payload::<StepStart>().ok().flatten().map(|it| it.step),
            StepEnd::TYPE => {
                self.step = None;
                self.calls.clear();
            }
            AssistantMessage::TYPE => {
                let blocks = event.message().map(|message| message.content.as_slice()).unwrap_or_default();
                for block in blocks {
                    // A call without an id cannot be answered: a result names its call.
                    if let ContentBlock::ToolCall { id, .. } = block
                        && !id.is_empty()
                    {
                        self.calls.retain(|call| call.id != *id);
                        self.calls.push(Call { id: id.clone(), started: None });
                    }
                }
            }
            ToolCall::TYPE => {
                if let Ok(Some(started)) = event.payload::<ToolCall>()
                    && let Some(call) = self.calls.iter_mut().find(|call| call.id == started.call_id)
                {
                    call.started = Some(event.seq());
                }
            }
            ToolResult::TYPE => {
                let answered = event.message().and_then(|message| message.check_tool_result().ok());
                self.calls.retain(|call| Some(call.id.as_str()) != answered);
            }
            _ => {}
        }
    }
}

struct Made {
    next: u64,
    time_ms: i64,
    events: Vec<Arc<Event>>,
}

impl Made {
    fn log<P: Payload>(&mut self, data: &P) {
        // Numbers that came out of a log go into one again.
        if let Ok(data) = lossless::text(P::TYPE, data) {
            self.push(Event {
                seq: self.next,
                time_ms: self.time_ms,
                kind: kind_of(P::TYPE),
                data,
                surface: None,
                sources: None,
                ignorable: false,
                message: None,
            });
        }
    }

    fn result(&mut self, turn: u64, step: u64, call: &Call) {
        let (name, code, text) = match call.started {
            None => ("ToolNotStartedError", "TOOL_NOT_STARTED", NOT_STARTED),
            Some(_) => ("ToolOutcomeUnknownError", "TOOL_OUTCOME_UNKNOWN", OUTCOME_UNKNOWN),
        };
        let message = Arc::new(Message {
            id: format!("interrupted-tool-result-{}-{}", call.id, self.next),
            role: Role::User,
            content: vec![ContentBlock::ToolResult {
                tool_call_id: call.id.clone(),
                content: vec![ContentBlock::text(text)],
                is_error: Some(true),
            }],
            source: Source::Tool { call_id: call.id.clone() },
        });
        let error = Some(ErrorInfo { name: name.to_owned(), code: code.to_owned() });
        let result = ToolResult { turn, step, message: message.clone(), error, meta: None };
        if let Ok(data) = lossless::text(ToolResult::TYPE, &result) {
            self.push(Event {
                seq: self.next,
                time_ms: self.time_ms,
                kind: kind_of(ToolResult::TYPE),
                data,
                surface: Some(SurfaceOp::Append),
                sources: call.started.map(|seq| [seq].into()),
                ignorable: false,
                message: Some(message),
            });
        }
    }

    fn push(&mut self, event: Event) {
        self.next += 1;
        self.events.push(Arc::new(event));
    }
}
