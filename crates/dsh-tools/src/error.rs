//! Failures as data: what a body gives instead of a value, and what the model is told of it.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

use cordis::chain;
use dsh_llm::ContentBlock;
use serde::Serialize;

/// The name and code of a failure, as a session log keeps them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ErrorInfo {
    /// The error's class, such as `ToolNotFoundError`.
    pub name: Cow<'static, str>,
    /// The error's code, such as `UNKNOWN_TOOL`.
    pub code: Cow<'static, str>,
}

impl ErrorInfo {
    /// No tool of this name is offered to the caller.
    pub const UNKNOWN_TOOL: Self = Self::fixed("ToolNotFoundError", "UNKNOWN_TOOL");
    /// The arguments are not what the tool takes.
    pub const INVALID_ARGS: Self = Self::fixed("ToolArgsError", "INVALID_ARGS");
    /// The value that the body gave is not what the tool declares.
    pub const INVALID_TOOL_OUTPUT: Self = Self::fixed("ToolOutputError", "INVALID_TOOL_OUTPUT");
    /// The call was cancelled while the tool ran.
    pub const ABORTED: Self = Self::fixed("AbortError", "ABORTED");
    /// The call was cancelled before the tool ran.
    pub const ABORTED_BEFORE_DISPATCH: Self = Self::fixed("AbortError", "ABORTED_BEFORE_DISPATCH");

    /// A program failed, or was ended.
    pub const CODE_RUN_FAILED: Self = Self::fixed("CodeRunFailedError", "CODE_RUN_FAILED");

    /// A kind of failure of one's own.
    #[must_use]
    pub const fn fixed(name: &'static str, code: &'static str) -> Self {
        Self { name: Cow::Borrowed(name), code: Cow::Borrowed(code) }
    }
}

/// Why a call did not succeed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    info: Option<ErrorInfo>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    denied: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
}

impl Failure {
    /// A failure without a kind of its own. The message is one sentence that says what failed and what to do next.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), info: None, denied: false, output: None }
    }

    pub(crate) fn denied(reason: impl Into<String>) -> Self {
        Self { denied: true, ..Self::new(reason) }
    }

    /// The call was cancelled, and the body stopped for that reason.
    #[must_use]
    pub fn aborted() -> Self {
        Self::new("tool call aborted").coded(ErrorInfo::ABORTED)
    }

    pub(crate) fn aborted_before_dispatch() -> Self {
        Self::new("tool call aborted before dispatch").coded(ErrorInfo::ABORTED_BEFORE_DISPATCH)
    }

    /// Gives the failure a kind.
    #[must_use]
    pub fn coded(mut self, info: ErrorInfo) -> Self {
        self.info = Some(info);
        self
    }

    /// Keeps what there was of output until the failure; the model reads it before the error.
    #[must_use]
    pub fn with_output(mut self, output: impl Into<String>) -> Self {
        self.output = Some(output.into()).filter(|output| !output.is_empty());
        self
    }

    /// The reason.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The kind of failure, where it has one.
    #[must_use]
    pub fn info(&self) -> Option<&ErrorInfo> {
        self.info.as_ref()
    }

    /// Whether the last word on the call was a policy's or a guard's no. Its body did not run after that; whether an earlier run
    /// of it did says [`ToolCall::body_was_entered`](crate::ToolCall::body_was_entered).
    #[must_use]
    pub fn is_denied(&self) -> bool {
        self.denied
    }

    /// What there was of output until the failure.
    #[must_use]
    pub fn output(&self) -> Option<&str> {
        self.output.as_deref()
    }

    pub(crate) fn into_output(self) -> Option<String> {
        self.output
    }

    /// What the model reads.
    pub(crate) fn content(&self) -> Vec<ContentBlock> {
        let output = self.output.as_deref().unwrap_or_default();
        let gap = if output.is_empty() || output.ends_with('\n') { "" } else { "\n" };
        vec![ContentBlock::text(format!("{output}{gap}Error: {}", self.message))]
    }
}

/// Why a body gave no value. Made of any error by `?`: its text and those of its causes become the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolError(Failure);

impl ToolError {
    /// A failure without a kind of its own. The message says what failed and what to do next.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self(Failure::new(message))
    }

    /// The call was cancelled, and the body stopped for that reason.
    #[must_use]
    pub fn aborted() -> Self {
        Self(Failure::aborted())
    }

    /// Gives the failure a kind.
    #[must_use]
    pub fn coded(self, info: ErrorInfo) -> Self {
        Self(self.0.coded(info))
    }

    /// Keeps what there was of output until the failure; the model reads it before the error.
    #[must_use]
    pub fn with_output(self, output: impl Into<String>) -> Self {
        Self(self.0.with_output(output))
    }

    /// The reason.
    #[must_use]
    pub fn message(&self) -> &str {
        self.0.message()
    }
}

impl From<ToolError> for Failure {
    fn from(error: ToolError) -> Self {
        error.0
    }
}

impl<E: Error> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self::new(chain(&error))
    }
}

/// Not an [`Error`] itself, so that any error can become one; shown, it is its message.
impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

/// How many bytes of what a model or a tool wrote a message repeats at most.
const MAX_REPEATED_BYTES: usize = 4_096;

/// A text that somebody else made, short enough to be read.
pub(crate) fn bounded(text: String) -> String {
    if text.len() <= MAX_REPEATED_BYTES {
        return text;
    }
    let cut = (0..=MAX_REPEATED_BYTES).rev().find(|cut| text.is_char_boundary(*cut)).unwrap_or(0);
    format!("{} … and {} bytes more", &text[..cut], text.len() - cut)
}
