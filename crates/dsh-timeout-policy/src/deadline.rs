//! What happens around a body: a deadline below the caller's token.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use cordis::{Handle, Next};
use dsh_tools::{ErrorInfo, Failure, MAX_DELAY, ToolCall, ToolOutcome, ToolRuntime};
use tokio::time::{Instant, sleep_until};

/// The call took longer than its tool may.
///
/// Source: the reference's code of the same name.
pub const TOOL_TIMEOUT: ErrorInfo = ErrorInfo::fixed("ToolTimeoutError", "TOOL_TIMEOUT");

pub(crate) struct Deadlines {
    pub(crate) tools: Handle<ToolRuntime>,
    /// For tools without a timeout of their own.
    pub(crate) default: Option<Duration>,
}

impl Deadlines {
    /// How long the call may take. None for a call of a tool that nobody offers, which ends by itself.
    fn of(&self, call: &ToolCall) -> Option<Duration> {
        let tool = self.tools.get().ok()?.get(call.name(), call.scope())?;
        let timeout = tool.timeout().or(self.default)?;
        Some(timeout.min(MAX_DELAY))
    }
}

/// The listener of `tools/execute`.
pub(crate) async fn limit(
    deadlines: &Deadlines,
    call: &mut ToolCall,
    next: Next<'_, ToolCall, ToolOutcome>,
) -> ToolOutcome {
    let Some(timeout) = deadlines.of(call) else { return next.run(call).await };
    let end = Instant::now() + timeout;
    let (mut limited, limit) = call.limited();
    let mut run = next.run(&mut limited);
    if let Some(outcome) = before(end, &mut run).await {
        return outcome;
    }
    // The first reason counts: a call that was cancelled before its deadline is not late.
    if call.is_cancelled() {
        return run.await;
    }
    limit.cancel();
    run.await.into_failure(timed_out(timeout))
}

/// What `run` gives, unless `end` comes first. The timer is made once there is something to wait for: most calls that are
/// quick are ready at the first poll. Of both at once, what is ready counts.
async fn before<R>(end: Instant, run: &mut (impl Future<Output = R> + Unpin)) -> Option<R> {
    let mut timer = None;
    poll_fn(|cx| {
        if let Poll::Ready(outcome) = Pin::new(&mut *run).poll(cx) {
            return Poll::Ready(Some(outcome));
        }
        let timer = timer.get_or_insert_with(|| Box::pin(sleep_until(end)));
        timer.as_mut().poll(cx).map(|()| None)
    })
    .await
}

fn timed_out(timeout: Duration) -> Failure {
    #[allow(clippy::cast_precision_loss, reason = "no delay is as long as 2^53 nanoseconds")]
    let ms = timeout.as_nanos() as f64 / 1e6;
    Failure::new(format!("tool call timed out after {ms}ms")).coded(TOOL_TIMEOUT)
}
