//! Tools are called only by those whose role allows it.
//!
//! The role of a call is that of its [`Caller`], which whoever makes the call or another policy has put into its
//! [`RunContext`]; a call without one has the role that the configuration gives to its agent. A role lists the tools that
//! it may call. Whatever is not allowed is denied: a tool that the role does not list, a role that is not configured, a
//! call of nobody.
//!
//! Read `config`, then `roles` (what a call is told).
//!
//! **Architecture Invariant:** the check is a guard, not a listener. Guards can only narrow and are asked last, so no listener, no
//! approval and no order of mounting lets a call through that its role forbids. A nested call is checked like any other,
//! as a call of the caller of the outer one.
//!
//! # Limits
//! The role is taken from the call as it is: whoever can put a [`Caller`] into a call decides its role. That is the host and its
//! plugins, never a model.
//!
//! # Examples
//! ```
//! use cordis::App;
//! use dsh_role_policy::Config;
//! use dsh_tools::{Caller, CallRequest, TOOLS, ToolDefinition};
//! use serde_json::json;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let app = App::new()?;
//! app.plugin(dsh_tools::plugin(), dsh_tools::Config::default())?;
//! let config: Config = serde_json::from_value(json!({ "roles": { "owner": ["*"], "reader": ["read"] } }))?;
//! app.plugin(dsh_role_policy::plugin(), config)?.ready().await?;
//!
//! let tools = app.get(TOOLS).ok_or("there are no tools")?;
//! let write = ToolDefinition::raw("write", "Writes a file.", json!({ "type": "object" }))
//!     .run(async |_arguments, _run| Ok(json!("written")));
//! tools.get()?.register(&app, write)?;
//!
//! let call = |role: &str| {
//!     let caller = Caller { id: "u1".into(), name: "Ada".into(), role: role.into() };
//!     CallRequest::new("call_1", "write", "{}").with(caller)
//! };
//! assert_eq!(tools.get()?.execute(&app, call("owner")).await.text(), "written");
//! assert!(tools.get()?.execute(&app, call("reader")).await.is_denied());
//! # Ok(())
//! # }
//! ```
//!
//! [`Caller`]: dsh_tools::Caller
//! [`RunContext`]: dsh_tools::RunContext

mod config;
mod roles;

use cordis::{BoxError, Context, Handle, Plugin, define};
use dsh_tools::{TOOLS, ToolRuntime};

pub use config::{Config, ConfigError};

use roles::Roles;

cordis::catalog!(plugin);

/// Denies tool calls that the caller's role does not allow: all of them, or those of the scope that it is mounted in.
///
/// Source: ours.
pub fn plugin() -> impl Plugin<Config = Config> {
    define("role-policy").needs(TOOLS).validate(|config: &Config| Ok(config.check()?)).run(apply)
}

async fn apply(ctx: &Context, tools: Handle<ToolRuntime>, config: &Config) -> Result<(), BoxError> {
    let roles = Roles::new(config);
    tools.get()?.guard(ctx, move |call| roles.refusal(call))?;
    Ok(())
}
