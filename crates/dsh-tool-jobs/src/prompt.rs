//! What agents are told about background jobs, while there is a prompt to tell it in.

use cordis::{BoxError, Context, Handle, Plugin, define};
use dsh_prompt::{PromptSection, SYSTEM_PROMPT, SystemPrompt};

/// Among the sections about tools: behind that of `bash`.
const ORDER: i32 = 106;

const TEXT: &str = "Keep track of the id of every background job that you start. You are told when a job has ended, so do not \
     ask again and again and do not sleep until then: go on with what does not depend on it, and do not do a running job's work \
     a second time. Before you give a final answer, collect what still matters with job_output (with wait: true only when you \
     cannot go on without it), and stop what no longer matters with job_kill.";

/// Tells agents how to deal with jobs.
///
/// Source: the prompt section `tool:jobs`.
pub(crate) fn plugin() -> impl Plugin<Config = ()> {
    define("tool-jobs-prompt").needs(SYSTEM_PROMPT).run(apply)
}

async fn apply(ctx: &Context, prompt: Handle<SystemPrompt>, (): &()) -> Result<(), BoxError> {
    prompt.get()?.section(ctx, PromptSection::new("tool:jobs", ORDER, TEXT))?;
    Ok(())
}
