//! The plugin's configuration.

use std::collections::HashSet;
use std::num::NonZeroUsize;

use dsh_agent::{AgentOptions, MaxTokens};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// How many calls of one step run at once, unless the configuration says otherwise.
const MAX_PARALLEL: NonZeroUsize = NonZeroUsize::MIN.saturating_add(9);

/// How agents work, and which there are from the beginning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Config {
    /// The agents that are started with the plugin.
    pub agents: Vec<ConfiguredAgent>,
    /// How many tool calls of one step run at once, at least 1; 1 for one after the other.
    pub max_parallel_tool_calls: NonZeroUsize,
}

/// An agent that is started with the plugin.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct ConfiguredAgent {
    /// What people call it. Its session's id begins with it, unless one is given.
    pub id: String,
    /// The provider's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The most tokens of an answer, 1 to 2^53 - 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<u64>", range(min = 1, max = 9_007_199_254_740_991_u64))]
    pub max_tokens: Option<MaxTokens>,
    /// The folder that it works in, an absolute path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The session that it goes on with if it is stored, and begins otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The stored session that it goes on with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume_session_id: Option<String>,
}

/// Which session an agent has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Identity<'a> {
    /// One of its own, under a fresh id.
    Fresh,
    /// This one, whether or not it is stored.
    Exact(&'a str),
    /// This one, which is stored.
    Stored(&'a str),
}

/// Agents are configured in a way that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BadAgents {
    /// One has no id.
    #[error("an agent in `agents` has no `id`: give it a name")]
    NoId,
    /// One has both ways to a session.
    #[error("agent `{id}` has both `sessionId` and `resumeSessionId`: keep one of them")]
    Both {
        /// Its id.
        id: String,
    },
    /// Two have one session.
    #[error("two agents in `agents` have the session `{session}`: give each its own")]
    Twice {
        /// The session.
        session: String,
    },
}

impl Default for Config {
    fn default() -> Self {
        Self { agents: Vec::new(), max_parallel_tool_calls: MAX_PARALLEL }
    }
}

impl Config {
    /// A configuration with these agents.
    #[must_use]
    pub fn with_agents(agents: Vec<ConfiguredAgent>) -> Self {
        Self { agents, ..Self::default() }
    }

    /// Checks that every agent has an id, and a session of its own.
    ///
    /// # Errors
    /// The first agent that has not.
    pub fn check(&self) -> Result<(), BadAgents> {
        let mut sessions = HashSet::new();
        for agent in &self.agents {
            if agent.id.is_empty() {
                return Err(BadAgents::NoId);
            }
            let (Identity::Exact(session) | Identity::Stored(session)) = agent.identity()? else { continue };
            if !sessions.insert(session) {
                return Err(BadAgents::Twice { session: session.to_owned() });
            }
        }
        Ok(())
    }
}

impl ConfiguredAgent {
    /// An agent with this name and a session of its own.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), ..Self::default() }
    }

    pub(crate) fn identity(&self) -> Result<Identity<'_>, BadAgents> {
        fn given(id: &Option<String>) -> Option<&str> {
            id.as_deref().filter(|id| !id.is_empty())
        }
        match (given(&self.session_id), given(&self.resume_session_id)) {
            (Some(_), Some(_)) => Err(BadAgents::Both { id: self.id.clone() }),
            (Some(id), None) => Ok(Identity::Exact(id)),
            (None, Some(id)) => Ok(Identity::Stored(id)),
            (None, None) => Ok(Identity::Fresh),
        }
    }

    pub(crate) fn options(&self) -> AgentOptions {
        AgentOptions {
            provider: self.provider.clone(),
            model: self.model.clone(),
            max_tokens: self.max_tokens,
        }
    }
}
