//! The service: the way of a question from top to bottom.

use cordis::Context;
use dsh_session::Session;

use crate::error::ApprovalError;
use crate::keys::REQUEST;
use crate::outcome::ApprovalOutcome;
use crate::policy::{ApprovalPolicy, override_of};
use crate::question::OpenQuestion;
use crate::request::ApprovalRequest;

/// Where actions ask for approval, and where the policy of a session is read and changed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Approvals {
    default: ApprovalPolicy,
}

impl Approvals {
    /// The service with the policy of sessions whose log says nothing.
    #[must_use]
    pub fn new(default: ApprovalPolicy) -> Self {
        Self { default }
    }

    /// The policy of a session: what its log says last, or the configured one.
    #[must_use]
    pub fn policy(&self, session: &Session) -> ApprovalPolicy {
        override_of(session).unwrap_or(self.default)
    }

    /// What the session's own log says last, if anything.
    #[must_use]
    pub fn override_of(&self, session: &Session) -> Option<ApprovalPolicy> {
        override_of(session)
    }

    /// Asks whether an action may be done, and logs question and outcome. Two questions ask twice, however alike they are.
    ///
    /// In this order: a turn must be open; the question is logged; a cancelled one is [`ApprovalOutcome::Cancelled`]; under
    /// the policy `never` it is [`ApprovalOutcome::Rejected`]; otherwise [`REQUEST`] is asked until it answers or the question is
    /// cancelled; the outcome is logged.
    ///
    /// An answer counts in the turn of its question only. One that comes when that turn has ended, also if the next one is
    /// open, is [`ApprovalOutcome::Cancelled`] and not logged. A policy that changes while somebody is asked is for the next
    /// question: it neither answers nor ends this one.
    ///
    /// # Errors
    /// No turn is open, or the log did not take the question or the outcome: then the action is not allowed.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the question, which is logged as cancelled if its turn is still open.
    pub async fn request(
        &self,
        ctx: &Context,
        mut request: ApprovalRequest,
    ) -> Result<ApprovalOutcome, ApprovalError> {
        let question = OpenQuestion::ask(&request)?;
        let outcome = self.decide(ctx, &mut request).await;
        question.decided(outcome)
    }

    async fn decide(&self, ctx: &Context, request: &mut ApprovalRequest) -> ApprovalOutcome {
        // Listeners are given the request itself, and must not be able to reach its end.
        let cancellation = request.cancellation.clone();
        if cancellation.is_cancelled() {
            return ApprovalOutcome::Cancelled;
        }
        match self.policy(request.agent.session()) {
            ApprovalPolicy::Never => return ApprovalOutcome::Rejected,
            ApprovalPolicy::Ask => {}
        }
        let answer = async {
            ctx.waterfall(REQUEST, request, self, Self::nobody).await.unwrap_or_else(|panic| {
                let error = &panic as &dyn std::error::Error;
                tracing::error!(error, "an answerer failed: the approval counts as unavailable");
                ApprovalOutcome::Unavailable
            })
        };
        let outcome = tokio::select! {
            biased;
            () = cancellation.cancelled() => ApprovalOutcome::Cancelled,
            outcome = answer => outcome,
        };
        // An answer that came together with the cancellation is too late.
        if cancellation.is_cancelled() { ApprovalOutcome::Cancelled } else { outcome }
    }

    async fn nobody(&self, _request: &mut ApprovalRequest) -> ApprovalOutcome {
        ApprovalOutcome::Unavailable
    }
}
