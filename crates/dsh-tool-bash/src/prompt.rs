//! What agents are told about the tool, while there is a prompt to tell it in.

use cordis::{BoxError, Context, Handle, Plugin, define};
use dsh_prompt::{PromptSection, SYSTEM_PROMPT, SystemPrompt};

/// Among the guidance about tools: before that about jobs.
const ORDER: i32 = 105;

const GUIDANCE: &str = "Use `bash` for what needs a shell: builds, tests, version control, a look at the system. Every \
                        call begins in a new shell in the session's folder, so say `workdir` instead of `cd`, and set \
                        variables in the call that uses them. A result that ends with `[exit code: N]` or \
                        `[killed by signal: S]` is the command's own failure: read what it printed before you try again. \
                        Where output was left out, the file that is named has all of it.";
const BACKGROUND: &str = " What takes longer than you want to wait, and what must go on running such as a server, belongs \
                          in the background: set `run_in_background` instead of ending the command with `&`.";

/// Tells agents how to use the tool, as long as the plugin that mounts it runs; the configuration says whether commands may
/// run in the background.
///
/// Source: the prompt section `tool:bash`.
pub(crate) fn plugin() -> impl Plugin<Config = bool> {
    define("tool-bash-prompt").needs(SYSTEM_PROMPT).run(apply)
}

async fn apply(ctx: &Context, prompt: Handle<SystemPrompt>, background: &bool) -> Result<(), BoxError> {
    let text = format!("{GUIDANCE}{}", if *background { BACKGROUND } else { "" });
    prompt.get()?.section(ctx, PromptSection::new("tool:bash", ORDER, text))?;
    Ok(())
}
