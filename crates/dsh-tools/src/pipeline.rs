//! The way of a call, from top to bottom.
//!
//! 1. [`prepare`]: read the arguments, ask policies, ask for approval, ask the guards.
//! 2. [`dispatch`]: run the body below its wrappers, and read again what they gave.
//! 3. [`settle`]: let policies look at the outcome, finalize it, tell it.
//!
//! Nothing that a tool, a guard or a listener does fails any of it: that becomes the outcome. Whatever happens, an
//! outcome is told exactly once, unless whoever waits for it goes away.

use std::sync::Arc;

use cordis::{Context, ListenerPanic, chain};

use crate::approval::{self, Answer};
use crate::call::{CallRequest, Parent, ToolCall};
use crate::decision::{PostDecision, PreDecision, Replacement};
use crate::dispatch::{self, Dispatch};
use crate::error::{ErrorInfo, Failure};
use crate::given::Unreadable;
use crate::guard::{GuardFailure, Refusal};
use crate::keys::{EXECUTE, POST_EXECUTE, PRE_EXECUTE, RESULT};
use crate::mode::RUN_CODE;
use crate::normalize::{self, OutputError};
use crate::outcome::ToolOutcome;
use crate::registered::RegisteredTool;
use crate::runtime::Shared;
use crate::schema::dismantle;
use crate::settled::Settled;

/// How deep calls may be nested: each level is polled inside of the one above.
const MAX_NESTING: u32 = 16;

/// How often policies may replace the arguments of one call: two that undo each other's work would never come to an end.
const MAX_REPLACEMENTS: u32 = 8;

/// Executes one call.
pub(crate) async fn execute(
    shared: &Arc<Shared>,
    ctx: &Context,
    request: CallRequest,
    parent: Option<Parent>,
) -> ToolOutcome {
    let prepared = prepare(shared, ctx, request, parent).await;
    let dispatched = dispatch(shared, ctx, prepared).await;
    settle(shared, ctx, dispatched, |outcome| outcome).await
}

/// A call with what is to become of it next.
#[derive(Debug)]
pub(crate) struct Station {
    call: ToolCall,
    /// The tool as it was when the call came in, if it has a finalizer.
    finalizer: Option<Arc<RegisteredTool>>,
    next: Next,
}

#[derive(Debug)]
enum Next {
    /// The body, below its wrappers.
    Dispatch {
        /// How many guards had come when the guards were asked.
        guards: u64,
        /// What was approved, if somebody was asked: a tool, or that there is none of this name.
        approved: Option<Option<Arc<RegisteredTool>>>,
    },
    /// Policies look at this outcome.
    Review(ToolOutcome),
    /// This is the outcome; no policy looks at it.
    Finish(ToolOutcome),
}

/// Everything before the body: arguments, policies, approval, guards.
pub(crate) async fn prepare(
    shared: &Arc<Shared>,
    ctx: &Context,
    request: CallRequest,
    parent: Option<Parent>,
) -> Station {
    let registry = &shared.registry;
    let tool = registry.visible(request.name(), request.scope_key());
    let (mut call, read) = ToolCall::new(request, parent, shared.config.max_partial_output_bytes);
    let collapsed = tool.is_some() && normalize::is_collapsed(registry, &call);
    let cancelled = call.is_cancelled_by_caller();
    let finalizer = tool.clone().filter(|tool| tool.finalizes && (!collapsed || cancelled));
    let next = match read {
        Err(unreadable) => Next::Finish(unreadable.into()),
        Ok(()) if registry.is_open(&call).is_err() => Next::Finish(ToolOutcome::failure(Refusal::Closed)),
        Ok(()) if call.depth() > MAX_NESTING => Next::Finish(too_nested(call.name())),
        Ok(()) if call.parent_is_over() => Next::Finish(ToolOutcome::aborted_before_dispatch()),
        Ok(()) if cancelled => Next::Finish(ToolOutcome::aborted_before_dispatch()),
        Ok(()) if collapsed => Next::Finish(only_by_program(call.name())),
        Ok(()) => judge(shared, ctx, &mut call, tool.as_ref())
            .await
            .unwrap_or_else(|broken| Next::Finish(broken.into())),
    };
    Station { call, finalizer, next }
}

const REPLACED_BY_THE_SAME: &str = "a policy gave the arguments that the call has already; it has to let the policies behind it \
    decide instead";

