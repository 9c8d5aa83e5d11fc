//! What the log holds of hooks. None of it is part of the conversation.

use dsh_llm::open::present;
use dsh_session::Payload;
use serde::{Deserialize, Serialize};

use crate::dialect::Dialect;
use crate::handler::Handler;
use crate::point::Point;
use crate::run::HookRun;
use crate::said::Said;
use crate::text::trimmed;

/// A hook is about to run, inside of an open turn.
///
/// Source: event type `hook/invoked`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookInvoked {
    /// The turn.
    pub turn: u64,
    /// When it runs.
    pub point: Point,
    /// Whose hook it is.
    pub dialect: Dialect,
    /// Its name, never empty, which the result has too.
    pub handler_id: String,
    /// The pattern that it is for.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub matcher: Option<String>,
}

/// A hook has ended, in the turn in which it was run. A crash may leave one without this, and so does one that outlives its
/// turn or that nobody waits for any more.
///
/// Source: event type `hook/result`; `updatedInput` is ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookResult {
    /// The turn.
    pub turn: u64,
    /// When it ran.
    pub point: Point,
    /// Its name.
    pub handler_id: String,
    /// What it decided.
    pub decision: Recorded,
    /// The code that it gave.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub exit_code: Option<i32>,
    /// The beginning of what it printed as errors; below that what ended it, if it was not left to end by itself.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub stderr_summary: Option<String>,
    /// How long it took, in milliseconds and parts of one.
    pub duration_ms: f64,
    /// The arguments that the tool is to get, as JSON text like those of the call.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub updated_input: Option<String>,
}

/// What a hook decided, as the log has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Recorded {
    /// As [`Said::Approve`].
    Approve,
    /// As [`Said::Allow`].
    Allow,
    /// As [`Said::Ask`].
    Ask,
    /// As [`Said::Block`].
    Block,
    /// As [`Said::Deny`].
    Deny,
    /// Nothing, but it wants the agent to stop.
    Stop,
    /// Nothing.
    Pass,
}

impl HookInvoked {
    /// The record of a hook that is about to run.
    #[must_use]
    pub fn new(turn: u64, dialect: Dialect, handler: &Handler, handler_id: impl Into<String>) -> Self {
        let matcher = handler.matcher.pattern().map(str::to_owned);
        Self { turn, point: handler.point, dialect, handler_id: handler_id.into(), matcher }
    }

    /// The record of its end, with at most so many characters of what it printed as errors.
    #[must_use]
    pub fn ended(&self, run: &HookRun, stderr_summary_max_chars: usize) -> HookResult {
        HookResult {
            turn: self.turn,
            point: self.point,
            handler_id: self.handler_id.clone(),
            decision: Recorded::of(run),
            exit_code: run.exit_code,
            stderr_summary: summary(run, stderr_summary_max_chars),
            duration_ms: run.duration.as_micros() as f64 / 1000.0,
            updated_input: run.output.updated_input.as_ref().and_then(|it| serde_json::to_string(it).ok()),
        }
    }
}

impl Recorded {
    fn of(run: &HookRun) -> Self {
        match (run.output.said, &run.output.stop) {
            (Some(Said::Approve), _) => Self::Approve,
            (Some(Said::Allow), _) => Self::Allow,
            (Some(Said::Ask), _) => Self::Ask,
            (Some(Said::Block), _) => Self::Block,
            (Some(Said::Deny), _) => Self::Deny,
            (None, Some(_)) => Self::Stop,
            (None, None) => Self::Pass,
        }
    }
}

impl Payload for HookInvoked {
    const TYPE: &'static str = "hook/invoked";
}

impl Payload for HookResult {
    const TYPE: &'static str = "hook/result";
}

fn summary(run: &HookRun, max_chars: usize) -> Option<String> {
    let stderr = trimmed(&run.stderr);
    let printed = match stderr.char_indices().nth(max_chars) {
        _ if stderr.is_empty() => None,
        None => Some(stderr.to_owned()),
        Some((end, _)) => Some(format!("{}…", &stderr[..end])),
    };
    // It is not cut: a decision that was made at the time limit must not look like any other.
    match (printed, &run.ended) {
        (Some(printed), Some(ended)) => Some(format!("{printed}\n{ended}")),
        (printed, ended) => printed.or_else(|| ended.as_ref().map(ToString::to_string)),
    }
}
