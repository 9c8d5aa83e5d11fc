//! A tool as it is offered: what others may know of it, and the code that its plugin lends.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use cordis::{Lent, Refused};
use dsh_llm::ToolSchema;
use serde_json::Value;

use crate::bodies::Bodies;
use crate::code::ToolCode;
use crate::schema::{self, Schema};
use crate::views::{CallView, LoggedResult, ResultView};

/// A tool that is offered. It stays readable when its plugin is gone; its code does not run any more then.
pub struct RegisteredTool {
    pub(crate) schema: ToolSchema,
    pub(crate) check: Option<Schema>,
    pub(crate) output: Schema,
    pub(crate) timeout: Option<Duration>,
    pub(crate) idempotent: bool,
    pub(crate) may_be_parallel: bool,
    pub(crate) finalizes: bool,
    /// Of a tool that blocks.
    pub(crate) bodies: Option<Arc<Bodies>>,
    pub(crate) code: Lent<ToolCode>,
}

impl RegisteredTool {
    /// The name that calls use.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.schema.name
    }

    /// What the model is told: name, description and parameters, and nothing else.
    #[must_use]
    pub fn schema(&self) -> &ToolSchema {
        &self.schema
    }

    /// The same, a copy.
    pub(crate) fn schema_copy(&self) -> ToolSchema {
        let ToolSchema { name, description, parameters } = &self.schema;
        let parameters = parameters.iter().map(|(key, value)| (key.clone(), schema::copy(value)));
        ToolSchema { name: name.clone(), description: description.clone(), parameters: parameters.collect() }
    }

    /// The schema of the value that the body gives.
    #[must_use]
    pub fn output(&self) -> &Arc<Value> {
        self.output.raw()
    }

    /// How long a body may run; see [`ToolDefinition::timeout`](crate::ToolDefinition::timeout).
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// Whether the body may be run again; see [`ToolDefinition::idempotent`](crate::ToolDefinition::idempotent).
    #[must_use]
    pub fn is_idempotent(&self) -> bool {
        self.idempotent
    }

    /// Whether there are arguments for which the tool says that its body may run beside others; see
    /// [`is_parallel`](Self::is_parallel).
    #[must_use]
    pub fn may_be_parallel(&self) -> bool {
        self.may_be_parallel
    }

    /// Whether the body blocks a thread of its own.
    #[must_use]
    pub fn is_blocking(&self) -> bool {
        self.bodies.is_some()
    }

    /// The plugin that offers it, as reports name it.
    #[must_use]
    pub fn plugin(&self) -> String {
        self.code.owner()
    }

    /// Whether the body may run beside others of the same batch. A tool that does not say so, does not take the arguments,
    /// breaks, or is gone, runs alone.
    #[must_use]
    pub fn is_parallel(&self, arguments: &Value) -> bool {
        if !self.takes(arguments) {
            return false;
        }
        let parallel =
            self.code.call(|code| code.parallel.as_ref().is_some_and(|parallel| parallel(arguments)));
        parallel.unwrap_or(false)
    }

    /// How a user interface may show a call; none where the tool says nothing, does not take the arguments, breaks, or is
    /// gone.
    #[must_use]
    pub fn present_call(&self, arguments: &Value) -> Option<CallView> {
        if !self.takes(arguments) {
            return None;
        }
        self.code.call(|code| code.present_call.as_ref()?(arguments)).ok().flatten()
    }

    /// How a user interface may show a result; none where the tool says nothing, does not take the arguments, breaks, or
    /// is gone.
    #[must_use]
    pub fn present_result(&self, arguments: &Value, result: LoggedResult<'_>) -> Option<ResultView> {
        if !self.takes(arguments) {
            return None;
        }
        self.code.call(|code| code.present_result.as_ref()?(arguments, result)).ok().flatten()
    }

    /// What the arguments violate, where the tool has them checked.
    pub(crate) fn violations(&self, arguments: &Value) -> Vec<String> {
        self.check.as_ref().map_or_else(Vec::new, |schema| schema.violations(Schema::ARGUMENTS, arguments))
    }

    /// Whether the arguments are what the tool takes, where it has them checked.
    fn takes(&self, arguments: &Value) -> bool {
        self.check.as_ref().is_none_or(|schema| schema.accepts(arguments))
    }

    /// Whether the plugin has taken the tool back.
    pub(crate) fn is_gone(refused: &Refused) -> bool {
        matches!(refused, Refused::Gone { .. })
    }
}

impl Drop for RegisteredTool {
    /// Parameters may be of any depth.
    fn drop(&mut self) {
        schema::dismantle(Value::Object(std::mem::take(&mut self.schema.parameters)));
    }
}

impl fmt::Debug for RegisteredTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegisteredTool")
            .field("name", &self.schema.name)
            .field("plugin", &self.plugin())
            .finish_non_exhaustive()
    }
}
