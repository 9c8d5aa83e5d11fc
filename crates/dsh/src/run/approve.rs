//! `--approve always`: every call that could change something asks first.

use cordis::{Context, Next};
use dsh_tools::{PRE_EXECUTE, PreDecision, ToolCall};

/// The tools that only look.
const ONLY_LOOK: [&str; 3] = ["read", "job_output", "job_list"];
const REASON: &str = "--approve always has every such call ask first";

/// Has calls ask. A call that others refuse is not asked for.
pub(super) fn always(ctx: &Context) -> anyhow::Result<()> {
    ctx.on(PRE_EXECUTE).run(ask)?;
    Ok(())
}

async fn ask(call: &mut ToolCall, next: Next<'_, ToolCall, PreDecision>) -> PreDecision {
    let asks = !ONLY_LOOK.contains(&call.name());
    match next.run(call).await {
        PreDecision::Allow if asks => PreDecision::Ask { reason: Some(REASON.to_owned()) },
        other => other,
    }
}
