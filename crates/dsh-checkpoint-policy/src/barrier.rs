//! What happens before a body.

use std::error::Error;
use std::sync::Arc;

use cordis::{BoxError, Handle, Next, ScopeKey};
use dsh_session::SessionStore;
use dsh_tools::{ErrorInfo, Failure, ToolCall, ToolOutcome};

use crate::by_scope::SessionsByScope;

/// The session of the call could not be made durable, so the tool did not run.
pub const SESSION_FLUSH_FAILED: ErrorInfo = ErrorInfo::fixed("SessionFlushError", "SESSION_FLUSH_FAILED");

pub(crate) struct Barrier {
    pub(crate) sessions: Handle<SessionStore>,
    pub(crate) by_scope: Arc<SessionsByScope>,
}

/// The listener of `tools/execute`.
pub(crate) async fn pass(
    barrier: &Barrier,
    call: &mut ToolCall,
    next: Next<'_, ToolCall, ToolOutcome>,
) -> ToolOutcome {
    let (None, Some(scope)) = (call.parent_id(), call.scope()) else { return next.run(call).await };
    let (scope, cancellation) = (scope.clone(), call.cancellation().clone());
    let flushed = tokio::select! {
        biased;
        () = cancellation.cancelled() => return ToolOutcome::aborted_before_dispatch(),
        flushed = barrier.flush(&scope) => flushed,
    };
    match flushed {
        Ok(()) => next.run(call).await,
        // Both may come at once, and then nobody wants to know of the flush.
        Err(_) if cancellation.is_cancelled() => ToolOutcome::aborted_before_dispatch(),
        Err(error) => {
            let message =
                format!("the tool did not run, as the session could not be saved: {}", said(&*error));
            ToolOutcome::failure(Failure::new(message).coded(SESSION_FLUSH_FAILED))
        }
    }
}

impl Barrier {
    async fn flush(&self, scope: &ScopeKey) -> Result<(), BoxError> {
        for session in self.by_scope.of(scope) {
            self.sessions.get()?.flush(&session).await?;
        }
        Ok(())
    }
}

/// An error with its causes, for a reader who sees one line only.
fn said(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| (*error).source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
