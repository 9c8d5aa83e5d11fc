//! Whether a role allows a call, and what the model is told if not.

use std::collections::{BTreeMap, BTreeSet};

use dsh_tools::{Caller, ToolCall};

use crate::config::{ALL, Config};

/// How many tools a denial names.
const NAMED: usize = 20;

pub(crate) struct Roles {
    roles: BTreeMap<String, Allowed>,
    agents: BTreeMap<String, String>,
}

/// The tools of a role.
enum Allowed {
    All,
    Only(BTreeSet<String>),
}

impl Roles {
    pub(crate) fn new(config: &Config) -> Self {
        let allowed = |tools: &BTreeSet<String>| match tools.contains(ALL) {
            true => Allowed::All,
            false => Allowed::Only(tools.clone()),
        };
        let roles = config.roles.iter().map(|(role, tools)| (role.clone(), allowed(tools))).collect();
        Self { roles, agents: config.agents.clone() }
    }

    /// Why the call is refused, or nothing if its role allows it.
    pub(crate) fn refusal(&self, call: &ToolCall) -> Option<String> {
        let caller = call.context().get::<Caller>();
        let Some(role) = caller.as_ref().map(|caller| &caller.role).or_else(|| self.role_of_agent(call))
        else {
            return Some(of_nobody(call));
        };
        match self.roles.get(role) {
            Some(Allowed::All) => None,
            Some(Allowed::Only(tools)) if tools.contains(call.name()) => None,
            Some(Allowed::Only(tools)) => Some(not_listed(call, role, tools)),
            None => Some(not_known(call, role)),
        }
    }

    fn role_of_agent(&self, call: &ToolCall) -> Option<&String> {
        self.agents.get(call.agent()?.id().as_str())
    }
}

fn not_listed(call: &ToolCall, role: &str, tools: &BTreeSet<String>) -> String {
    let named: Vec<_> = tools.iter().take(NAMED).map(String::as_str).collect();
    let more = match tools.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let may = if named.is_empty() { "no tool".to_owned() } else { named.join(", ") + &more };
    format!(
        "role {role:?} may not call tool {:?}: it may call {may}; if the task needs more, ask the user to have it allowed",
        call.name()
    )
}

fn not_known(call: &ToolCall, role: &str) -> String {
    format!(
        "role {role:?} may not call tool {:?}: the role is not configured; ask the user to have it added to `roles` of \
         `role-policy`",
        call.name()
    )
}

fn of_nobody(call: &ToolCall) -> String {
    let who = match call.agent() {
        Some(agent) => format!("agent {:?} has no role", agent.id().as_str()),
        None => "it says neither who calls nor for which agent".to_owned(),
    };
    format!(
        "a call of tool {:?} needs a role: {who}; ask the user to have one given to it, by a caller or in `agents` of \
         `role-policy`",
        call.name()
    )
}
