//! How the policy of a session changes.

use std::sync::Arc;

use dsh_agent::Agent;
use dsh_llm::{ContentBlock, Message, Role, Source};
use dsh_session::{NewEvent, Session};

use crate::approvals::Approvals;
use crate::error::PolicyError;
use crate::event::{ApprovalPolicySet, PolicySource};
use crate::policy::ApprovalPolicy;

/// The name under which the model is told.
const PLUGIN: &str = "user-approval";

impl Approvals {
    /// Gives a session a policy, also one that it has already, and tells no model. It holds for the next question.
    ///
    /// # Errors
    /// The log did not take it.
    pub fn set_policy(&self, session: &Arc<Session>, policy: ApprovalPolicy) -> Result<(), PolicyError> {
        set(session, policy, None)
    }

    /// As [`set_policy`](Self::set_policy), for the session of an agent that works for another: the policy is that one's.
    ///
    /// # Errors
    /// The log did not take it.
    pub fn delegate_policy(&self, session: &Arc<Session>, policy: ApprovalPolicy) -> Result<(), PolicyError> {
        set(session, policy, Some(PolicySource::Delegation))
    }

    /// The user's switch while an agent is at work: changes the policy and has the model told before its next step. Nothing
    /// happens if the agent has the policy already. A question that is open stays open.
    ///
    /// # Errors
    /// The log did not take it, or it did and the message was not taken.
    pub fn set_policy_of(&self, agent: &Agent, policy: ApprovalPolicy) -> Result<(), PolicyError> {
        let old = self.policy(agent.session());
        if old == policy {
            return Ok(());
        }
        set(agent.session(), policy, None)?;
        let text =
            format!("The user changed the approval policy of this session from `{old}` to `{policy}`.");
        let source = Source::Plugin { plugin: PLUGIN.to_owned(), form: None, sections: None, summary: None };
        let message = Message::new(Role::User, vec![ContentBlock::text(text)], source);
        agent
            .inject(Arc::new(message))
            .map_err(|source| PolicyError::NotTold { agent: agent.id().to_string(), source: source.into() })
    }
}

fn set(
    session: &Arc<Session>,
    policy: ApprovalPolicy,
    from: Option<PolicySource>,
) -> Result<(), PolicyError> {
    let session_id = || session.id().to_owned();
    let event = NewEvent::new(&ApprovalPolicySet { policy, source: from })
        .map_err(|source| PolicyError::NotLossless { session: session_id(), source })?;
    session
        .append(event)
        .map_err(|source| PolicyError::NotSet { session: session_id(), source: source.into() })?;
    Ok(())
}