/// Policies, approval and guards, in this order. Arguments that a policy replaces are judged from the beginning.
async fn judge(
    shared: &Arc<Shared>,
    ctx: &Context,
    call: &mut ToolCall,
    tool: Option<&Arc<RegisteredTool>>,
) -> Result<Next, Broken> {
    let review = |outcome| Ok(Next::Review(outcome));
    let mut approved = None;
    loop {
        // Listeners get a view: whatever they do to it, guards and body see the call as it is here.
        let mut view = call.share();
        match ctx.waterfall(PRE_EXECUTE, &mut view, &(), allow).await? {
            PreDecision::Allow => break,
            PreDecision::Deny { reason } => return review(ToolOutcome::denied(reason)),
            PreDecision::Ask { reason } => match approval::ask(ctx, call, reason).await? {
                // The yes was for the tool of that moment, not for whatever takes its name meanwhile.
                Answer::Allowed => {
                    approved = Some(tool.cloned());
                    break;
                }
                Answer::Denied(reason) => return review(ToolOutcome::denied(reason)),
                Answer::Aborted => return review(ToolOutcome::aborted_before_dispatch()),
            },
            PreDecision::Replace { arguments } => match call.replaced(arguments) {
                // Those behind the listener have not seen the call, and would not the next time.
                Ok(None) => return review(ToolOutcome::failed(REPLACED_BY_THE_SAME)),
                Ok(Some(replaced)) if replaced.replacements() <= MAX_REPLACEMENTS => *call = replaced,
                Ok(Some(_)) => return review(replaced_too_often(call.name())),
                Err(lossy) => {
                    return review(ToolOutcome::failed(format!("a policy gave bad arguments: {lossy}")));
                }
            },
        }
        if call.is_cancelled_by_caller() {
            return review(ToolOutcome::aborted_before_dispatch());
        }
    }
    let call = &*call;
    let guards = match shared.registry.judge(call) {
        Ok(guards) => guards,
        Err(Refusal::Broken(failure)) => return Err(failure.into()),
        Err(refusal) => return review(ToolOutcome::failure(refusal)),
    };
    if call.is_cancelled_by_caller() {
        return review(ToolOutcome::aborted_before_dispatch());
    }
    Ok(Next::Dispatch { guards, approved })
}

async fn allow(_: &(), _: &mut ToolCall) -> PreDecision {
    PreDecision::Allow
}

/// The body with its wrappers. A success that comes after the caller's cancellation does not count.
pub(crate) async fn dispatch(shared: &Arc<Shared>, ctx: &Context, station: Station) -> Station {
    let Next::Dispatch { guards, approved } = station.next else { return station };
    let Station { call, finalizer, .. } = station;
    let next = match wrapped(shared, ctx, &call, guards, approved).await {
        Ok(outcome) => Next::Review(outcome),
        Err(broken) => Next::Finish(broken.into()),
    };
    Station { call, finalizer, next }
}

async fn wrapped(
    shared: &Arc<Shared>,
    ctx: &Context,
    call: &ToolCall,
    guards: u64,
    approved: Option<Option<Arc<RegisteredTool>>>,
) -> Result<ToolOutcome, Broken> {
    let innermost =
        Dispatch { shared: Arc::clone(shared), ctx: ctx.clone(), call: call.share(), guards, approved };
    let mut view = call.share();
    let given = ctx.waterfall(EXECUTE, &mut view, &innermost, Dispatch::body).await?;
    let mut outcome = normalize::outcome(&shared.registry, call, given)?;
    let contexts = outcome.contexts_mut();
    contexts.splice(0..0, call.progress().take_deferred());
    // Policies will look at it, so what the body wrote may stand for the value that is lost.
    Ok(unless_cancelled(call, outcome, |aborted| dispatch::kept(call, aborted)))
}

/// A success that the caller no longer wants is none; failures stay what they are.
fn unless_cancelled(
    call: &ToolCall,
    mut outcome: ToolOutcome,
    tell: impl FnOnce(Failure) -> Failure,
) -> ToolOutcome {
    if outcome.is_error() || !call.is_cancelled_by_caller() {
        return outcome;
    }
    let aborted = match call.body_was_entered() {
        true => Failure::aborted(),
        false => Failure::aborted_before_dispatch(),
    };
    let contexts = std::mem::take(outcome.contexts_mut());
    let mut aborted = ToolOutcome::failure(tell(aborted));
    *aborted.contexts_mut() = contexts;
    aborted
}

/// Policies look at the outcome, the tool has the last word on its content, and everybody is told what is left of it when
/// `fit` has made it fit where it will be kept.
pub(crate) async fn settle(
    shared: &Arc<Shared>,
    ctx: &Context,
    station: Station,
    fit: impl FnOnce(ToolOutcome) -> ToolOutcome,
) -> ToolOutcome {
    let Station { call, finalizer, next } = station;
    let (call, outcome) = match next {
        Next::Review(outcome) => review(shared, ctx, call, outcome).await,
        Next::Finish(outcome) => (call, outcome),
        // Only a station that was never dispatched, and it is not told that its body ran.
        Next::Dispatch { .. } => (call, ToolOutcome::aborted_before_dispatch()),
    };
    let outcome = fit(finalized(&call, finalizer.as_deref(), outcome)).made_for(call.token());
    call.progress().end();
    let settled = Settled::new(call, outcome);
    ctx.emit(RESULT, &settled);
    settled.into_parts().1
}

