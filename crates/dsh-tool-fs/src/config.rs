//! The plugin's configuration.

use std::path::PathBuf;

use dsh_tools::{RelativeWorkspace, Workspace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::window::Limits;

/// How much of a file is looked at, from its start, to give lines and to count them: a sparse file can be of any size.
pub(crate) const SCANNED_MIB: usize = 64;

/// Which folder is read from, and how much of a file is given at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Config {
    /// The folder that paths are relative to, an absolute path.
    pub workspace: PathBuf,
    /// The path under which the agent knows the folder, if not under its own.
    #[serde(default)]
    pub shown_as: Option<PathBuf>,
    /// How many lines one call gives at most.
    #[serde(default = "defaults::read_limit")]
    pub read_limit: usize,
    /// How many characters of a line are given.
    #[serde(default = "defaults::read_max_line_length")]
    pub read_max_line_length: usize,
    /// How many bytes of text one call gives at most.
    #[serde(default = "defaults::read_max_bytes")]
    pub read_max_bytes: usize,
}

mod defaults {
    pub(super) fn read_limit() -> usize {
        2_000
    }

    pub(super) fn read_max_line_length() -> usize {
        2_000
    }

    pub(super) fn read_max_bytes() -> usize {
        51_200
    }
}

impl Config {
    /// The defaults for files in `workspace`.
    #[must_use]
    pub fn new(workspace: impl Into<PathBuf>) -> Self {
        Self {
            workspace: workspace.into(),
            shown_as: None,
            read_limit: defaults::read_limit(),
            read_max_line_length: defaults::read_max_line_length(),
            read_max_bytes: defaults::read_max_bytes(),
        }
    }

    pub(crate) fn workspace(&self) -> Result<Workspace, RelativeWorkspace> {
        Workspace::new(&self.workspace, self.shown_as.as_deref())
    }

    pub(crate) fn limits(&self) -> Limits {
        Limits {
            max_line_chars: self.read_max_line_length,
            max_bytes: self.read_max_bytes,
            max_scanned: SCANNED_MIB * 1024 * 1024,
        }
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        self.workspace().map_err(|reason| ConfigError::Workspace { reason })?;
        for (field, value) in [
            ("readLimit", self.read_limit),
            ("readMaxLineLength", self.read_max_line_length),
            ("readMaxBytes", self.read_max_bytes),
        ] {
            if value == 0 {
                return Err(ConfigError::Zero { field });
            }
        }
        Ok(())
    }
}

/// Why a configuration is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The workspace is none.
    #[error("tool-fs: {reason}")]
    Workspace {
        /// What is wrong with it.
        reason: RelativeWorkspace,
    },
    /// A limit would let nothing through.
    #[error("tool-fs: `{field}` must be a positive number")]
    Zero {
        /// The field.
        field: &'static str,
    },
}
