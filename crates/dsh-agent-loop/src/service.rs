//! The loop as a service.

use std::fmt;
use std::sync::Arc;

use cordis::Context;
use dsh_agent::{AgentError, AgentHandle, AgentOptions, CreateAgent};
use dsh_session::CreateSession;

use crate::make::Maker;

/// The loop itself, for those who make agents where nothing can be waited for.
pub struct AgentLoops {
    maker: Arc<Maker>,
}

impl AgentLoops {
    pub(crate) fn new(maker: Arc<Maker>) -> Self {
        Self { maker }
    }

    /// Creates an agent that needs no set-up, at once. Otherwise as [`Agents::create`](dsh_agent::Agents::create).
    ///
    /// # Errors
    /// See [`AgentError`]. What was made so far is taken back, which may go on after this has returned.
    pub fn create(
        &self,
        ctx: &Context,
        id: impl Into<String>,
        options: AgentOptions,
        folder: Option<String>,
    ) -> Result<AgentHandle, AgentError> {
        let session = CreateSession { id: Some(id.into()), cwd: folder, ..CreateSession::default() };
        self.maker.create_now(ctx, CreateAgent::with_session(session).options(options))
    }
}

impl fmt::Debug for AgentLoops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentLoops").field("agents", &self.maker.agents()).finish_non_exhaustive()
    }
}
