//! The plugin's configuration.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Nothing: there is one way to count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Config {}
