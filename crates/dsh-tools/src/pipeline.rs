//! The way of a call, from top to bottom.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cordis::{Context, ListenerPanic};

use crate::body;
use crate::call::{CallRequest, ToolCall};
use crate::decision::{PostDecision, PreDecision};
use crate::guard::GuardFailure;
use crate::keys::{EXECUTE, POST_EXECUTE, PRE_EXECUTE, RESULT};
use crate::outcome::{ErrorInfo, ToolOutcome};
use crate::registry::Registry;
use crate::settled::Settled;

/// Executes one call: read the arguments, ask policies and guards, run the body, let policies look at the outcome,
/// tell it. Never fails for what a tool, a guard or a listener does; that becomes the outcome. `parent` is the call whose
/// body makes this one.
pub(crate) async fn execute(
    registry: &Arc<Registry>,
    ctx: &Context,
    request: CallRequest,
    parent: Option<&str>,
) -> ToolOutcome {
    let (call, read) = ToolCall::new(request, parent);
    let settled = match read {
        Err(error) => {
            let message = format!("invalid arguments: {error}");
            Settled::new(call, ToolOutcome::failed(message, Some(ErrorInfo::INVALID_ARGS)))
        }
        Ok(()) => policed(registry, ctx, call).await,
    };
    ctx.emit(RESULT, &settled);
    settled.into_outcome()
}

/// Everything between the reading of the arguments and `tools/result`.
async fn policed(registry: &Arc<Registry>, ctx: &Context, mut call: ToolCall) -> Settled {
    if call.is_cancelled() {
        return Settled::new(call, ToolOutcome::aborted_before_dispatch());
    }
    let outcome = match before(registry, ctx, &mut call).await {
        Err(failed) => return Settled::new(call, failed.into()),
        Ok(Some(reason)) => ToolOutcome::denied(reason),
        Ok(None) if call.is_cancelled() => ToolOutcome::aborted_before_dispatch(),
        Ok(None) => match run(registry, ctx, &mut call).await {
            Err(failed) => return Settled::new(call, failed.into()),
            Ok(outcome) => outcome,
        },
    };
    after(ctx, call, outcome).await
}

/// Policies and guards; gives the reason of a denial.
async fn before(
    registry: &Arc<Registry>,
    ctx: &Context,
    call: &mut ToolCall,
) -> Result<Option<String>, PolicyFailure> {
    match ctx.waterfall(PRE_EXECUTE, call, &(), allow).await? {
        PreDecision::Deny { reason } => Ok(Some(reason)),
        PreDecision::Allow => Ok(registry.guarded(call)?),
    }
}

async fn allow(_: &(), _: &mut ToolCall) -> PreDecision {
    PreDecision::Allow
}

/// The body with its wrappers. A success that comes after the caller's cancellation does not count.
async fn run(
    registry: &Arc<Registry>,
    ctx: &Context,
    call: &mut ToolCall,
) -> Result<ToolOutcome, PolicyFailure> {
    let dispatch = Dispatch { registry: Arc::clone(registry), entered: AtomicBool::new(false) };
    let outcome = ctx.waterfall(EXECUTE, call, &dispatch, Dispatch::body).await?;
    let entered = dispatch.entered.load(Ordering::Relaxed);
    Ok(match outcome.is_error() || !call.original().is_cancelled() {
        true => outcome,
        false if entered => ToolOutcome::aborted(),
        false => ToolOutcome::aborted_before_dispatch(),
    })
}

/// The innermost step of the execution.
struct Dispatch {
    registry: Arc<Registry>,
    /// Whether the body was reached, on any run.
    entered: AtomicBool,
}

impl Dispatch {
    /// Asks the guards once more, because this may be the second run, or guards may have come since.
    async fn body(&self, call: &mut ToolCall) -> ToolOutcome {
        if call.is_cancelled() {
            return ToolOutcome::aborted_before_dispatch();
        }
        match self.registry.guarded(call) {
            Err(failed) => return PolicyFailure::from(failed).into(),
            Ok(Some(reason)) => return ToolOutcome::denied(reason),
            Ok(None) => {}
        }
        let Some(entry) = self.registry.find(call.name(), call.scope()) else {
            return unknown(call);
        };
        self.entered.store(true, Ordering::Relaxed);
        body::run(entry, call, self.registry.body_grace()).await.unwrap_or_else(|_| unknown(call))
    }
}

fn unknown(call: &ToolCall) -> ToolOutcome {
    ToolOutcome::failed(format!("unknown tool \"{}\"", call.name()), Some(ErrorInfo::UNKNOWN_TOOL))
}

/// Policies look at the outcome. They can change what the model reads, and nothing else.
async fn after(ctx: &Context, call: ToolCall, outcome: ToolOutcome) -> Settled {
    let mut settled = Settled::new(call.original(), outcome);
    match ctx.waterfall(POST_EXECUTE, &mut settled, &(), accept).await {
        Ok(decision) => settled.decide(decision),
        Err(panic) => settled.replace(PolicyFailure::from(panic).into()),
    }
    if settled.call().is_cancelled() && !settled.outcome().is_error() {
        settled.replace(ToolOutcome::aborted());
    }
    settled
}

async fn accept(_: &(), _: &mut Settled) -> PostDecision {
    PostDecision::Accept
}

/// A listener or a guard that broke; the call fails with it.
#[derive(Debug, thiserror::Error)]
enum PolicyFailure {
    #[error(transparent)]
    Listener(#[from] ListenerPanic),
    #[error(transparent)]
    Guard(#[from] GuardFailure),
}

impl From<PolicyFailure> for ToolOutcome {
    fn from(failure: PolicyFailure) -> Self {
        Self::failed(failure.to_string(), None)
    }
}
