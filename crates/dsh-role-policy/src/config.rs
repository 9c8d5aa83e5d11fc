//! The plugin's configuration.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The entry of a role that may call every tool.
pub(crate) const ALL: &str = "*";

/// Who may call which tools. Without any role every call is denied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Config {
    /// The names of the tools that a role may call, by the role's name; `*` stands for all tools.
    pub roles: BTreeMap<String, BTreeSet<String>>,
    /// The roles of agents whose calls do not say who stands behind them, by the agent's id.
    pub agents: BTreeMap<String, String>,
}

/// A configuration that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A role without a name.
    #[error("role-policy: `roles` must not hold a role without a name")]
    NoRoleName,
    /// A tool without a name.
    #[error("role-policy: role `{role}` must not list a tool without a name")]
    NoToolName {
        /// The role.
        role: String,
    },
    /// A name that looks like a pattern, which would never be that of a tool.
    #[error(
        "role-policy: role `{role}` lists `{tool}`: names are compared as they are, only `*` alone stands for all"
    )]
    Pattern {
        /// The role.
        role: String,
        /// The entry.
        tool: String,
    },
    /// An agent has a role that is not configured.
    #[error("role-policy: agent `{agent}` has the role `{role}`, which `roles` does not hold")]
    NoSuchRole {
        /// The agent's id.
        agent: String,
        /// The role.
        role: String,
    },
}

impl Config {
    /// Whether it says what it seems to say.
    ///
    /// # Errors
    /// The first thing that does not.
    pub fn check(&self) -> Result<(), ConfigError> {
        for (role, tools) in &self.roles {
            if role.is_empty() {
                return Err(ConfigError::NoRoleName);
            }
            for tool in tools {
                let role = || role.clone();
                if tool.is_empty() {
                    return Err(ConfigError::NoToolName { role: role() });
                }
                if tool != ALL && tool.contains(ALL) {
                    return Err(ConfigError::Pattern { role: role(), tool: tool.clone() });
                }
            }
        }
        match self.agents.iter().find(|(_, role)| !self.roles.contains_key(*role)) {
            None => Ok(()),
            Some((agent, role)) => Err(ConfigError::NoSuchRole { agent: agent.clone(), role: role.clone() }),
        }
    }
}
