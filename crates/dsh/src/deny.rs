//! A plugin that refuses calls by the tool's name.

use cordis::{BoxError, Context, Handle, Plugin, define};
use dsh_tools::{TOOLS, ToolCall, ToolRuntime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

cordis::catalog!(plugin);

/// The plugin's name.
pub(crate) const NAME: &str = "deny-tools";

/// Which tools are refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Config {
    /// The names of the tools.
    pub(crate) tools: Vec<String>,
}

/// Refuses calls of some tools, for every agent or for the agent whose context the plugin is mounted on.
pub(crate) fn plugin() -> impl Plugin<Config = Config> {
    define(NAME).needs(TOOLS).run(apply)
}

async fn apply(ctx: &Context, tools: Handle<ToolRuntime>, config: &Config) -> Result<(), BoxError> {
    let denied = config.tools.clone();
    tools.get()?.guard(ctx, move |call: &ToolCall| {
        let name = call.name();
        denied.iter().any(|tool| tool == name).then(|| format!("tool \"{name}\" is denied here"))
    })?;
    Ok(())
}
