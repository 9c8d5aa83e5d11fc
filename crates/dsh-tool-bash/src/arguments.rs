//! What a call may ask for.

use std::time::Duration;

use dsh_tools::{MAX_DELAY, ToolError, clamp_timeout};
use schemars::JsonSchema;
use serde::Deserialize;

/// What a call may ask for, as the model writes it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Arguments {
    /// The command line for bash.
    pub(crate) command: String,
    /// What the command does, in five to ten words for the user: "List the files of the project".
    pub(crate) description: String,
    /// How many milliseconds it may run before it is ended. There is a default, and an upper bound.
    pub(crate) timeout_ms: Option<f64>,
    /// The folder to run it in, if not that of the session; a relative path begins there.
    pub(crate) workdir: Option<String>,
    /// Have the command run on in the background, without a time limit. The result names the job: read what it prints with
    /// `job_output`, and stop it with `job_kill`.
    #[serde(rename = "run_in_background")]
    pub(crate) run_in_background: Option<bool>,
    // The model is told of these two where commands are confined, which is nowhere yet.
    #[serde(rename = "sandbox_permissions")]
    #[schemars(skip)]
    sandbox_permissions: Option<String>,
    #[schemars(skip)]
    justification: Option<String>,
}

impl Arguments {
    /// Whether the call is for the background.
    pub(crate) fn is_background(&self) -> bool {
        self.run_in_background == Some(true)
    }

    /// Checks what a schema cannot say. Gives the time that was asked for.
    pub(crate) fn check(&self) -> Result<Option<Duration>, ToolError> {
        if self.command.trim().is_empty() {
            return Err(ToolError::new("invalid command: expected a non-empty string"));
        }
        if self.description.trim().is_empty() {
            return Err(ToolError::new("invalid description: expected a non-empty string"));
        }
        let timeout = self.timeout()?;
        self.check_escalation()?;
        Ok(timeout)
    }

    fn timeout(&self) -> Result<Option<Duration>, ToolError> {
        let Some(ms) = self.timeout_ms else { return Ok(None) };
        let timeout = clamp_timeout("timeoutMs", Some(ms), MAX_DELAY, MAX_DELAY);
        let timeout = timeout.map_err(|_| {
            ToolError::new(format!("invalid timeoutMs: expected a positive number, got {ms}"))
        })?;
        Ok(Some(timeout))
    }

    fn check_escalation(&self) -> Result<(), ToolError> {
        let message = match (&self.sandbox_permissions, &self.justification) {
            (None, None) => return Ok(()),
            (None, Some(_)) => {
                "invalid escalation: a justification goes with sandbox_permissions; leave it out"
            }
            (Some(_), None) => "invalid escalation: sandbox_permissions requires a justification",
            (Some(_), Some(justification)) if justification.trim().is_empty() => {
                "invalid justification: expected a non-empty sentence"
            }
            (Some(_), Some(_)) => {
                "`sandbox_permissions` is unavailable because no sandbox confines commands here: run the command without it"
            }
        };
        Err(ToolError::new(message))
    }
}
