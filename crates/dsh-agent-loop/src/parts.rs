//! What the loop works with.

use std::num::NonZeroUsize;

use cordis::{Context, Handle, Lease};
use dsh_agent::Agents;
use dsh_llm::Llm;
use dsh_prompt::SystemPrompt;
use dsh_session::SessionStore;
use dsh_tools::ToolRuntime;

/// The services that the loop needs, and its own contexts.
pub(crate) struct Parts {
    /// The plugin's context.
    pub(crate) ctx: Context,
    /// Where activities are tasks and sessions live: it outlives every agent.
    pub(crate) keeper: Context,
    pub(crate) agents: Handle<Agents>,
    pub(crate) sessions: Handle<SessionStore>,
    pub(crate) llm: Handle<Llm>,
    pub(crate) prompt: Handle<SystemPrompt>,
    pub(crate) tools: Handle<ToolRuntime>,
    pub(crate) max_parallel: NonZeroUsize,
}

impl Parts {
    pub(crate) fn agents(&self) -> Result<Lease<'_, Agents>, cordis::Gone> {
        self.agents.get()
    }
}
