//! The agents that are started with the plugin.

use std::sync::Arc;

use cordis::{BoxError, Context, chain};
use dsh_agent::{AgentError, AgentHandle, CreateAgent, ResumeAgent};
use dsh_session::{CreateSession, PERSISTENCE, PersistError};
use tracing::warn;
use uuid::Uuid;

use crate::config::{ConfiguredAgent, Identity};
use crate::keys::CONFIG_START_FAILED;
use crate::parts::Parts;

/// An agent of the configuration did not start; see [`CONFIG_START_FAILED`].
#[derive(Clone, Debug)]
pub struct ConfigStartFailed {
    /// The session that it was to have.
    pub session_id: String,
    /// Why not.
    pub error: Arc<AgentError>,
}

/// Starts the agents, each in a task of its own: one that fails does not keep the others from starting.
pub(crate) fn start(ctx: &Context, parts: &Arc<Parts>, agents: &[ConfiguredAgent]) -> Result<(), BoxError> {
    for agent in agents {
        let session_id = match agent.identity()? {
            Identity::Fresh => format!("{}-session-{}", agent.id, Uuid::new_v4()),
            Identity::Exact(id) | Identity::Stored(id) => id.to_owned(),
        };
        let (agent, parts, owner) = (agent.clone(), Arc::clone(parts), ctx.clone());
        ctx.spawn(format!("start agent {:?}", agent.id), async move {
            // The agent lives as long as the plugin.
            if let Err(error) = started(&owner, &parts, &agent, &session_id).await {
                tell(&owner, &agent, session_id, error);
            }
        })?;
    }
    Ok(())
}

async fn started(
    owner: &Context,
    parts: &Parts,
    agent: &ConfiguredAgent,
    session_id: &str,
) -> Result<AgentHandle, AgentError> {
    let agents = match parts.agents() {
        Ok(agents) => agents.clone(),
        Err(gone) => return Err(AgentError::LoopGone { source: gone.into() }),
    };
    let stored = owner.get(PERSISTENCE).is_some();
    if matches!(agent.identity(), Ok(Identity::Stored(_)))
        || (stored && !matches!(agent.identity(), Ok(Identity::Fresh)))
    {
        let resumed = agents.resume(owner, ResumeAgent::new(session_id).options(agent.options())).await;
        let begins = matches!(agent.identity(), Ok(Identity::Exact(_)));
        match resumed {
            Err(AgentError::Stored { source: PersistError::NotFound { .. }, .. }) if begins => {}
            resumed => return resumed,
        }
    }
    let session =
        CreateSession { id: Some(session_id.to_owned()), cwd: agent.cwd.clone(), ..CreateSession::default() };
    agents.create(owner, CreateAgent::with_session(session).options(agent.options())).await
}

fn tell(owner: &Context, agent: &ConfiguredAgent, session_id: String, error: AgentError) {
    // What ends with the loop has not failed.
    if matches!(error, AgentError::Ended { .. } | AgentError::LoopGone { .. }) {
        return;
    }
    warn!("agent-loop: agent `{}` of the configuration was not started: {}", agent.id, chain(&error));
    owner.root().emit(CONFIG_START_FAILED, &ConfigStartFailed { session_id, error: Arc::new(error) });
}
