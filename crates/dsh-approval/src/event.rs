//! What the log holds of questions and policies. None of it is part of the conversation.

use std::fmt;

use dsh_llm::open::present;
use dsh_session::Payload;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::outcome::ApprovalOutcome;
use crate::policy::ApprovalPolicy;

/// The id of a question: what pairs its outcome with it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ApprovalId(String);

/// A question was asked, inside of an open turn.
///
/// Source: event type `approval/asked`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalAsked {
    /// Its id.
    pub id: ApprovalId,
    /// The tool that would act, never empty.
    pub tool_name: String,
    /// The call that asks.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub call_id: Option<String>,
    /// Why it asks.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub reason: Option<String>,
}

/// A question is over, inside of the turn in which it was asked. A crash, or that turn's end, may leave one without this.
///
/// Source: event type `approval/decided`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalDecided {
    /// The question's id.
    pub id: ApprovalId,
    /// What it came to.
    pub outcome: ApprovalOutcome,
}

/// The session has this policy from now on; the last one holds. It needs no turn.
///
/// Source: event type `approval/policy`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalPolicySet {
    /// The policy.
    pub policy: ApprovalPolicy,
    /// Where it came from, if not from the user.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub source: Option<PolicySource>,
}

/// Where a policy came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum PolicySource {
    /// From the session of the agent that this one works for.
    Delegation,
    /// From somewhere that this build does not know.
    #[serde(untagged)]
    Other(String),
}

impl ApprovalId {
    /// An id that no other question has.
    pub(crate) fn fresh() -> Self {
        Self(Uuid::new_v4().to_string())
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ApprovalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Payload for ApprovalAsked {
    const TYPE: &'static str = "approval/asked";
}

impl Payload for ApprovalDecided {
    const TYPE: &'static str = "approval/decided";
}

impl Payload for ApprovalPolicySet {
    const TYPE: &'static str = "approval/policy";
}
