//! Agents as those whom prompts are assembled for.

use cordis::ScopeKey;
use dsh_prompt::Subject;

use crate::agent::Agent;

impl Subject for Agent {
    fn scope_key(&self) -> &ScopeKey {
        self.scope()
    }
}
