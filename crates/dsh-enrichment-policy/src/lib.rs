//! Tool calls carry a trace id, who stands behind them and when they began.
//!
//! A [`TraceId`], a [`Caller`] and a [`CallTime`] are put into the call's [`RunContext`], where policies and bodies read
//! them. A call that brings a trace id or a caller keeps it, and so does a nested call what the outer one had; the time is each
//! call's own.
//!
//! Read `trace_id`, `call_time` and `config`, then `enrich` (what a call is given).
//!
//! **Architecture Invariant:** a model neither sees nor writes any of it. The values travel beside the arguments, never in
//! them, and neither the log nor a result has them unless a tool puts them there.
//!
//! # Order
//! The plugin listens in front of the policies that are there when it is mounted, and all guards come later, so they find what it
//! puts in. A call whose arguments cannot be read ends before any policy and has none of it.
//!
//! # Examples
//! ```
//! use cordis::App;
//! use dsh_enrichment_policy::{Config, TraceId};
//! use dsh_tools::{CallRequest, TOOLS, ToolDefinition, ToolError};
//! use serde_json::json;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let app = App::new()?;
//! app.plugin(dsh_tools::plugin(), dsh_tools::Config::default())?;
//! app.plugin(dsh_enrichment_policy::plugin(), Config::default())?.ready().await?;
//!
//! let tools = app.get(TOOLS).ok_or("there are no tools")?;
//! let fetch = ToolDefinition::raw("fetch", "Asks a server.", json!({ "type": "object" })).run(async |_arguments, run| {
//!     let trace = run.context().get::<TraceId>().ok_or_else(|| ToolError::new("the call has no trace id"))?;
//!     Ok(json!(format!("sent with trace-id {trace}")))
//! });
//! tools.get()?.register(&app, fetch)?;
//!
//! let mine: TraceId = "4bf92f3577b34da6a3ce929d0e0e4736".parse()?;
//! let call = CallRequest::new("call_1", "fetch", "{}").with(mine);
//! assert_eq!(tools.get()?.execute(&app, call).await.text(), "sent with trace-id 4bf92f3577b34da6a3ce929d0e0e4736");
//! # Ok(())
//! # }
//! ```
//!
//! [`Caller`]: dsh_tools::Caller
//! [`RunContext`]: dsh_tools::RunContext

mod call_time;
mod config;
mod enrich;
mod trace_id;

use cordis::{BoxError, Context, Plugin, define};
use dsh_tools::PRE_EXECUTE;

pub use call_time::CallTime;
pub use config::{CallerConfig, Config, ConfigError};
pub use trace_id::{InvalidTraceId, TraceId};

cordis::catalog!(plugin);

/// Puts a trace id, a caller and the time into tool calls: into all of them, or those of the scope that it is mounted in.
///
/// Source: ours.
pub fn plugin() -> impl Plugin<Config = Config> {
    define("enrichment-policy").validate(|config: &Config| Ok(config.check()?)).run(apply)
}

async fn apply(ctx: &Context, (): (), config: &Config) -> Result<(), BoxError> {
    ctx.on(PRE_EXECUTE).prepend().with(config.clone()).run(enrich::enrich)?;
    Ok(())
}
