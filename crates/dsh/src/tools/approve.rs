//! Approval of the call: a policy that has it asked for, and somebody who answers.

use std::fs::OpenOptions;
use std::io::Write as _;

use cordis::{Context, Next};
use dsh_approval::{ApprovalOutcome, ApprovalRequest, REQUEST};
use dsh_tools::{PRE_EXECUTE, PreDecision, ToolCall};

use crate::app::mount;
use crate::cli::Approve;

const REASON: &str = "--approve has every call ask first";

/// Has calls of the context's agent ask for approval, and answers.
pub(crate) async fn ask_first(ctx: &Context, answer: Approve) -> anyhow::Result<()> {
    ctx.on(PRE_EXECUTE).run(ask)?;
    let outcome = match answer {
        Approve::Ask => {
            mount(ctx, dsh_approval_terminal::plugin(), dsh_approval_terminal::Config::default()).await?;
            ctx.on(REQUEST).prepend().run(on_own_line)?;
            return Ok(());
        }
        Approve::Yes => ApprovalOutcome::AllowedOnce,
        Approve::No => ApprovalOutcome::Rejected,
    };
    ctx.on(REQUEST).with(outcome).run(given)?;
    Ok(())
}

/// A call that others refuse is not asked for.
async fn ask(call: &mut ToolCall, next: Next<'_, ToolCall, PreDecision>) -> PreDecision {
    match next.run(call).await {
        PreDecision::Allow => PreDecision::Ask { reason: Some(REASON.to_owned()) },
        other => other,
    }
}

async fn given(
    outcome: &ApprovalOutcome,
    _request: &mut ApprovalRequest,
    _next: Next<'_, ApprovalRequest, ApprovalOutcome>,
) -> ApprovalOutcome {
    *outcome
}

/// Whoever leaves the question without an answer has not ended its line either.
async fn on_own_line(
    request: &mut ApprovalRequest,
    next: Next<'_, ApprovalRequest, ApprovalOutcome>,
) -> ApprovalOutcome {
    let mut line = QuestionLine { is_ended: false };
    let outcome = next.run(request).await;
    line.is_ended = outcome != ApprovalOutcome::Unavailable;
    outcome
}

/// The line that a question is on. It is ended at the latest when the question is over, be it by a cancellation.
struct QuestionLine {
    is_ended: bool,
}

impl Drop for QuestionLine {
    fn drop(&mut self) {
        if self.is_ended {
            return;
        }
        // Where there is no terminal there was no question.
        if let Ok(mut terminal) = OpenOptions::new().write(true).open("/dev/tty") {
            let _ = terminal.write_all(b"\n");
        }
    }
}
