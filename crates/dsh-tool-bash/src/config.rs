//! The plugin's configuration.

use std::path::PathBuf;
use std::time::Duration;

use dsh_tools::{RelativeWorkspace, Workspace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where commands run, and what they may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Config {
    /// The folder that commands run in, an absolute path.
    pub workspace: PathBuf,
    /// The path under which the agent knows the folder, if not under its own.
    #[serde(default)]
    pub shown_as: Option<PathBuf>,
    /// How long a command may run if the call does not say.
    #[serde(default = "defaults::timeout_ms")]
    pub timeout_ms: u64,
    /// How long a command may run whatever the call says.
    #[serde(default = "defaults::max_timeout_ms")]
    pub max_timeout_ms: u64,
    /// How long a command may take to end when it is told to, before it is killed.
    #[serde(default = "defaults::grace_ms")]
    pub grace_ms: u64,
    /// How much of each output stream is kept.
    #[serde(default = "defaults::max_output_bytes")]
    pub max_output_bytes: usize,
}

mod defaults {
    pub(super) fn timeout_ms() -> u64 {
        120_000
    }

    pub(super) fn max_timeout_ms() -> u64 {
        600_000
    }

    pub(super) fn grace_ms() -> u64 {
        3_000
    }

    pub(super) fn max_output_bytes() -> usize {
        64_000
    }
}

impl Config {
    /// The defaults for commands that run in `workspace`.
    #[must_use]
    pub fn new(workspace: impl Into<PathBuf>) -> Self {
        Self {
            workspace: workspace.into(),
            shown_as: None,
            timeout_ms: defaults::timeout_ms(),
            max_timeout_ms: defaults::max_timeout_ms(),
            grace_ms: defaults::grace_ms(),
            max_output_bytes: defaults::max_output_bytes(),
        }
    }

    pub(crate) fn workspace(&self) -> Result<Workspace, RelativeWorkspace> {
        Workspace::new(&self.workspace, self.shown_as.as_deref())
    }

    pub(crate) fn grace(&self) -> Duration {
        Duration::from_millis(self.grace_ms)
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        self.workspace().map_err(|reason| ConfigError::Workspace { reason })?;
        for (field, value) in [
            ("timeoutMs", self.timeout_ms),
            ("maxTimeoutMs", self.max_timeout_ms),
            ("graceMs", self.grace_ms),
        ] {
            if value == 0 || value > MAX_MS {
                return Err(ConfigError::OutOfRange { field, value });
            }
        }
        Ok(())
    }
}

/// The longest time that any of the limits may be.
const MAX_MS: u64 = 2_147_483_647;

/// Why a configuration is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The workspace is none.
    #[error("tool-bash: {reason}")]
    Workspace {
        /// What is wrong with it.
        reason: RelativeWorkspace,
    },
    /// A time is zero or too long.
    #[error("tool-bash: `{field}` must be between 1 and {MAX_MS}, not {value}")]
    OutOfRange {
        /// The field.
        field: &'static str,
        /// Its value.
        value: u64,
    },
}
