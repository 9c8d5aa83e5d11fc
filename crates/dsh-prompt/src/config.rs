//! The plugin's configuration.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tool_order::ToolOrder;

/// What every prompt holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Config {
    /// Whether agents are told which harness they run in: section `harness:identity`, order -100.
    pub include_harness_identity: bool,
    /// Whether agents are told the runtime context.
    pub include_runtime_context: bool,
    /// Who agents are: section `deployment:persona`, order 0. It may hold variables.
    pub persona: String,
    /// The order in which tools are offered; by name if it is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_order: Option<ToolOrder>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            include_harness_identity: true,
            include_runtime_context: true,
            persona: String::new(),
            tool_order: None,
        }
    }
}
