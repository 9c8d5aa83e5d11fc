//! The plugin's configuration.

use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;

use dsh_hooks::bridge::{
    BadSummaryLength, BridgeOptions, Grammar, default_timeout_ms, max_stop_blocks, stderr_summary_max_chars,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::NAME;
use crate::dialect;

/// Which hooks run, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Config {
    /// The file with the hooks: the settings of Claude Code, or what they have at `hooks`. It is read when the plugin loads;
    /// others are not looked for.
    pub config_path: PathBuf,
    /// Whether the plugin fails to load if the file cannot be used or no hook of it runs. Without it a warning says so, and
    /// everything goes on without hooks.
    #[serde(default)]
    pub required: bool,
    /// What hooks find as the variable `CLAUDE_PLUGIN_ROOT`. Commands may have it as `${CLAUDE_PLUGIN_ROOT}`, within single
    /// quotes too.
    #[serde(default)]
    pub plugin_root: Option<String>,
    /// What hooks find as the variable `CLAUDE_PROJECT_DIR`, likewise. Without it they find the folder of their session there,
    /// but not within single quotes.
    #[serde(default)]
    pub project_dir: Option<String>,
    /// How long a hook may run that does not say so itself, in milliseconds.
    #[serde(default = "dsh_hooks::bridge::default_timeout_ms")]
    pub default_timeout_ms: NonZeroU64,
    /// How many characters of a hook's errors are logged, at least 1.
    #[serde(default = "dsh_hooks::bridge::stderr_summary_max_chars")]
    pub stderr_summary_max_chars: usize,
    /// How many times the hooks of `Stop` may keep a turn from ending.
    #[serde(default = "dsh_hooks::bridge::max_stop_blocks")]
    pub max_stop_blocks: NonZeroU32,
}

impl Config {
    /// With the hooks of this file, and nothing else said.
    #[must_use]
    pub fn new(config_path: impl Into<PathBuf>) -> Self {
        Self {
            config_path: config_path.into(),
            required: false,
            plugin_root: None,
            project_dir: None,
            default_timeout_ms: default_timeout_ms(),
            stderr_summary_max_chars: stderr_summary_max_chars(),
            max_stop_blocks: max_stop_blocks(),
        }
    }

    /// Whether the figures are in their bounds.
    ///
    /// # Errors
    /// The number of characters is 0.
    pub fn check(&self) -> Result<(), BadSummaryLength> {
        BadSummaryLength::check(NAME, self.stderr_summary_max_chars)
    }

    /// What the file looks like.
    #[must_use]
    pub fn grammar(&self) -> Grammar {
        dialect::grammar(self)
    }

    pub(crate) fn options(&self) -> BridgeOptions {
        BridgeOptions::new(
            self.default_timeout_ms,
            self.stderr_summary_max_chars,
            self.max_stop_blocks,
            &std::env::current_dir().unwrap_or_default(),
        )
    }
}
