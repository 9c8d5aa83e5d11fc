//! The tool: what the model may ask for, and the way of a call.

use std::sync::Arc;

use cordis::{Context, Handle};
use dsh_jobs::Jobs;
use dsh_llm::ContentBlock;
use dsh_shell::{Shell, ShellEnv, ShellRequest};
use dsh_tools::{
    ErrorInfo, Schema, SchemaError, ToolDefinition, ToolError, ToolRun, Workspace, read_arguments,
};
use serde_json::Value;

use crate::arguments::Arguments;
use crate::value::BashValue;
use crate::{background, cards, foreground, render, workdir};

/// The tool's name.
const NAME: &str = "bash";
const DESCRIPTION: &str = "Runs a command with `bash -c` and gives what it prints. Each call has a new shell: no folder, \
                           variable or function of an earlier one is there, so say `workdir` instead of `cd`. The command \
                           reads nothing from a terminal. One that fails says `[exit code: N]` at the end. Of long output \
                           the middle is left out, and a file that has all of it is named. What a command leaves in the background \
                           runs on until the session's end. What the host tells commands is in variables that begin with `DSH_`.";
/// The argument that is only offered where it is of use.
const RUN_IN_BACKGROUND: &str = "run_in_background";

/// Runs commands.
pub(crate) struct Bash {
    /// The plugin's.
    pub(crate) ctx: Context,
    pub(crate) shell: Handle<dyn Shell>,
    pub(crate) env: Option<Handle<ShellEnv>>,
    pub(crate) jobs: Option<Handle<dyn Jobs>>,
    pub(crate) workspace: Option<Workspace>,
    pub(crate) background: bool,
}

/// The tool. Commands change what they work on, so no two of one batch run side by side.
///
/// # Errors
/// A type has no schema.
pub(crate) fn bash(bash: Bash) -> Result<ToolDefinition, SchemaError> {
    let parameters = parameters(bash.background)?;
    let value = Value::clone(Schema::of_written::<BashValue>()?.raw());
    let bash = Arc::new(bash);
    let tool = ToolDefinition::raw(NAME, DESCRIPTION, parameters).checked().output(value);
    Ok(tool
        .run(move |arguments, run| {
            let bash = Arc::clone(&bash);
            async move { Ok(serde_json::to_value(bash.call(&arguments, run).await?)?) }
        })
        .render(|_arguments, value| {
            let value: BashValue = read_arguments(value)?;
            Ok(vec![ContentBlock::text(render::text(&value))])
        })
        .present_call(cards::call)
        .present_result(cards::result))
}

fn parameters(background: bool) -> Result<Value, SchemaError> {
    let mut parameters = Value::clone(Schema::of::<Arguments>()?.raw());
    if !background && let Some(properties) = parameters.get_mut("properties").and_then(Value::as_object_mut) {
        properties.shift_remove(RUN_IN_BACKGROUND);
    }
    Ok(parameters)
}

impl Bash {
    /// Arguments, folder and environment are looked at before anything runs.
    async fn call(&self, arguments: &Value, run: ToolRun) -> Result<BashValue, ToolError> {
        let arguments: Arguments = read_arguments(arguments).map_err(|violation| {
            ToolError::new(format!("invalid arguments: {violation}")).coded(ErrorInfo::INVALID_ARGS)
        })?;
        let timeout = arguments.check()?;
        let jobs = match arguments.is_background() {
            true => Some(self.jobs()?),
            false => None,
        };
        let workdir = workdir::workdir(self.workspace.as_ref(), run.agent(), arguments.workdir.as_deref())?;
        let managed_env = match &self.env {
            Some(env) => env.get()?.for_agent(run.agent())?,
            None => Default::default(),
        };
        let request = ShellRequest { workdir, timeout, managed_env, ..ShellRequest::new(arguments.command) };
        match jobs {
            None => foreground::run(&self.shell, request, run).await,
            Some(_) if run.is_cancelled() => Err(ToolError::aborted()),
            Some(jobs) => background::start(&self.ctx, jobs, &self.shell, request, &run).await,
        }
    }

    /// Where commands run in the background.
    fn jobs(&self) -> Result<&Handle<dyn Jobs>, ToolError> {
        if !self.background {
            return Err(ToolError::new(
                "`run_in_background` is switched off here (`enableRunInBackground: false`): run the command in the foreground",
            ));
        }
        self.jobs.as_ref().ok_or_else(|| {
            ToolError::new(
                "background jobs are unavailable: run the command in the foreground, or have the host load the plugins \
                 `jobs-local` and `tool-jobs`",
            )
        })
    }
}
