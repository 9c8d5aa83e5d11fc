//! How what is selected for an agent gets into its prompts and its requests.

use std::sync::Arc;

use cordis::{BoxError, Context, Effect, ListenError, Next, ScopeKey};
use dsh_agent::{AgentRequest, REQUEST, Requested};
use dsh_prompt::{ASSEMBLE, Assembling, PromptAssembly};

use crate::selected::SelectionRef;

/// What the listeners of one agent work with.
#[derive(Clone)]
struct Installed {
    /// The agent's; none where the context is of no scope.
    scope: Option<ScopeKey>,
    selection: Arc<SelectionRef>,
}

impl Installed {
    /// Listeners hear of the scopes below theirs too: agents that have a model of their own.
    fn is_for(&self, scope: Option<&ScopeKey>) -> bool {
        self.scope.is_none() || self.scope.as_ref() == scope
    }
}

/// Has an agent ask what is selected, from its next prompt on, as long as its context lives; the effect ends it earlier.
///
/// `ctx` is the agent's context, as a [setup](dsh_agent::CreateAgent::setup) is given it; agents of scopes below it are not
/// touched. On a context of no scope it is for every agent.
///
/// Each prompt of the agent is made for what is selected when its making begins: the variables `provider` and `model` say
/// it. Requests go to what the last prompt was made for, with its effort or without any; all else of their settings stays
/// as it is. Before the first prompt requests are left as they are.
///
/// # Errors
/// The context is inactive. Nothing is installed then.
///
/// Source: `installModelSelection`.
pub fn install_model_selection(ctx: &Context, selection: Arc<SelectionRef>) -> Result<Effect, ListenError> {
    let installed = Installed { scope: ctx.scope_key().cloned(), selection };
    ctx.effects("model selection", |ctx| {
        ctx.on(ASSEMBLE).with(installed.clone()).run(name_model)?;
        ctx.on(REQUEST).with(installed).run(ask_model)?;
        Ok(())
    })
}

type Assembled = Result<PromptAssembly, BoxError>;

/// The listener of `system-prompt/assemble`.
async fn name_model(
    installed: &Installed,
    assembling: &mut Assembling,
    next: Next<'_, Assembling, Assembled>,
) -> Assembled {
    if !installed.is_for(assembling.context().scope()) {
        return next.run(assembling).await;
    }
    // Before the others are asked: whatever is selected while they work is for the prompt after this one.
    let selected = installed.selection.current();
    let mut assembly = next.run(assembling).await?;
    let variables = [("provider", &selected.provider), ("model", &selected.model)]
        .map(|(name, value)| (name.to_owned(), Some(value.clone())));
    assembly.variables.extend(variables);
    installed.selection.note(selected);
    Ok(assembly)
}

/// The listener of `agent/request`.
async fn ask_model(
    installed: &Installed,
    request: &mut AgentRequest,
    next: Next<'_, AgentRequest, Requested>,
) -> Requested {
    let is_for = installed.is_for(Some(request.agent.scope()));
    let call = next.run(request).await?;
    Ok(match installed.selection.assembled().filter(|_| is_for) {
        Some(selected) => selected.applied_to(call),
        None => call,
    })
}
