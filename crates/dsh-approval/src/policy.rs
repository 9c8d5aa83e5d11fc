//! Whether questions are asked at all.

use std::fmt;
use std::str::FromStr;

use dsh_session::Session;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::event::ApprovalPolicySet;

const FOR_ASK: &str = "Approval policy: `ask`. An operation that needs approval is put to whoever is set up to answer, \
                       a user or a program. If nobody can answer, it is refused and not carried out.";
const FOR_NEVER: &str = "Approval policy: `never`. No approval prompts are shown in this session: every action that \
                         needs approval is rejected automatically, so asking again does not help. Do not request an \
                         escalation out of the sandbox: leave `sandbox_permissions` unset.";

/// Whether questions are asked at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalPolicy {
    /// The answerers are asked.
    #[default]
    Ask,
    /// Nobody is asked, and the answer is no.
    Never,
}

/// A name that no policy has.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no approval policy `{given}`: use `ask` or `never`")]
pub struct UnknownPolicy {
    /// The name.
    pub given: String,
}

impl ApprovalPolicy {
    /// The policy as configurations and logs have it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Never => "never",
        }
    }
}

impl fmt::Display for ApprovalPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ApprovalPolicy {
    type Err = UnknownPolicy;

    fn from_str(name: &str) -> Result<Self, UnknownPolicy> {
        match name {
            "ask" => Ok(Self::Ask),
            "never" => Ok(Self::Never),
            given => Err(UnknownPolicy { given: given.to_owned() }),
        }
    }
}

/// What a session's own log says last about the policy, if anything. An event that names no policy of this build does not
/// count.
#[must_use]
pub fn override_of(session: &Session) -> Option<ApprovalPolicy> {
    let set = |event: std::sync::Arc<dsh_session::Event>| event.payload::<ApprovalPolicySet>().ok().flatten();
    session.events().iter().rev().find_map(set).map(|set| set.policy)
}

/// What a model is told about a policy; the same text every time.
#[must_use]
pub fn policy_text(policy: ApprovalPolicy) -> &'static str {
    match policy {
        ApprovalPolicy::Ask => FOR_ASK,
        ApprovalPolicy::Never => FOR_NEVER,
    }
}
