//! Tool calls that failed for a passing reason are run again, where that does no harm.
//!
//! A call whose failure has one of the configured codes is run again after a wait that doubles each time. A body that was
//! entered is only run again if its tool says that this is as good as running it once ([`ToolDefinition::idempotent`]); a
//! call that failed before, in a policy that prepares it for instance, is run again for any tool.
//!
//! Read `retry` (what happens around a body), then `backoff` (how long it waits) and `config`.
//!
//! **Architecture Invariant:** a run that is repeated leaves nothing behind. Its failure, the output that it wrote, the messages
//! that its body deferred and its wish to end the turn are dropped together; the result is that of the last run alone. Whoever
//! listens to `tools/output` has heard all of them.
//!
//! **Architecture Invariant:** every run is judged. The guards are asked before each of them, so what one refuses meanwhile does not
//! run again.
//!
//! # Order
//! What is mounted later is run again with the body, what is mounted before is not. Mounted before a timeout policy, each run
//! has a deadline of its own, and a run that was late can be repeated; mounted after it, all runs and waits share one
//! deadline, which ends a wait as well.
//!
//! **Architecture Invariant:** no run is begun beside another one. Where a body that was let go runs still, the failure stands,
//! whatever its code.
//!
//! # Examples
//! ```
//! use cordis::App;
//! use dsh_retry_policy::Config;
//! use dsh_tools::{CallRequest, ErrorInfo, TOOLS, ToolDefinition, ToolError};
//! use serde_json::json;
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicU32, Ordering};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let app = App::new()?;
//! app.plugin(dsh_tools::plugin(), dsh_tools::Config::default())?;
//! app.plugin(dsh_retry_policy::plugin(), Config::default())?.ready().await?;
//!
//! let runs = Arc::new(AtomicU32::new(0));
//! let flaky = ToolDefinition::raw("flaky", "Works the second time.", json!({ "type": "object" }))
//!     .run(move |_arguments, _run| {
//!         let run = runs.fetch_add(1, Ordering::Relaxed) + 1;
//!         async move {
//!             match run {
//!                 1 => Err(ToolError::new("the connection was reset").coded(ErrorInfo::fixed("NetError", "TRANSPORT"))),
//!                 run => Ok(json!(format!("run {run}"))),
//!             }
//!         }
//!     })
//!     .idempotent();
//! let tools = app.get(TOOLS).ok_or("there are no tools")?;
//! tools.get()?.register(&app, flaky)?;
//!
//! let outcome = tools.get()?.execute(&app, CallRequest::new("call_1", "flaky", "{}")).await;
//! assert_eq!(outcome.text(), "run 2");
//! # Ok(())
//! # }
//! ```
//!
//! [`ToolDefinition::idempotent`]: dsh_tools::ToolDefinition::idempotent

mod backoff;
mod config;
mod retry;

use cordis::{BoxError, Context, Handle, Plugin, define};
use dsh_tools::{EXECUTE, TOOLS, ToolRuntime};

pub use config::{Config, ConfigError, DEFAULT_CODES};

use retry::Retries;

cordis::catalog!(plugin);

/// Runs calls again that failed for a passing reason.
///
/// A failure that stands, because nothing of it is configured, the body must not be run again, or the runs are used up, is
/// given as it is. Cancellation of the call, and unloading of the plugin, end a wait at once; the failure stands then.
///
/// Source: ours, with the arithmetic of the reference's `llm-retry`.
pub fn plugin() -> impl Plugin<Config = Config> {
    define("retry-policy").needs(TOOLS).validate(|config: &Config| Ok(config.check()?)).run(apply)
}

async fn apply(ctx: &Context, tools: Handle<ToolRuntime>, config: &Config) -> Result<(), BoxError> {
    ctx.on(EXECUTE).with(Retries::new(ctx.clone(), tools, config)).run(retry::repeat)?;
    Ok(())
}
