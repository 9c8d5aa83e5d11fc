//! What the configurations of both dialects say about running hooks.

use std::num::{NonZeroU32, NonZeroU64};
use std::path::Path;
use std::time::Duration;

use dsh_tools::MAX_DELAY;
use thiserror::Error;

/// What the configurations of both dialects say about running hooks.
#[derive(Clone, Debug)]
pub struct BridgeOptions {
    /// How long a hook may run that does not say so itself.
    pub default_timeout: Duration,
    /// How many characters of a hook's errors are logged.
    pub stderr_summary_max_chars: usize,
    /// How many times hooks may keep a turn from ending.
    pub max_stop_blocks: NonZeroU32,
    /// The folder of this process, which hooks are told of where a session has none.
    pub process_cwd: String,
}

/// Nothing would be left of a hook's errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{plugin}: stderrSummaryMaxChars must be a positive integer")]
pub struct BadSummaryLength {
    /// The plugin whose configuration says so.
    pub plugin: &'static str,
}

impl BadSummaryLength {
    /// Whether a number of characters can be.
    ///
    /// # Errors
    /// It is 0.
    pub fn check(plugin: &'static str, max_chars: usize) -> Result<(), Self> {
        if max_chars == 0 { Err(Self { plugin }) } else { Ok(()) }
    }
}

impl BridgeOptions {
    /// The options of a configuration, in a process that works in this folder.
    #[must_use]
    pub fn new(
        default_timeout_ms: NonZeroU64,
        stderr_summary_max_chars: usize,
        max_stop_blocks: NonZeroU32,
        process_cwd: &Path,
    ) -> Self {
        Self {
            default_timeout: Duration::from_millis(default_timeout_ms.get()).min(MAX_DELAY),
            stderr_summary_max_chars,
            max_stop_blocks,
            process_cwd: process_cwd.to_string_lossy().into_owned(),
        }
    }
}

/// How long a hook may run unless its configuration says.
#[must_use]
pub fn default_timeout_ms() -> NonZeroU64 {
    NonZeroU64::MIN.saturating_add(599_999)
}

/// How many characters of a hook's errors are logged unless the configuration says.
#[must_use]
pub fn stderr_summary_max_chars() -> usize {
    500
}

/// How many times hooks may keep a turn from ending unless the configuration says.
#[must_use]
pub fn max_stop_blocks() -> NonZeroU32 {
    NonZeroU32::MIN.saturating_add(7)
}
