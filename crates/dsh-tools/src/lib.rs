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