async fn review(
    shared: &Arc<Shared>,
    ctx: &Context,
    call: ToolCall,
    outcome: ToolOutcome,
) -> (ToolCall, ToolOutcome) {
    let mut settled = Settled::new(call, outcome);
    let decision = ctx.waterfall(POST_EXECUTE, &mut settled, &(), accept).await;
    let (call, outcome) = settled.into_parts();
    let decided =
        decision.map_err(Broken::from).and_then(|decision| Ok(decide(shared, &call, outcome, decision)?));
    // Policies have not looked at what the body wrote, only at its value.
    let outcome = decided.map_or_else(ToolOutcome::from, |outcome| unless_cancelled(&call, outcome, |it| it));
    (call, outcome)
}

async fn accept(_: &(), _: &mut Settled) -> PostDecision {
    PostDecision::accept()
}

fn decide(
    shared: &Shared,
    call: &ToolCall,
    mut outcome: ToolOutcome,
    decision: PostDecision,
) -> Result<ToolOutcome, OutputError> {
    match decision {
        PostDecision::Accept { replace, contexts } => {
            match replace {
                None => {}
                Some(Replacement::Content(content)) => outcome.set_content(content),
                Some(Replacement::Value(value)) => {
                    if outcome.is_error() {
                        dismantle(value);
                        return Err(OutputError::NoValue { tool: call.name().to_owned() });
                    }
                    let before = std::mem::take(outcome.contexts_mut());
                    outcome = normalize::replaced(&shared.registry, call, value)?;
                    *outcome.contexts_mut() = before;
                }
            }
            outcome.contexts_mut().extend(contexts);
            Ok(outcome)
        }
        PostDecision::Block { feedback, contexts } => Ok(normalize::blocked(&outcome, feedback, contexts)),
    }
}

fn finalized(call: &ToolCall, finalizer: Option<&RegisteredTool>, mut outcome: ToolOutcome) -> ToolOutcome {
    let Some(tool) = finalizer else { return outcome };
    let finalize = |code: &crate::code::ToolCode| code.finalize.as_ref()?(call, &outcome);
    match tool.code.call(finalize) {
        Ok(Some(content)) => outcome.set_content(content),
        Ok(None) => {}
        Err(refused) if RegisteredTool::is_gone(&refused) => {}
        Err(panicked) => {
            return ToolOutcome::failed(format!("the finalizer of tool \"{}\": {panicked}", call.name()));
        }
    }
    outcome
}

impl From<Unreadable> for ToolOutcome {
    fn from(unreadable: Unreadable) -> Self {
        let failure = Failure::new(unreadable.to_string());
        Self::failure(match unreadable {
            Unreadable::Text(_) | Unreadable::CutOff(_) => failure.coded(ErrorInfo::INVALID_ARGS),
            Unreadable::Value(_) => failure,
        })
    }
}

fn too_nested(name: &str) -> ToolOutcome {
    ToolOutcome::failed(format!(
        "tool \"{name}\" is called from inside of {MAX_NESTING} other calls, which is as deep as calls go: a tool that \
         calls itself must come to an end"
    ))
}

fn replaced_too_often(name: &str) -> ToolOutcome {
    ToolOutcome::failed(format!(
        "the arguments of tool \"{name}\" were replaced {MAX_REPLACEMENTS} times and policies would replace them again: \
         there are policies that do not agree, and the call was not executed"
    ))
}

fn only_by_program(name: &str) -> ToolOutcome {
    let message = format!(
        "unknown tool \"{name}\": `{RUN_CODE}` is the only tool that can be called directly; \
         call {name} from inside of a `{RUN_CODE}` program"
    );
    ToolOutcome::failure(Failure::new(message).coded(ErrorInfo::UNKNOWN_TOOL))
}

/// A listener, a guard or an answerer that broke; the call fails with it, and policies do not look at it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    #[error(transparent)]
    Listener(#[from] ListenerPanic),
    #[error(transparent)]
    Guard(#[from] GuardFailure),
    #[error(transparent)]
    Approval(#[from] approval::AskError),
    #[error(transparent)]
    Output(#[from] OutputError),
}

impl From<Broken> for ToolOutcome {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::Output(error) => error.into(),
            other => Self::failed(chain(&other)),
        }
    }
}
