//! One event of a log.

use serde_json::value::RawValue;

use crate::tool::{ToolCall, ToolResult};

/// One event: its place in the log, its time and what happened.
#[derive(Clone, Debug)]
pub struct Event {
    /// The event's place in the log, counted from 0.
    pub seq: u64,
    /// The wall clock at append, in milliseconds since the epoch. It may go back.
    pub time_ms: i64,
    /// What happened.
    pub data: EventData,
    /// How the event changes the conversation that the model sees; only on the three types that do.
    pub surface: Option<SurfaceOp>,
    /// The events that this one was made from, if that was recorded.
    pub source_seqs: Option<Vec<u64>>,
    /// Whether a reader that does not know the type may skip the event.
    pub ignorable: bool,
}

/// What an event holds.
#[derive(Clone, Debug)]
pub enum EventData {
    /// `tool/call`.
    ToolCall(ToolCall),
    /// `tool/result`.
    ToolResult(ToolResult),
    /// Any other type, with its data as JSON text.
    Other {
        /// The event's type, such as `turn/start`.
        kind: String,
        /// The event's data, untouched.
        data: Box<RawValue>,
    },
}

/// What an event does to the conversation that the model sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SurfaceOp {
    /// Adds a message at the end.
    Append,
    /// Puts a message in the place of others.
    Replace {
        /// The first event that is replaced.
        start: u64,
        /// The last event that is replaced.
        end: u64,
    },
}

impl Event {
    /// The event's type, such as `turn/start`.
    #[must_use]
    pub fn kind(&self) -> &str {
        match &self.data {
            EventData::ToolCall(_) => "tool/call",
            EventData::ToolResult(_) => "tool/result",
            EventData::Other { kind, .. } => kind,
        }
    }
}
