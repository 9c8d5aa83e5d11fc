//! A question as a program sees it.

use std::fmt;
use std::sync::Arc;

use dsh_agent::AgentId;
use dsh_approval::{ApprovalOutcome, ApprovalRequest};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

/// The id by which a question is answered; no two questions of any channel have the same.
///
/// It is the channel's own: a question that is left to other answerers may be asked again elsewhere under another.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct QuestionId(Arc<str>);

/// A question that waits for an answer. It may be over by the time it is looked at.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// Its id.
    pub id: QuestionId,
    /// The agent that wants to act.
    pub agent: AgentId,
    /// The tool that would act.
    pub tool_name: String,
    /// The call that asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// Why it asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What exactly the tool would be given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Arc<Value>>,
}

/// What a program answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// The action may be done, once.
    AllowOnce,
    /// It may not.
    Reject,
}

impl Question {
    pub(crate) fn of(request: &ApprovalRequest) -> Self {
        Self {
            id: QuestionId(Uuid::new_v4().to_string().into()),
            agent: request.agent.id().clone(),
            tool_name: request.tool_name.clone(),
            call_id: request.call_id.clone(),
            reason: request.reason.clone(),
            arguments: request.arguments.clone(),
        }
    }
}

impl QuestionId {
    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for QuestionId {
    fn from(id: &str) -> Self {
        Self(id.into())
    }
}

impl fmt::Display for QuestionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Decision> for ApprovalOutcome {
    fn from(decision: Decision) -> Self {
        match decision {
            Decision::AllowOnce => Self::AllowedOnce,
            Decision::Reject => Self::Rejected,
        }
    }
}
