//! How tools are presented to the model: each by itself, or together through programs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The reserved tool through which programs reach the others.
pub const RUN_CODE: &str = "run_code";

/// How tools are presented to the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Each tool can be called directly.
    #[default]
    Native,
    /// Only `run_code` can be called directly; programs reach the rest.
    Code,
    /// Both ways.
    Both,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Native => "native",
            Self::Code => "code",
            Self::Both => "both",
        })
    }
}
