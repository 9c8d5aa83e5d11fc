//! The plugin's configuration.

use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How processes are kept, and how long their end may take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Config {
    /// How long what still runs may take to end when the plugin is unloaded, in milliseconds, even if it was started with a
    /// longer grace time.
    pub unload_grace_ms: u32,
    /// Where the folder for long output is made; in the system's folder for temporary files if absent.
    pub spill_root: Option<PathBuf>,
    /// Whether files with long output stay when the plugin is unloaded or the host ends; whoever names them removes them then.
    pub keep_spill_files: bool,
    /// How many bytes all files with long output may take together. The oldest ones of streams that have ended go first; a
    /// stream for whose file there is no room has none.
    pub max_spill_total_bytes: u64,
    /// Whether each process leads a session of its own, so that it cannot ask at the host's terminal. Absent: if the host has
    /// one. Starting a process then takes the longer the more memory the host uses.
    pub own_session: Option<bool>,
}

impl Config {
    pub(crate) fn unload_grace(&self) -> Duration {
        Duration::from_millis(self.unload_grace_ms.into())
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            unload_grace_ms: 5_000,
            spill_root: None,
            keep_spill_files: false,
            max_spill_total_bytes: 1 << 30,
            own_session: None,
        }
    }
}
