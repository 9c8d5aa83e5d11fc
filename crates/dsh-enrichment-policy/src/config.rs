//! The plugin's configuration.

use std::collections::BTreeMap;

use dsh_tools::Caller;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Who stands behind calls that do not say so themselves. A call of no agent has only the caller that it brings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Config {
    /// Who stands behind the calls of an agent, by the agent's id.
    pub callers: BTreeMap<String, CallerConfig>,
    /// The role of agents that `callers` does not name; each then stands behind its calls itself, with its id as id and as
    /// name. Without it nobody does.
    pub agent_role: Option<String>,
}

/// Somebody who stands behind calls. All three are required and not empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CallerConfig {
    /// The caller's id.
    pub id: String,
    /// The caller's name, for people.
    pub name: String,
    /// The caller's role, by which policies decide.
    pub role: String,
}

/// A configuration that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A field of a caller is empty.
    #[error("enrichment-policy: `{field}` of the caller for agent `{agent}` must not be empty")]
    Empty {
        /// The agent's id.
        agent: String,
        /// The field's name.
        field: &'static str,
    },
    /// The role of agents is empty.
    #[error("enrichment-policy: `agentRole` must not be empty; leave it out to have no role")]
    EmptyAgentRole,
}

impl Config {
    /// Whether callers are named in full.
    ///
    /// # Errors
    /// The first field that is empty.
    pub fn check(&self) -> Result<(), ConfigError> {
        for (agent, CallerConfig { id, name, role }) in &self.callers {
            let fields = [("id", id), ("name", name), ("role", role)];
            if let Some((field, _)) = fields.into_iter().find(|(_, value)| value.is_empty()) {
                return Err(ConfigError::Empty { agent: agent.clone(), field });
            }
        }
        match self.agent_role.as_deref() {
            Some("") => Err(ConfigError::EmptyAgentRole),
            _ => Ok(()),
        }
    }

    /// Who stands behind the calls of an agent.
    pub(crate) fn caller_of(&self, agent: &str) -> Option<Caller> {
        if let Some(CallerConfig { id, name, role }) = self.callers.get(agent) {
            return Some(Caller { id: id.clone(), name: name.clone(), role: role.clone() });
        }
        let role = self.agent_role.clone()?;
        Some(Caller { id: agent.to_owned(), name: agent.to_owned(), role })
    }
}
