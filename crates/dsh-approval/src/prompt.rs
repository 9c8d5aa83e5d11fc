//! What agents are told about the policy, while there is a prompt to tell it in.

use cordis::{BoxError, Context, Handle, Plugin, define};
use dsh_agent::Agent;
use dsh_prompt::{PromptContext, PromptText, SYSTEM_PROMPT, SystemPrompt};

use crate::approvals::Approvals;
use crate::policy::policy_text;

/// Among the runtime contexts: behind that of the sandbox.
const ORDER: i32 = 115;

/// Tells each agent the policy of its session.
///
/// Source: the prompt context `approval:policy`.
pub(crate) fn plugin() -> impl Plugin<Config = Approvals> {
    define("approval-prompt").needs(SYSTEM_PROMPT).run(apply)
}

async fn apply(ctx: &Context, prompt: Handle<SystemPrompt>, approvals: &Approvals) -> Result<(), BoxError> {
    let approvals = *approvals;
    let text = PromptText::dynamic(move |context| {
        let agent = context.subject::<Agent>();
        agent.map_or_else(String::new, |agent| policy_text(approvals.policy(agent.session())).to_owned())
    });
    prompt.get()?.context(ctx, PromptContext::new("approval:policy", ORDER, text))?;
    Ok(())
}
