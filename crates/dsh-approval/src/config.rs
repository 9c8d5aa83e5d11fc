//! The plugin's configuration.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::policy::ApprovalPolicy;

/// What holds for sessions whose log says nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Config {
    /// The policy; `ask` unless it is given.
    pub policy: ApprovalPolicy,
}
