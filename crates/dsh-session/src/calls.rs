//! The tool calls of a log, each with the result that the model was given.

use std::collections::HashMap;

use crate::error::BadData;
use crate::events::Events;
use crate::payload::{ToolCall, ToolResult};

/// One call of a log.
#[derive(Clone, Debug, PartialEq)]
pub struct LoggedCall {
    /// The number of the call's event.
    pub seq: u64,
    /// What the model asked for.
    pub call: ToolCall,
    /// What it was told; none if the log ends before that.
    pub result: Option<ToolResult>,
}

/// The calls in the order of the log, each with its first result.
///
/// A result belongs to the call that it names as its source, else to the latest unanswered call with its id. A result
/// that was put in the place of another one later (a shortened one, say) does not count.
///
/// # Errors
/// The data of a call or of a result is not what its type says.
pub fn tool_calls(events: &Events) -> Result<Vec<LoggedCall>, BadData> {
    let mut calls: Vec<LoggedCall> = Vec::new();
    let mut open: HashMap<String, Vec<usize>> = HashMap::new();
    for event in events {
        if let Some(call) = event.payload::<ToolCall>()? {
            open.entry(call.call_id.clone()).or_default().push(calls.len());
            calls.push(LoggedCall { seq: event.seq(), call, result: None });
        } else if event.is_surface_append()
            && let Some(result) = event.payload::<ToolResult>()?
        {
            let Some(waiting) = open.get_mut(result.call_id()) else { continue };
            let named = event
                .sources()
                .and_then(|seqs| waiting.iter().position(|index| seqs.contains(&calls[*index].seq)));
            if let Some(position) = named.or_else(|| waiting.len().checked_sub(1)) {
                calls[waiting.remove(position)].result = Some(result);
            }
        }
    }
    Ok(calls)
}
