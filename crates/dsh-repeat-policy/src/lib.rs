//! A model that repeats the same tool call is told so.
//!
//! Calls of an agent are counted as long as each is the same as the one before it: the same tool and the same arguments,
//! whatever the order of their keys. When the count reaches a threshold, a message that says so joins the conversation right
//! after the result: a short hint the first time, a detailed one later. What the user says ends the count.
//!
//! Read `config`, `pattern` (which tools count), `canonical` (when arguments are the same) and `chains` (the count), then
//! `texts` (what the model is told) and `remind` (the listeners).
//!
//! **Architecture Invariant:** a reminder is advice. No call is refused, delayed or changed, and no result is.
//!
//! **Architecture Invariant:** nothing of an agent is kept alive. Its count goes with it.
//!
//! # Examples
//! ```
//! use cordis::App;
//! use dsh_agent::testing::agent;
//! use dsh_repeat_policy::Config;
//! use dsh_session::{CreateSession, SessionStore};
//! use dsh_tools::{CallRequest, TOOLS, ToolDefinition};
//! use serde_json::json;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let app = App::new()?;
//! app.plugin(dsh_tools::plugin(), dsh_tools::Config::default())?;
//! app.plugin(dsh_repeat_policy::plugin(), Config { thresholds: vec![2], ..Config::default() })?.ready().await?;
//!
//! let tools = app.get(TOOLS).ok_or("there are no tools")?;
//! let look = ToolDefinition::raw("look", "Looks around.", json!({ "type": "object" }))
//!     .run(async |_arguments, _run| Ok(json!("nothing new")));
//! tools.get()?.register(&app, look)?;
//!
//! let (ada, _inbox) = agent(&app, SessionStore::new().create(&app, CreateSession::default())?)?;
//! let call = |id: &str| CallRequest::new(id, "look", "{}").agent(&ada);
//! let first = tools.get()?.execute(&app, call("call_1")).await;
//! let second = tools.get()?.execute(&app, call("call_2")).await;
//! assert!(first.additional_contexts().is_empty());
//! assert_eq!(second.text(), "nothing new");
//! assert_eq!(second.additional_contexts().len(), 1);
//! # Ok(())
//! # }
//! ```

mod canonical;
mod chains;
mod config;
mod pattern;
mod remind;
mod texts;

use std::sync::Arc;

use cordis::{BoxError, Context, Handle, Plugin, define};
use dsh_agent::{Agent, DISPOSED, PRE_STEP};
use dsh_tools::{POST_EXECUTE, TOOLS, ToolRuntime};

pub use config::{Config, ConfigError};

use remind::Reminder;

cordis::catalog!(plugin);

/// The plugin's name, which is also that of the source of its messages.
pub(crate) const NAME: &str = "repeat-tool-reminder";

/// Reminds agents that repeat a call: all of them, or those of the scope that it is mounted in.
///
/// Every call of an agent counts for which [`POST_EXECUTE`] is asked, denied and nested ones included; calls of no agent do
/// not. The message comes before those of other listeners; its source is a notice of this plugin.
///
/// Source: plugin `repeat-tool-reminder`.
pub fn plugin() -> impl Plugin<Config = Config> {
    define(NAME).needs(TOOLS).validate(|config: &Config| Ok(config.check()?)).run(apply)
}

async fn apply(ctx: &Context, _tools: Handle<ToolRuntime>, config: &Config) -> Result<(), BoxError> {
    let reminder = Arc::new(Reminder::new(config));
    ctx.on(POST_EXECUTE).with(reminder.clone()).run(remind::after_call)?;
    ctx.on(PRE_STEP).with(reminder.clone()).run(remind::before_step)?;
    ctx.on(DISPOSED).with(reminder).run(|reminder: &Arc<Reminder>, agent: &Agent| reminder.forget(agent))?;
    Ok(())
}
