//! The tool `run_code`: it runs a program, and the program calls the other tools.

use std::sync::Arc;

use cordis::{Context, Inactive, chain};
use dsh_llm::{ContentBlock, ToolSchema};
use serde_json::{Map, Value, json};

use crate::code::{Body, ToolCode};
use crate::code_mode::flavour::{Flavour, PresentationError, runtime};
use crate::code_mode::namespace::{BindingFailure, Namespace};
use crate::code_mode::rendering::rendered;
use crate::code_mode::seam::{CodeFailure, CodeOutcome, CodeRequest};
use crate::error::{ErrorInfo, ToolError};
use crate::mode::RUN_CODE;
use crate::nested::{self, Lane};
use crate::registered::RegisteredTool;
use crate::run::ToolRun;
use crate::runtime::Shared;
use crate::schema::{Schema, SchemaError};
use crate::views::{CallView, ViewKind};

/// The global under which a program finds the tools.
const TOOLS: &str = "tools";
/// The class of the errors that failed calls raise in a program.
const ERROR_CLASS: &str = "ToolCallError";
/// The member of such an error that tells the tool.
const ERROR_MEMBER: &str = "toolName";

/// `run_code` in each language. All are one tool: only what the model reads differs.
pub(crate) struct Transport {
    ctx: Context,
    typescript: Arc<RegisteredTool>,
    python: Arc<RegisteredTool>,
}

impl Transport {
    /// The tool of a registry, whose code `ctx` lends.
    pub(crate) fn new(ctx: &Context, shared: &Arc<Shared>) -> Result<Self, TransportError> {
        let (_, code) = ctx.lend(format!("tool {RUN_CODE:?}"), code(ctx, shared))?;
        let tool = |flavour: Flavour| {
            let parameters = parameters(flavour);
            let check = Schema::new(Value::Object(parameters.clone()))?;
            let (name, description) = (RUN_CODE.to_owned(), flavour.description().to_owned());
            Ok::<_, SchemaError>(Arc::new(RegisteredTool {
                schema: ToolSchema { name, description, parameters },
                check: Some(check),
                output: Schema::new(output())?,
                timeout: None,
                idempotent: false,
                may_be_parallel: false,
                finalizes: false,
                bodies: None,
                code: code.clone(),
            }))
        };
        Ok(Self { ctx: ctx.clone(), typescript: tool(Flavour::TypeScript)?, python: tool(Flavour::Python)? })
    }

    /// The context in which the runtime is looked for.
    pub(crate) fn ctx(&self) -> &Context {
        &self.ctx
    }

    /// The tool as the runtime that there is wants it described.
    pub(crate) fn current(&self) -> Arc<RegisteredTool> {
        Arc::clone(match Flavour::current(&self.ctx) {
            Flavour::TypeScript => &self.typescript,
            Flavour::Python => &self.python,
        })
    }
}

/// `run_code` could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TransportError {
    #[error(transparent)]
    Inactive(#[from] Inactive),
    #[error(transparent)]
    Schema(#[from] SchemaError),
}

fn parameters(flavour: Flavour) -> Map<String, Value> {
    let description = "What the program does, in 5 to 10 words and the active voice, for the user interface. Examples: \
                       \"List the tests that failed\"; \"Replace the old name in all modules\".";
    let properties = json!({
        "code": { "type": "string", "description": flavour.code() },
        "description": { "type": "string", "description": description },
    });
    let mut parameters = Map::new();
    parameters.insert("type".to_owned(), "object".into());
    parameters.insert("properties".to_owned(), properties);
    parameters.insert("required".to_owned(), json!(["code", "description"]));
    parameters
}

fn output() -> Value {
    json!({
        "type": "object",
        "properties": { "logs": { "type": "array", "items": { "type": "string" } }, "result": {} },
        "required": ["logs"],
        "additionalProperties": false,
    })
}

fn code(ctx: &Context, shared: &Arc<Shared>) -> ToolCode {
    let (ctx, shared) = (ctx.clone(), Arc::clone(shared));
    let mut code = ToolCode::new(Body::Async(Box::new(move |arguments, run| {
        let (ctx, shared) = (ctx.clone(), Arc::clone(&shared));
        Box::pin(async move { body(&ctx, &shared, &arguments, &run).await })
    })));
    code.render = Some(Box::new(|_, value| Ok(vec![ContentBlock::text(rendered(value))])));
    code.present_call = Some(Box::new(|arguments| {
        let title = arguments.get("description")?.as_str()?.to_owned();
        let raw_input = Some(arguments.get("code").filter(|code| code.is_string())?.clone());
        let (kind, content, locations) = (Some(ViewKind::Execute), Vec::new(), Vec::new());
        Some(CallView::Generic { title, kind, raw_input, content, locations })
    }));
    code
}

async fn body(
    ctx: &Context,
    shared: &Arc<Shared>,
    arguments: &Value,
    run: &ToolRun,
) -> Result<Value, ToolError> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let (program, description) = (text("code"), text("description"));
    if description.trim().is_empty() {
        return Err(ToolError::new("invalid description: expected a non-empty string"));
    }
    let mode = shared.registry.mode(run.scope());
    let runtime = runtime(ctx).ok_or(PresentationError::NoRuntime { mode })?;
    // The set is fixed for the whole run; what is behind a name is looked up anew in each call.
    let functions = shared.registry.offered(run.scope()).into_iter().map(|tool| tool.name().to_owned());
    let functions: Vec<String> = functions.collect();
    let ended = nested::run(shared, run, async move |lane: Lane| {
        let cancellation = lane.cancellation().clone();
        let tools = Namespace::new(TOOLS, functions, move |name, arguments| {
            let call = lane.call(name, arguments);
            Box::pin(async move { call.await.map_err(|error| BindingFailure(error.message)) })
        });
        let tools = tools?.error_class(ERROR_CLASS, ERROR_MEMBER)?;
        let request = CodeRequest::new(program, &cancellation).with(tools)?;
        // A runtime that is gone since is no runtime; one that goes meanwhile ends the run itself.
        let running = runtime.get().map_err(|_| PresentationError::NoRuntime { mode })?.run(request);
        running.await.map_err(|error| ToolError::new(chain(&*error)))
    });
    match ended.await? {
        CodeOutcome { logs, ended: Ok(None) } => Ok(json!({ "logs": logs })),
        CodeOutcome { logs, ended: Ok(Some(result)) } => {
            let mut value = Map::new();
            value.insert("logs".to_owned(), logs.into());
            value.insert("result".to_owned(), result);
            Ok(Value::Object(value))
        }
        CodeOutcome { logs, ended: Err(failure) } => Err(failed(&logs, &failure)),
    }
}

fn failed(logs: &[String], failure: &CodeFailure) -> ToolError {
    let CodeFailure { kind, message } = failure;
    let mut text = format!("code run failed ({kind}): {message}");
    if !logs.is_empty() {
        text.push_str("\nCaptured output:\n");
        text.push_str(&logs.join("\n"));
    }
    ToolError::new(text).coded(ErrorInfo::CODE_RUN_FAILED)
}
