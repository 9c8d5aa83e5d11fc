//! The tools of agents: who offers them, who guards them, and the one path on which a call is executed.
//!
//! Read `keys`, then `pipeline` (the way of a call from top to bottom), then `registry`.
//!
//! **Architecture Invariant:** there is no second way to a tool's body. Nested calls, batches and replays all come
//! through [`ToolRuntime::execute`], so a guard that refuses a call refuses it everywhere.
//!
//! **Architecture Invariant:** a call cannot be changed on its way. Its name, arguments and scope are what the caller
//! gave; policies and guards can only end it.

mod arguments;
mod body;
mod call;
mod config;
mod decision;
mod guard;
mod keys;
mod outcome;
mod pipeline;
mod registry;
mod runtime;
mod schema;
mod settled;
mod tool;
mod workspace;

use std::sync::Arc;

use cordis::{BoxError, Context, Plugin, define};

pub use arguments::{ArgumentsError, MAX_DEPTH, parse_arguments};
pub use call::{CallRequest, ToolCall};
pub use config::Config;
pub use decision::{PostDecision, PreDecision};
pub use keys::{CHANGE, EXECUTE, POST_EXECUTE, PRE_EXECUTE, RESULT, TOOLS};
pub use outcome::{ErrorInfo, Failure, ToolOutcome};
pub use registry::RegisterError;
pub use runtime::{ToolRuntime, ToolsChange};
pub use settled::Settled;
pub use tool::{Tool, ToolError, ToolRun, ToolSpec};
pub use workspace::{OutsideWorkspace, RelativeWorkspace, Workspace, WorkspacePath};

cordis::catalog!(plugin);

/// Provides [`TOOLS`].
pub fn plugin() -> impl Plugin<Config = Config> {
    define("tools").provides(TOOLS).run(apply)
}

async fn apply(ctx: &Context, (): (), config: &Config) -> Result<(), BoxError> {
    ctx.provide(TOOLS, Arc::new(ToolRuntime::new(config)))?;
    Ok(())
}
