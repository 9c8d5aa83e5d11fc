//! What a tool is: a description for the model and a body.

use std::borrow::Cow;
use std::fmt;

use cordis::{BoxFuture, ScopeKey};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::call::ToolCall;
use crate::outcome::{ErrorInfo, ToolOutcome};
use crate::schema;

/// A tool that agents can call.
///
/// # Examples
/// ```
/// use dsh_tools::{Tool, ToolError, ToolRun, ToolSpec};
/// use serde_json::json;
///
/// struct Echo;
///
/// #[derive(serde::Deserialize)]
/// struct Text {
///     text: String,
/// }
///
/// impl Tool for Echo {
///     type Arguments = Text;
///
///     fn spec(&self) -> ToolSpec {
///         let parameters = json!({
///             "type": "object",
///             "properties": { "text": { "type": "string" } },
///             "required": ["text"],
///         });
///         ToolSpec::new("echo", "Gives the text back.", parameters)
///     }
///
///     async fn run(&self, arguments: Text, _run: &ToolRun<'_>) -> Result<String, ToolError> {
///         Ok(arguments.text)
///     }
/// }
/// ```
pub trait Tool: Send + Sync + 'static {
    /// The arguments as the body takes them; the call's arguments have passed [`ToolSpec::parameters`] before.
    type Arguments: DeserializeOwned + Send;

    /// The tool's name, its description and its parameters. Asked once, at registration.
    fn spec(&self) -> ToolSpec;

    /// The body: gives the text that the model reads.
    ///
    /// # Errors
    /// An error becomes an error result for the model, as does a panic.
    ///
    /// # Cancel safety
    /// The body watches [`ToolRun::cancellation`] and returns soon after. One that does not is dropped at its next
    /// await when the runtime's grace time is over.
    fn run(
        &self,
        arguments: Self::Arguments,
        run: &ToolRun<'_>,
    ) -> impl Future<Output = Result<String, ToolError>> + Send;
}

/// What the model is told about a tool.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolSpec {
    /// The name that calls use.
    pub name: Cow<'static, str>,
    /// What the tool does, for the model.
    pub description: Cow<'static, str>,
    /// The JSON schema of the arguments, an object.
    pub parameters: Value,
}

impl ToolSpec {
    /// Puts the three together.
    #[must_use]
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        description: impl Into<Cow<'static, str>>,
        parameters: Value,
    ) -> Self {
        Self { name: name.into(), description: description.into(), parameters }
    }
}

/// What a body may know about the call that it serves.
#[derive(Clone, Copy, Debug)]
pub struct ToolRun<'a> {
    call: &'a ToolCall,
}

impl<'a> ToolRun<'a> {
    /// The call's id.
    #[must_use]
    pub fn call_id(&self) -> &'a str {
        self.call.id()
    }

    /// The scope of the agent that calls, if one does.
    #[must_use]
    pub fn scope(&self) -> Option<&'a ScopeKey> {
        self.call.scope()
    }

    /// Cancelled when the caller or a listener no longer wants the result.
    #[must_use]
    pub fn cancellation(&self) -> &'a CancellationToken {
        self.call.cancellation()
    }
}

/// Why a body gave no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolError {
    message: String,
    error: Option<ErrorInfo>,
    output: Option<String>,
}

impl ToolError {
    /// A failure without a kind of its own.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), error: None, output: None }
    }

    /// The call was cancelled and the body stopped for that reason.
    #[must_use]
    pub fn aborted() -> Self {
        Self::new("tool call aborted").with_kind(ErrorInfo::ABORTED)
    }

    /// Gives the failure a kind.
    #[must_use]
    pub fn with_kind(mut self, error: ErrorInfo) -> Self {
        self.error = Some(error);
        self
    }

    /// Keeps what the body had to say until it failed; the model reads it before the error.
    #[must_use]
    pub fn with_output(mut self, output: impl Into<String>) -> Self {
        self.output = Some(output.into()).filter(|output: &String| !output.is_empty());
        self
    }

    pub(crate) fn into_outcome(self) -> ToolOutcome {
        let mut outcome = ToolOutcome::failed(self.message, self.error);
        if let Some(output) = self.output {
            let gap = if output.ends_with('\n') { "" } else { "\n" };
            outcome.content = format!("{output}{gap}{}", outcome.content);
        }
        outcome
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ToolError {}

/// [`Tool`] with its arguments still untyped.
pub(crate) trait ErasedTool: Send + Sync {
    fn run<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, Result<String, ToolError>>;
}

/// A tool together with its specification.
pub(crate) struct Typed<T> {
    pub(crate) tool: T,
    pub(crate) parameters: Value,
}

impl<T: Tool> ErasedTool for Typed<T> {
    fn run<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, Result<String, ToolError>> {
        Box::pin(async move {
            let violations = schema::violations(&self.parameters, call.arguments());
            if !violations.is_empty() {
                return Err(invalid(&violations.join("; ")));
            }
            let arguments = T::Arguments::deserialize(&**call.arguments())
                .map_err(|error| invalid(&error.to_string()))?;
            self.tool.run(arguments, &ToolRun { call }).await
        })
    }
}

fn invalid(reason: &str) -> ToolError {
    ToolError::new(format!("invalid arguments: {reason}")).with_kind(ErrorInfo::INVALID_ARGS)
}
