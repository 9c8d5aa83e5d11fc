//! How much of a job a model is shown: the last word on the content of a result.
//!
//! **Invariants**
//! 1. Value and error of a result stay; only what the model reads is cut.
//! 2. The limit is that of the job as it was when the call came, where it could be seen then: a job may be gone by the end.

use cordis::{Handle, Next};
use dsh_jobs::Jobs;
use dsh_llm::ContentBlock;
use dsh_tools::{PreDecision, ToolCall, ToolOutcome};

use crate::bound::bounded;
use crate::{kill, output};

const OUTPUT_MARKER: &str = "\n[output truncated]";
const RESULT_MARKER: &str = "\n[result truncated]";

/// The limit that a call was given on its way in.
struct Captured(u64);

/// The listener of `tools/pre-execute`. It decides nothing.
pub(crate) async fn capture(
    jobs: &Handle<dyn Jobs>,
    call: &mut ToolCall,
    next: Next<'_, ToolCall, PreDecision>,
) -> PreDecision {
    if [output::NAME, kill::NAME].contains(&call.name())
        && let Some(limit) = current(jobs, call)
    {
        call.context().insert(Captured(limit));
    }
    next.run(call).await
}

/// The content that fits, if the content of a result does not. `status` is the status line of a result that stands as its tool
/// rendered it, and is kept at the end.
pub(crate) fn fitted(
    jobs: &Handle<dyn Jobs>,
    call: &ToolCall,
    outcome: &ToolOutcome,
    status: impl FnOnce(&str) -> Option<String>,
) -> Option<Vec<ContentBlock>> {
    let [ContentBlock::Text { text }] = outcome.content() else { return None };
    let captured = call.context().get::<Captured>();
    let limit = captured.as_deref().map(|Captured(limit)| *limit).or_else(|| current(jobs, call))?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    if text.len() <= limit {
        return None;
    }
    let suffix = status(text).map(|status| format!("\n{status}"));
    let body = suffix.as_deref().and_then(|suffix| text.strip_suffix(suffix));
    let fitted = match (body, &suffix) {
        (Some(body), Some(suffix)) => bounded(body, OUTPUT_MARKER, suffix, limit),
        _ => bounded(text, RESULT_MARKER, "", limit),
    };
    Some(vec![ContentBlock::text(fitted)])
}

/// The limit of the job that a call names, if it can be seen.
fn current(jobs: &Handle<dyn Jobs>, call: &ToolCall) -> Option<u64> {
    let id = call.arguments().get("job_id")?.as_str()?;
    jobs.get().ok()?.get(id, call.agent()).ok()?.output_limit_bytes
}
