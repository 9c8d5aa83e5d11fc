//! What a call is given.

use cordis::Next;
use dsh_tools::{Caller, PreDecision, ToolCall};

use crate::call_time::CallTime;
use crate::config::Config;
use crate::trace_id::TraceId;

/// The listener of `tools/pre-execute`. It decides nothing.
pub(crate) async fn enrich(
    config: &Config,
    call: &mut ToolCall,
    next: Next<'_, ToolCall, PreDecision>,
) -> PreDecision {
    let context = call.context();
    // A nested call starts with what the outer one had: trace and caller stay, the time is its own.
    context.insert(CallTime::now());
    if context.get::<TraceId>().is_none() {
        context.insert(TraceId::random());
    }
    if context.get::<Caller>().is_none()
        && let Some(caller) = call.agent().and_then(|agent| config.caller_of(agent.id().as_str()))
    {
        context.insert(caller);
    }
    next.run(call).await
}
