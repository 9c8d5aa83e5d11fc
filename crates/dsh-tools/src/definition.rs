//! What a tool is: a description for the model, a body, and what the pipeline may know of it.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use cordis::BoxError;
use dsh_llm::ContentBlock;
use serde_json::Value;

use crate::call::ToolCall;
use crate::code::{Body, ToolCode};
use crate::error::ToolError;
use crate::outcome::ToolOutcome;
use crate::run::ToolRun;
use crate::schema::{Deep, Schema, SchemaError, copy};
use crate::views::{CallView, LoggedResult, ResultView};

/// A tool as it is registered. Made by [`tool`](crate::tool) from Rust types, or by [`ToolDefinition::raw`] from a schema.
pub struct ToolDefinition {
    pub(crate) name: Cow<'static, str>,
    pub(crate) description: Cow<'static, str>,
    pub(crate) parameters: Deep,
    pub(crate) check: Check,
    pub(crate) output: Result<Schema, SchemaError>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) idempotent: bool,
    pub(crate) code: ToolCode,
}

/// Whether arguments are checked before the body sees them.
#[derive(Clone, Debug)]
pub(crate) enum Check {
    /// They are the body's own business.
    Unchecked,
    /// Against the parameters.
    Checked(Result<Schema, SchemaError>),
}

/// A tool of a schema whose body is still to come; see [`ToolDefinition::raw`].
#[must_use = "a tool needs a body: `.run(..)`"]
pub struct RawTool {
    name: Cow<'static, str>,
    description: Cow<'static, str>,
    parameters: Deep,
    checked: bool,
    output: Option<Deep>,
}

impl ToolDefinition {
    /// A tool whose parameters are a JSON schema: of a server, of a file, of another language. The schema is sent to the
    /// model as it is, and arguments are the body's own business unless [`RawTool::checked`] says otherwise.
    ///
    /// Any text is a name here; what the APIs of models take is 1 to 64 ASCII letters, digits, `_` and `-`.
    ///
    /// # Examples
    /// ```
    /// use dsh_tools::{ToolDefinition, ToolError};
    /// use serde_json::{Value, json};
    ///
    /// let parameters = json!({ "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] });
    /// let echo = ToolDefinition::raw("echo", "Gives the text back.", parameters)
    ///     .checked()
    ///     .output(json!({ "type": "string" }))
    ///     .run(async |arguments, _run| Ok(arguments["text"].clone()));
    /// ```
    pub fn raw(
        name: impl Into<Cow<'static, str>>,
        description: impl Into<Cow<'static, str>>,
        parameters: Value,
    ) -> RawTool {
        RawTool {
            name: name.into(),
            description: description.into(),
            parameters: Deep::new(parameters),
            checked: false,
            output: None,
        }
    }

    pub(crate) fn new(
        name: Cow<'static, str>,
        description: Cow<'static, str>,
        parameters: Deep,
        check: Check,
        output: Result<Schema, SchemaError>,
        body: Body,
    ) -> Self {
        let code = ToolCode::new(body);
        Self { name, description, parameters, check, output, timeout: None, idempotent: false, code }
    }

    /// The name that calls use.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How long a body may run, for the timeout policy. It must be longer than nothing; the model is not told.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Says that running the body twice is as good as running it once, so that a policy may run it again after a failure.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.idempotent = true;
        self
    }

    /// Says that the body may run beside other bodies of the same batch, for all arguments that the tool takes.
    #[must_use]
    pub fn parallel(self) -> Self {
        self.parallel_when(|_| true)
    }

    /// Says for which arguments the body may run beside other bodies of the same batch; without this, for none.
    #[must_use]
    pub fn parallel_when(mut self, parallel: impl Fn(&Value) -> bool + Send + Sync + 'static) -> Self {
        self.code.parallel = Some(Box::new(parallel));
        self
    }

    /// Makes of arguments and value what the model reads. Pure: the same for the same, and no work. Without this a text is
    /// read as it is, nothing as a sentence that says so, and the rest as JSON.
    #[must_use]
    pub fn render(
        mut self,
        render: impl Fn(&Value, &Value) -> Result<Vec<ContentBlock>, BoxError> + Send + Sync + 'static,
    ) -> Self {
        self.code.render = Some(Box::new(render));
        self
    }

    /// Makes of arguments and value facts for a user interface, which the model never sees. Pure. Not asked in nested calls.
    #[must_use]
    pub fn presentation_meta(
        mut self,
        meta: impl Fn(&Value, &Value) -> Result<Value, BoxError> + Send + Sync + 'static,
    ) -> Self {
        self.code.meta = Some(Box::new(meta));
        self
    }

    /// The last word on what the model reads, of successes and failures alike; `None` keeps it. Asked once per call.
    #[must_use]
    pub fn finalize(
        mut self,
        finalize: impl Fn(&ToolCall, &ToolOutcome) -> Option<Vec<ContentBlock>> + Send + Sync + 'static,
    ) -> Self {
        self.code.finalize = Some(Box::new(finalize));
        self
    }

    /// How a user interface may show a call with these arguments. Pure; arguments may be anything.
    #[must_use]
    pub fn present_call(
        mut self,
        present: impl Fn(&Value) -> Option<CallView> + Send + Sync + 'static,
    ) -> Self {
        self.code.present_call = Some(Box::new(present));
        self
    }

    /// How a user interface may show a result: of the arguments, and of what a log keeps of it. Pure.
    #[must_use]
    pub fn present_result(
        mut self,
        present: impl Fn(&Value, LoggedResult<'_>) -> Option<ResultView> + Send + Sync + 'static,
    ) -> Self {
        self.code.present_result = Some(Box::new(present));
        self
    }
}

impl RawTool {
    /// Has arguments checked against the parameters, which must then be of the supported subset of JSON schema.
    pub fn checked(mut self) -> Self {
        self.checked = true;
        self
    }

    /// The JSON schema of the value, of the supported subset; without this any value will do.
    pub fn output(mut self, schema: Value) -> Self {
        self.output = Some(Deep::new(schema));
        self
    }

    /// Gives the tool its body.
    pub fn run<F, Fut>(self, body: F) -> ToolDefinition
    where
        F: Fn(Arc<Value>, ToolRun) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, ToolError>> + Send + 'static,
    {
        self.finish(Body::Async(Box::new(move |arguments, run| Box::pin(body(arguments, run)))))
    }

    /// Gives the tool a body that blocks its thread; see [`ToolBuilder::run_blocking`](crate::ToolBuilder::run_blocking).
    pub fn run_blocking<F>(self, body: F) -> ToolDefinition
    where
        F: Fn(Arc<Value>, ToolRun) -> Result<Value, ToolError> + Send + Sync + 'static,
    {
        self.finish(Body::Blocking(Box::new(body)))
    }

    fn finish(self, body: Body) -> ToolDefinition {
        let Self { name, description, parameters, checked, output } = self;
        let check = match checked {
            true => Check::Checked(Schema::new(copy(&parameters))),
            false => Check::Unchecked,
        };
        let output = output.map_or_else(|| Ok(Schema::any()), |schema| Schema::new(schema.into_value()));
        ToolDefinition::new(name, description, parameters, check, output, body)
    }
}

impl fmt::Debug for ToolDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolDefinition").field("name", &self.name).finish_non_exhaustive()
    }
}

impl fmt::Debug for RawTool {
    /// Not the schemas, whose depth has no bound.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawTool").field("name", &self.name).finish_non_exhaustive()
    }
}
