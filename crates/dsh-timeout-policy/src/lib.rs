//! Tool calls end by their tool's deadline, with what they had written until then.
//!
//! A tool says how long a call of it may take ([`ToolDefinition::timeout`]). When that is over the body is told by its
//! cancellation token, and whatever comes of it then, the model reads that the call timed out, after what the body wrote. A
//! body that does not stop is let go by the tools service after its grace time (`bodyGraceMs`), so no body holds a call for
//! longer than the two together.
//!
//! Read `deadline` (what happens around a body), then `config`.
//!
//! **Architecture Invariant:** there is no race of two results. The deadline only cancels, below the caller's own token, and then
//! waits for what is below it like everybody else; so whoever cancels first, caller or deadline, gives the reason.
//!
//! **Architecture Invariant:** what cannot be late costs nothing. A call of a tool without a timeout is handed on as it is,
//! and no timer is made for a body that is ready at once.
//!
//! # Order
//! What is mounted later is inside: its time counts, and it sees the token that the deadline cancels. What is mounted before is
//! outside: a retry policy mounted before this one gives each run a deadline of its own, one mounted after it
//! shares one deadline among all of them.
//!
//! # Examples
//! ```
//! use std::time::Duration;
//!
//! use cordis::App;
//! use dsh_tools::{CallRequest, TOOLS, ToolDefinition, ToolError};
//! use serde_json::json;
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let app = App::new()?;
//! app.plugin(dsh_tools::plugin(), dsh_tools::Config::default())?;
//! app.plugin(dsh_timeout_policy::plugin(), dsh_timeout_policy::Config::default())?.ready().await?;
//!
//! let slow = ToolDefinition::raw("slow", "Takes its time.", json!({ "type": "object" }))
//!     .run(async |_arguments, run| {
//!         run.write("half of it\n");
//!         run.cancellation().cancelled().await;
//!         Err(ToolError::aborted())
//!     })
//!     .timeout(Duration::from_millis(50));
//! let tools = app.get(TOOLS).ok_or("there are no tools")?;
//! tools.get()?.register(&app, slow)?;
//!
//! let outcome = tools.get()?.execute(&app, CallRequest::new("call_1", "slow", "{}")).await;
//! assert_eq!(outcome.code(), Some("TOOL_TIMEOUT"));
//! assert_eq!(outcome.text(), "half of it\nError: tool call timed out after 50ms");
//! # Ok(())
//! # }
//! ```
//!
//! [`ToolDefinition::timeout`]: dsh_tools::ToolDefinition::timeout

mod config;
mod deadline;

use cordis::{BoxError, Context, Handle, Plugin, define};
use dsh_tools::{EXECUTE, TOOLS, ToolRuntime};

pub use config::Config;
pub use deadline::TOOL_TIMEOUT;

use deadline::Deadlines;

cordis::catalog!(plugin);

/// Ends calls by their tools' deadlines.
///
/// A call that its deadline ended fails with [`TOOL_TIMEOUT`]; what the body had written stays in front of the error. A call
/// that its caller, or a listener further out, cancelled first keeps its own outcome. Delays are no longer than
/// [`dsh_tools::MAX_DELAY`].
///
/// Source: the reference's plugin `timeout-policy`.
pub fn plugin() -> impl Plugin<Config = Config> {
    define("timeout-policy").needs(TOOLS).run(apply)
}

async fn apply(ctx: &Context, tools: Handle<ToolRuntime>, config: &Config) -> Result<(), BoxError> {
    let deadlines = Deadlines { tools, default: config.default_timeout() };
    ctx.on(EXECUTE).with(deadlines).run(deadline::limit)?;
    Ok(())
}
