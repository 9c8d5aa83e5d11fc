//! A run as JSON lines: the `session`, an `event` for each that is logged, and the `result`.

use std::sync::Arc;
use std::time::Duration;

use dsh_agent::AgentHandle;
use dsh_session::Event;
use serde::Serialize;
use serde_json::{json, value::RawValue};

use super::beginning::Beginning;
use super::ending::Outcome;
use super::model::Model;
use super::out::Out;
use crate::exit::Exit;
use crate::visible::visible_json;

/// Prints one object per line.
pub(super) struct Lines {
    out: Arc<Out>,
}

#[derive(Serialize)]
struct Logged {
    #[serde(rename = "type")]
    kind: &'static str,
    event: Box<RawValue>,
}

impl Lines {
    pub(super) fn new(out: Arc<Out>) -> Self {
        Self { out }
    }

    pub(super) fn begin(&self, agent: &AgentHandle, beginning: &Beginning, model: &Model) {
        self.print(&json!({
            "type": "session",
            "session": agent.id().as_str(),
            "resumed": beginning.is_stored,
            "cwd": beginning.cwd,
            "provider": model.provider,
            "model": model.name,
        }));
    }

    pub(super) fn event(&self, event: &Event) {
        // What is in a log is JSON.
        if let Ok(event) = RawValue::from_string(event.to_line()) {
            self.print(&Logged { kind: "event", event });
        }
    }

    pub(super) fn end(&self, outcome: &Outcome, exit: Exit, agent: &AgentHandle, took: Duration) {
        self.print(&json!({
            "type": "result",
            "session": agent.id().as_str(),
            "exitCode": exit as u8,
            "reason": outcome.reason,
            "error": outcome.error(),
            "text": outcome.text,
            "steps": outcome.steps,
            "toolCalls": outcome.tool_calls,
            "usage": outcome.usage,
            "durationMs": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        }));
    }

    fn print(&self, line: &impl Serialize) {
        if let Ok(json) = serde_json::to_string(line) {
            self.out.put(format!("{}\n", visible_json(&json)));
        }
    }
}
