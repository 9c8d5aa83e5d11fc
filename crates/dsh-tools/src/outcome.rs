//! What came of a call: plain data, for the model and for whoever watches.

use std::borrow::Cow;

use serde::Serialize;

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolOutcome {
    /// What the model reads.
    pub content: String,
    /// Why the call did not succeed; none if it did.
    pub failure: Option<Failure>,
}

/// Why a call did not succeed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// The reason, one sentence.
    pub message: String,
    /// The kind of failure, where it has one.
    pub error: Option<ErrorInfo>,
    /// Whether a policy or a guard refused the call; then the tool did not run.
    pub denied: bool,
}

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
    /// The call was cancelled while the tool ran.
    pub const ABORTED: Self = Self::fixed("AbortError", "ABORTED");
    /// The call was cancelled before the tool ran.
    pub const ABORTED_BEFORE_DISPATCH: Self = Self::fixed("AbortError", "ABORTED_BEFORE_DISPATCH");

    /// An error kind of a tool's own.
    #[must_use]
    pub const fn fixed(name: &'static str, code: &'static str) -> Self {
        Self { name: Cow::Borrowed(name), code: Cow::Borrowed(code) }
    }
}

impl ToolOutcome {
    /// The call succeeded with this text.
    #[must_use]
    pub fn success(content: impl Into<String>) -> Self {
        Self { content: content.into(), failure: None }
    }

    /// The call failed; the model reads `Error: ` and the message.
    #[must_use]
    pub fn failed(message: impl Into<String>, error: Option<ErrorInfo>) -> Self {
        let message = message.into();
        let content = format!("Error: {message}");
        Self { content, failure: Some(Failure { message, error, denied: false }) }
    }

    /// The call was refused for this reason, which the model reads.
    #[must_use]
    pub fn denied(reason: impl Into<String>) -> Self {
        let message = reason.into();
        let content = format!("Error: {message}");
        Self { content, failure: Some(Failure { message, error: None, denied: true }) }
    }

    /// Whether the model is told that the call failed.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.failure.is_some()
    }

    /// Whether a policy or a guard refused the call.
    #[must_use]
    pub fn is_denied(&self) -> bool {
        self.failure.as_ref().is_some_and(|failure| failure.denied)
    }

    /// The failure's code, if it has one.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.failure.as_ref()?.error.as_ref().map(|error| &*error.code)
    }

    pub(crate) fn aborted() -> Self {
        Self::failed("tool call aborted", Some(ErrorInfo::ABORTED))
    }

    /// The call was cancelled before the tool ran: what a policy gives that waited meanwhile.
    #[must_use]
    pub fn aborted_before_dispatch() -> Self {
        Self::failed("tool call aborted before dispatch", Some(ErrorInfo::ABORTED_BEFORE_DISPATCH))
    }
}
