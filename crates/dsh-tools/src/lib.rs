//! The tools of agents: who offers them, who guards them, and the one path on which a call is executed.
//!
//! Read `keys`, then `pipeline` (the way of a call from top to bottom), then `registry`; for programs that call tools,
//! `nested`, `code_mode` and `prompt`.
//!
//! **Architecture Invariant:** there is no second way to a tool's body. Single calls, batches and nested calls go through
//! the same three phases of `pipeline`, so a guard that refuses a call refuses it everywhere.
//!
//! **Architecture Invariant:** a call cannot be changed behind anybody's back. Its name and scope are what the caller gave. A
//! policy may give it other arguments before guards are asked, and then all is judged from the beginning with them: who
//! allowed the old ones has allowed nothing.
//!
//! # Examples
//! ```
//! use cordis::App;
//! use dsh_tools::{CallRequest, TOOLS, ToolError, ToolRun, tool};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Sum {
//!     /// What is added.
//!     numbers: Vec<f64>,
//! }
//!
//! async fn sum(sum: Sum, _run: ToolRun) -> Result<f64, ToolError> {
//!     Ok(sum.numbers.iter().sum())
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! let app = App::new()?;
//! app.plugin(dsh_tools::plugin(), dsh_tools::Config::default())?.ready().await?;
//! let tools = app.get(TOOLS).ok_or("no tools")?;
//! tools.get()?.register(&app, tool("sum", "Adds numbers.").run(sum))?;
//! let call = |arguments: &str| CallRequest::new("call_1", "sum", arguments);
//! assert_eq!(tools.get()?.execute(&app, call(r#"{"numbers": [1, 2]}"#)).await.text(), "3.0");
//!
//! // Nothing overrules a guard.
//! let guard = tools.get()?.guard(&app, |call| (call.name() == "sum").then(|| "not today".to_owned()))?;
//! assert!(tools.get()?.execute(&app, call(r#"{"numbers": [1, 2]}"#)).await.is_denied());
//! guard.dispose().await;
//! assert_eq!(tools.get()?.execute(&app, call("{}")).await.code(), Some("INVALID_ARGS"));
//! # Ok(())
//! # }
//! ```

mod keys;

mod arguments;
mod clamp;
mod given;
mod schema;

mod content;
mod error;
mod outcome;
mod views;

mod code;
mod definition;
mod registered;
mod tool_types;
mod typed;

mod call;
mod progress;
mod run;
mod run_context;

mod guard;
mod mode;
mod register_error;
mod registry;
mod restriction;
mod view;

mod approval;
mod bodies;
mod decision;
mod dispatch;
mod normalize;
mod pipeline;
mod settled;
mod threads;

mod batch;
mod flights;
mod nested;

mod code_mode;
mod prompt;
mod sdk;

mod config;
mod runtime;
mod workspace;

use std::sync::Arc;

use cordis::{BoxError, Context, Plugin, define};

pub use arguments::{ArgumentsError, MAX_DEPTH, parse_arguments, read_arguments};
pub use batch::{Batch, BatchError, ExecutionMode, ModelCall};
pub use call::{CallRequest, CallToken, ToolCall};
pub use clamp::{MAX_DELAY, NotPositive, clamp_timeout};
pub use code_mode::{
    BindingError, BindingFailure, BindingFuture, CodeFailure, CodeFailureKind, CodeOutcome, CodeRequest,
    CodeRuntime, ErrorClass, Namespace, PresentationError, is_reserved_error_member, is_reserved_global,
    is_usable_identifier,
};
pub use config::{Config, ConfigError};
pub use decision::{PostDecision, PreDecision, Replacement};
pub use definition::{RawTool, ToolDefinition};
pub use error::{ErrorInfo, Failure, ToolError};
pub use given::{Arguments, GivenArguments, LossyArguments};
pub use keys::{
    CHANGE, CODE_DISPATCH_LOG, CODE_RUNTIME, EXECUTE, OUTPUT, POST_EXECUTE, PRE_EXECUTE, RESULT, TOOLS,
};
pub use mode::{Mode, RUN_CODE};
pub use nested::{CodeDispatch, CodeDispatchLog, CodeDispatchStart, Lane, NestedError, SubCall};
pub use outcome::ToolOutcome;
pub use register_error::RegisterError;
pub use registered::RegisteredTool;
pub use restriction::Restriction;
pub use run::{ToolOutput, ToolRun};
pub use run_context::{Caller, RunContext};
pub use runtime::{BlockingThreads, ToolRuntime, ToolsChange};
pub use schema::{Schema, SchemaError, compile_parameters, compile_value, dismantle, is_lossless};
pub use settled::Settled;
pub use tool_types::{ToolArguments, ToolValue};
pub use typed::{ToolBuilder, TypedTool, tool};
pub use views::{
    CallView, FileDiff, Found, FoundFile, FoundLine, Location, LoggedResult, ReadLine, ResultView,
    TerminalEnd, ViewKind, Web, WebSource, title,
};
pub use workspace::{OutsideWorkspace, RelativeWorkspace, Workspace, WorkspacePath};

cordis::catalog!(plugin);

/// Provides [`TOOLS`], and tells prompts of the tools while there is a system prompt.
pub fn plugin() -> impl Plugin<Config = Config> {
    define("tools").provides(TOOLS).validate(|config: &Config| Ok(config.check()?)).run(apply)
}

async fn apply(ctx: &Context, (): (), config: &Config) -> Result<(), BoxError> {
    let runtime = Arc::new(ToolRuntime::new(config));
    runtime.offer_programs(ctx)?;
    ctx.provide(TOOLS, Arc::clone(&runtime))?;
    ctx.plugin(prompt::plugin(), prompt::Presented::new(runtime.shared()))?;
    Ok(())
}
