//! The tool: what the model may ask for, and what it is told.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use dsh_tools::{ToolDefinition, ToolError, ToolRun, Workspace, tool};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::Config;
use crate::process::{self, Leftovers, Limits, Stopped};
use crate::render;

/// The tool's name.
const NAME: &str = "bash";
const DESCRIPTION: &str = "Runs a command with `bash -c` in a new shell and gives what it prints. Nothing of the shell \
                           is kept for the next call. A command that fails says `[exit code: N]`. Of long output the \
                           middle is left out.";

/// Runs commands with `bash -c`.
pub(crate) struct Bash {
    pub(crate) workspace: Workspace,
    pub(crate) config: Config,
    pub(crate) leftovers: Arc<Leftovers>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// The command line for bash.
    command: String,
    /// What it does, in a few words for the user.
    description: String,
    /// How many milliseconds it may run.
    timeout_ms: Option<f64>,
    /// The folder to run it in: the workspace, or one in it.
    workdir: Option<String>,
    /// Not available yet.
    #[serde(rename = "run_in_background")]
    run_in_background: Option<bool>,
}

/// The tool. Commands change the workspace, so no two of one batch run side by side.
pub(crate) fn bash(bash: Bash) -> impl Into<ToolDefinition> {
    tool(NAME, DESCRIPTION).with(bash).run(run)
}

async fn run(bash: Arc<Bash>, arguments: Arguments, run: ToolRun) -> Result<String, ToolError> {
    let timeout = bash.check(&arguments)?;
    let workdir = bash.workdir(arguments.workdir.as_deref())?;
    let limits =
        Limits { timeout, grace: bash.config.grace(), max_output_bytes: bash.config.max_output_bytes };
    let live = |text: String| run.write(text);
    let finished =
        process::run(&arguments.command, &workdir, limits, live, run.cancellation(), &bash.leftovers)
            .await
            .map_err(|error| ToolError::new(format!("cannot start bash: {error}")))?;
    match finished.stopped {
        // In the place of what was told while it ran, where the streams are mixed.
        Some(Stopped::Cancelled) => Err(ToolError::aborted().with_output(render::streams(&finished))),
        None | Some(Stopped::TimedOut) => Ok(render::finished(&finished, timeout)),
    }
}

impl Bash {
    /// Gives the time that the command may run.
    fn check(&self, arguments: &Arguments) -> Result<Duration, ToolError> {
        if arguments.command.trim().is_empty() {
            return Err(ToolError::new("invalid command: expected a non-empty string"));
        }
        if arguments.description.trim().is_empty() {
            return Err(ToolError::new("invalid description: expected a non-empty string"));
        }
        if arguments.run_in_background == Some(true) {
            return Err(ToolError::new(
                "`run_in_background` is not available: run the command in the foreground",
            ));
        }
        let longest = Duration::from_millis(self.config.max_timeout_ms);
        match arguments.timeout_ms {
            None => Ok(Duration::from_millis(self.config.timeout_ms).min(longest)),
            Some(ms) if ms > 0.0 => {
                Ok(Duration::try_from_secs_f64(ms / 1_000.0).map_or(longest, |timeout| timeout.min(longest)))
            }
            Some(ms) => {
                Err(ToolError::new(format!("invalid timeoutMs: expected a positive number, got {ms}")))
            }
        }
    }

    /// The folder to run in, which must be in the workspace wherever links lead.
    fn workdir(&self, given: Option<&str>) -> Result<PathBuf, ToolError> {
        let path =
            self.workspace.locate(given.unwrap_or(".")).map_err(|error| ToolError::new(error.to_string()))?;
        let shown = path.shown.display();
        let cannot = |error: std::io::Error| ToolError::new(format!("cannot run in \"{shown}\": {error}"));
        let real = path.real.canonicalize().map_err(cannot)?;
        let root = self.workspace.root().canonicalize().map_err(cannot)?;
        if !real.starts_with(&root) {
            return Err(ToolError::new(format!("cannot run in \"{shown}\": it leads out of the workspace")));
        }
        if !real.is_dir() {
            return Err(ToolError::new(format!("cannot run in \"{shown}\": not a folder")));
        }
        Ok(real)
    }
}
