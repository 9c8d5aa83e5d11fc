//! The tool calls of a log, each with the result that the model was given.

use std::collections::HashMap;

use crate::event::{EventData, SurfaceOp};
use crate::log::SessionLog;
use crate::tool::{ToolCall, ToolResult};

/// One call of a log.
#[derive(Clone, Copy, Debug)]
pub struct LoggedCall<'a> {
    /// The number of the call's event.
    pub seq: u64,
    /// What the model asked for.
    pub call: &'a ToolCall,
    /// What it was told; none if the log ends before that.
    pub result: Option<&'a ToolResult>,
}

impl SessionLog {
    /// The calls in the order of the log, each with its first result.
    ///
    /// A result belongs to the call that it names as its source, else to the latest unanswered call with its id. A
    /// result that was put in the place of another one later (a shortened one, say) does not count.
    #[must_use]
    pub fn tool_calls(&self) -> Vec<LoggedCall<'_>> {
        let mut calls: Vec<LoggedCall<'_>> = Vec::new();
        let mut open: HashMap<&str, Vec<usize>> = HashMap::new();
        for event in &self.events {
            match &event.data {
                EventData::ToolCall(call) => {
                    open.entry(&call.call_id).or_default().push(calls.len());
                    calls.push(LoggedCall { seq: event.seq, call, result: None });
                }
                EventData::ToolResult(result) if event.surface == Some(SurfaceOp::Append) => {
                    let Some(waiting) = open.get_mut(result.call_id.as_str()) else { continue };
                    let named = event
                        .source_seqs
                        .as_deref()
                        .and_then(|seqs| waiting.iter().position(|index| seqs.contains(&calls[*index].seq)));
                    if let Some(position) = named.or_else(|| waiting.len().checked_sub(1)) {
                        calls[waiting.remove(position)].result = Some(result);
                    }
                }
                EventData::ToolResult(_) | EventData::Other { .. } => {}
            }
        }
        calls
    }
}
