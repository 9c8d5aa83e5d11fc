//! Tool calls are traced, counted and timed.
//!
//! Each execution has a span, and each call is counted once, when what came of it is told: by its tool and by how it ended.
//! Other plugins read the figures through [`METRICS`].
//!
//! Read `keys`, `series` (what a call counts as), `durations`, `metrics` (where it is counted) with `snapshot` (how it is read),
//! then `watch` (the listeners).
//!
//! **Architecture Invariant:** what a model writes cannot make the figures grow. A tool's name is one of them only if the caller is
//! offered a tool of that name; all others are one row. There are at most [`Config::max_series`] rows and one more, which
//! counts what has none of its own.
//!
//! # Order
//! The execution is timed in front of the listeners that are there when the plugin is mounted, so their waits and repeated
//! runs are part of one duration. Calls that end before their execution begins (arguments that cannot be read, denials,
//! cancellations) have no span and no duration; they are counted all the same.
//!
//! # Limits
//! A call whose future is dropped, and one of a cancelled batch that was never started, are not told to `tools/result`, and so
//! not counted. What a body records is in the span of its plugin, not in that of the call; `call` and `root` tell what
//! belongs together.
//!
//! # Examples
//! ```
//! use cordis::App;
//! use dsh_metrics_policy::{CallCode, Config, METRICS, ToolLabel};
//! use dsh_tools::{CallRequest, TOOLS, ToolDefinition};
//! use serde_json::json;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let app = App::new()?;
//! app.plugin(dsh_tools::plugin(), dsh_tools::Config::default())?;
//! app.plugin(dsh_metrics_policy::plugin(), Config::default())?.ready().await?;
//!
//! let tools = app.get(TOOLS).ok_or("there are no tools")?;
//! let now = ToolDefinition::raw("now", "Tells the time.", json!({ "type": "object" }))
//!     .run(async |_arguments, _run| Ok(json!("noon")));
//! tools.get()?.register(&app, now)?;
//! for name in ["now", "now", "then"] {
//!     tools.get()?.execute(&app, CallRequest::new("call_1", name, "{}")).await;
//! }
//!
//! let snapshot = app.get(METRICS).ok_or("there are no metrics")?.get()?.snapshot();
//! assert_eq!(snapshot.calls_of(&ToolLabel::Named("now".into()), &CallCode::Success), 2);
//! assert_eq!(snapshot.calls_of(&ToolLabel::Unknown, &CallCode::Coded("UNKNOWN_TOOL".into())), 1);
//! println!("{snapshot}");
//! # Ok(())
//! # }
//! ```

mod config;
mod durations;
pub mod keys;
mod metrics;
mod series;
mod snapshot;
mod watch;

use std::sync::Arc;

use cordis::{BoxError, Context, Handle, Plugin, define};
use dsh_tools::{EXECUTE, RESULT, TOOLS, ToolRuntime};

pub use config::Config;
pub use durations::{BUCKETS_MS, Durations};
pub use keys::METRICS;
pub use metrics::Metrics;
pub use series::{CallCode, ToolLabel};
pub use snapshot::{Series, Snapshot};

use watch::Counter;

cordis::catalog!(plugin);

/// Provides [`METRICS`], and traces and counts tool calls: all of them, or those of the scope that it is mounted in.
///
/// A span `tool_call` has the fields `tool`, `call`, `root` and, for a call of an agent, `agent`; when the execution ends,
/// `code` and `duration_ms` are added. They are missing if a listener panicked or the call was dropped.
///
/// Source: ours.
pub fn plugin() -> impl Plugin<Config = Config> {
    define("metrics-policy").needs(TOOLS).provides(METRICS).run(apply)
}

async fn apply(ctx: &Context, tools: Handle<ToolRuntime>, config: &Config) -> Result<(), BoxError> {
    let metrics = Arc::new(Metrics::new(config.max_series));
    ctx.on(EXECUTE).prepend().run(watch::execution)?;
    ctx.on(RESULT).with(Counter { metrics: metrics.clone(), tools }).run(watch::result)?;
    ctx.provide(METRICS, metrics)?;
    Ok(())
}
