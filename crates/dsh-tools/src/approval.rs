//! A policy that wants somebody asked: who is asked, and what their answer means for the call.

use std::sync::Arc;

use cordis::Context;
use dsh_approval::{APPROVAL, ApprovalError, ApprovalOutcome, ApprovalRequest};
use thiserror::Error;

use crate::call::ToolCall;
use crate::error::bounded;

/// What became of the question.
pub(crate) enum Answer {
    /// This very call may go on.
    Allowed,
    /// It may not, for this reason.
    Denied(String),
    /// The caller went away over it.
    Aborted,
}

/// The question could not be asked.
#[derive(Debug, Error)]
#[error("approval for tool \"{tool}\" could not be asked for")]
pub(crate) struct AskError {
    tool: String,
    #[source]
    source: Box<ApprovalError>,
}

/// Asks for approval of a call. Where nobody can be asked the call is refused.
pub(crate) async fn ask(ctx: &Context, call: &ToolCall, reason: Option<String>) -> Result<Answer, AskError> {
    let tool = call.name();
    let service = ctx.get(APPROVAL);
    // A copy: a lease would be held for as long as a person thinks.
    let Some(approvals) =
        service.as_ref().and_then(|approvals| approvals.get().ok()).map(|approvals| *approvals)
    else {
        let unsupported = || format!("tool \"{tool}\" requires approval (not yet supported)");
        return Ok(Answer::Denied(reason.unwrap_or_else(unsupported)));
    };
    let Some(agent) = call.agent() else {
        let nobody = format!(
            "tool \"{tool}\" needs approval, but the call comes from no agent whose user could be asked"
        );
        return Ok(Answer::Denied(nobody));
    };
    let reason = if call.replacements() == 0 { reason } else { Some(told_of_replacement(call, reason)) };
    let request = ApprovalRequest {
        agent: agent.clone(),
        tool_name: tool.to_owned(),
        call_id: Some(call.id().to_owned()),
        reason,
        arguments: Some(Arc::clone(call.arguments())),
        cancellation: call.cancellation().clone(),
    };
    let outcome = approvals.request(ctx, request).await;
    let outcome = outcome.map_err(|source| AskError { tool: tool.to_owned(), source: Box::new(source) })?;
    Ok(match outcome {
        ApprovalOutcome::AllowedOnce => Answer::Allowed,
        ApprovalOutcome::Cancelled if call.is_cancelled_by_caller() => Answer::Aborted,
        ApprovalOutcome::Rejected => Answer::Denied(format!("the user rejected tool \"{tool}\"")),
        ApprovalOutcome::Cancelled => Answer::Denied(format!("approval for tool \"{tool}\" was cancelled")),
        ApprovalOutcome::Unavailable => Answer::Denied(format!(
            "tool \"{tool}\" needs approval, but nobody is there to give it; go on without it or ask the user"
        )),
    })
}

/// The log has the model's arguments, so the question says which ones it is about.
fn told_of_replacement(call: &ToolCall, reason: Option<String>) -> String {
    let arguments = bounded(call.arguments().to_string());
    let replaced = format!("a policy replaced the arguments; they are now {arguments}");
    reason.map_or_else(|| replaced.clone(), |reason| format!("{reason} ({replaced})"))
}
