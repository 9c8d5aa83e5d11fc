//! The plugin's configuration.

use std::path::PathBuf;

use dsh_tools::{RelativeWorkspace, Workspace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Where commands run, and whether they may run in the background. How long they may run and how much of their output is
/// kept is the shell's business.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Config {
    /// The folder that commands run in, an absolute path, which no call can name a way out of. Without it they run in the
    /// folder of the agent's session, or wherever a call says.
    pub workspace: Option<PathBuf>,
    /// The path under which the agent knows the workspace, if not under its own.
    pub shown_as: Option<PathBuf>,
    /// Whether a command may run in the background.
    pub enable_run_in_background: bool,
}

/// Why a configuration is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The workspace is none.
    #[error("tool-bash: {reason}")]
    Workspace {
        /// What is wrong with it.
        reason: RelativeWorkspace,
    },
    /// A name for a workspace that there is not.
    #[error("tool-bash: `shownAs` is another name for `workspace`, which is missing")]
    NoWorkspace,
}

impl Default for Config {
    fn default() -> Self {
        Self { workspace: None, shown_as: None, enable_run_in_background: true }
    }
}

impl Config {
    /// The defaults for commands that run in `workspace`.
    #[must_use]
    pub fn new(workspace: impl Into<PathBuf>) -> Self {
        Self { workspace: Some(workspace.into()), ..Self::default() }
    }

    /// The workspace, if there is one.
    pub(crate) fn workspace(&self) -> Result<Option<Workspace>, ConfigError> {
        match (&self.workspace, &self.shown_as) {
            (None, None) => Ok(None),
            (None, Some(_)) => Err(ConfigError::NoWorkspace),
            (Some(root), shown_as) => Workspace::new(root, shown_as.as_deref())
                .map(Some)
                .map_err(|reason| ConfigError::Workspace { reason }),
        }
    }
}
