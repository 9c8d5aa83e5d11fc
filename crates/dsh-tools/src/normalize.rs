//! Making outcomes of values, and reading again what others made.

use std::sync::Arc;

use dsh_llm::{ContentBlock, Message};
use serde_json::Value;
use thiserror::Error;

use crate::call::ToolCall;
use crate::code::ToolCode;
use crate::content;
use crate::error::{ErrorInfo, Failure, bounded};
use crate::mode::{Mode, RUN_CODE};
use crate::outcome::ToolOutcome;
use crate::registered::RegisteredTool;
use crate::registry::Registry;
use crate::schema::{Schema, dismantle, is_lossless};

/// How deep a value may be nested: it is copied, written and dropped by code that recurses.
const MAX_VALUE_DEPTH: usize = 1_000;

/// Why a value did not become an outcome.
#[derive(Debug, Error)]
pub(crate) enum OutputError {
    /// It is not what the tool declares, or the tool could not show it.
    #[error("tool \"{tool}\" returned invalid output: {}", bounded(violations.join("; ")))]
    Invalid { tool: String, violations: Vec<String> },
    /// The tool is gone, so nobody can say.
    #[error("unknown tool \"{}\"", bounded(tool.clone()))]
    Unknown { tool: String },
    /// A policy replaced the value of a failure.
    #[error(
        "a listener of `tools/post-execute` replaced the value of a failed call of \"{tool}\", which has none: replace its content instead"
    )]
    NoValue { tool: String },
}

impl From<OutputError> for Failure {
    fn from(error: OutputError) -> Self {
        let failure = Self::new(error.to_string());
        match error {
            OutputError::Invalid { .. } => failure.coded(ErrorInfo::INVALID_TOOL_OUTPUT),
            OutputError::Unknown { .. } => failure.coded(ErrorInfo::UNKNOWN_TOOL),
            OutputError::NoValue { .. } => failure,
        }
    }
}

impl From<OutputError> for ToolOutcome {
    fn from(error: OutputError) -> Self {
        Self::failure(error)
    }
}

/// The tool whose body a call reaches.
pub(crate) fn reached(registry: &Registry, call: &ToolCall) -> Option<Arc<RegisteredTool>> {
    registry.visible(call.name(), call.scope()).filter(|_| !is_collapsed(registry, call))
}

/// In code mode a program is the only way to a tool, so what a model asks for directly does not exist.
pub(crate) fn is_collapsed(registry: &Registry, call: &ToolCall) -> bool {
    call.parent().is_none() && call.name() != RUN_CODE && registry.mode(call.scope()) == Mode::Code
}

/// The outcome of a value that the tool's body gave: checked, rendered, with facts for user interfaces.
pub(crate) fn success(
    tool: &RegisteredTool,
    call: &ToolCall,
    value: Value,
) -> Result<ToolOutcome, OutputError> {
    let invalid = |violations| OutputError::Invalid { tool: call.name().to_owned(), violations };
    if is_too_deep(&value) {
        dismantle(value);
        return Err(invalid(vec![format!("value is nested deeper than {MAX_VALUE_DEPTH} levels")]));
    }
    if !is_lossless(&value) {
        return Err(invalid(vec!["value is not lossless JSON".to_owned()]));
    }
    let violations = tool.output.violations(Schema::VALUE, &value);
    if !violations.is_empty() {
        return Err(invalid(violations));
    }
    let shown = tool.code.call(|code| shown(code, call, &value));
    let (content, meta) = match shown {
        Ok(shown) => shown.map_err(|violation| invalid(vec![violation]))?,
        Err(refused) if RegisteredTool::is_gone(&refused) => {
            return Err(OutputError::Unknown { tool: call.name().to_owned() });
        }
        Err(panicked) => return Err(invalid(vec![format!("output.render failed: {panicked}")])),
    };
    Ok(ToolOutcome::rendered(value, content, meta, call.progress().concludes()))
}

pub(crate) fn is_too_deep(value: &Value) -> bool {
    let mut open = vec![(value, 0)];
    while let Some((value, depth)) = open.pop() {
        match value {
            Value::Array(_) | Value::Object(_) if depth == MAX_VALUE_DEPTH => return true,
            Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(members) => open.extend(members.values().map(|member| (member, depth + 1))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    false
}

type Shown = (Vec<ContentBlock>, Option<Value>);

fn shown(code: &ToolCode, call: &ToolCall, value: &Value) -> Result<Shown, String> {
    let arguments = call.arguments();
    let content = match &code.render {
        None => content::of_value(value),
        Some(render) => render(arguments, value).map_err(|error| format!("output.render failed: {error}"))?,
    };
    // Nobody is shown the inside of a program.
    let meta = code.meta.as_ref().filter(|_| call.parent().is_none());
    let meta = meta.map(|meta| meta(arguments, value)).transpose();
    let mut meta = meta.map_err(|error| format!("output.presentationMeta failed: {error}"))?;
    if let Some(meta) = meta.take_if(|meta| is_too_deep(meta) || !is_lossless(meta)) {
        dismantle(meta);
        return Err("output.presentationMeta returned non-lossless JSON".to_owned());
    }
    Ok((content, meta))
}

/// The outcome as the outermost wrapper gave it: its own call's stands, another is made anew.
pub(crate) fn outcome(
    registry: &Registry,
    call: &ToolCall,
    given: ToolOutcome,
) -> Result<ToolOutcome, OutputError> {
    if given.is_of(call.token()) {
        return Ok(given);
    }
    let (value, contexts) = match given.into_value() {
        Ok(value) => value,
        Err(failure) => return Ok(*failure),
    };
    let mut outcome = replaced(registry, call, value)?;
    *outcome.contexts_mut() = contexts;
    Ok(outcome)
}

/// The outcome of a value that a listener gave.
pub(crate) fn replaced(
    registry: &Registry,
    call: &ToolCall,
    value: Value,
) -> Result<ToolOutcome, OutputError> {
    let tool =
        reached(registry, call).ok_or_else(|| OutputError::Unknown { tool: call.name().to_owned() })?;
    success(&tool, call, value)
}

/// What a blocked result leaves: the feedback as an error, and the decision's own messages.
pub(crate) fn blocked(old: &ToolOutcome, feedback: Vec<ContentBlock>, contexts: Vec<Message>) -> ToolOutcome {
    let text = content::text_of(&feedback);
    let message = match text.is_empty() {
        true => "tool result blocked by post-execute policy".to_owned(),
        false => text,
    };
    let mut outcome = match old.is_denied() {
        true => ToolOutcome::denied(message),
        false => ToolOutcome::failed(message),
    };
    outcome.set_content(feedback);
    *outcome.contexts_mut() = contexts;
    outcome
}
