//! What an agent is told when a job of it has ended.

use dsh_jobs::JobSnapshot;
use dsh_llm::{ContentBlock, Message, Role, Source};
use dsh_tools::title;

use crate::NAME;
use crate::bound::{head, tail};
use crate::public_job::status_line;

const CLOSING: &str = " Call job_output to read what it said.";
/// The closing of a notice that does not fit otherwise.
const SHORT_CLOSING: &str = "\nSee job_output.";
const MARKER: &str = "\n[notice truncated]";

/// The message that tells of the end of a job.
pub(crate) fn notice(job: &JobSnapshot) -> Message {
    let status = status_line(job.status, job.detail.as_deref());
    let label = title(&job.label);
    let summary = format!("{} {label} {status}", job.kind);
    let text = text(job, &label, &status);
    Message::new(Role::User, vec![ContentBlock::text(text)], Source::notice(NAME, &summary))
}

/// The text, which is no longer than what is shown of the job's output.
fn text(job: &JobSnapshot, label: &str, status: &str) -> String {
    let identity = format!("Background job {}", job.id);
    let detail = format!(" ({}: {label}) has ended {status}.", job.kind);
    let limit =
        job.output_limit_bytes.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    fitted(&identity, &detail, limit)
}

/// The first form that fits. Whatever is cut, the reader learns last where to look.
fn fitted(identity: &str, detail: &str, limit: usize) -> String {
    let whole = format!("{identity}{detail}{CLOSING}");
    if whole.len() <= limit {
        return whole;
    }
    let Some(room) = limit.checked_sub(SHORT_CLOSING.len()) else {
        return tail(SHORT_CLOSING, limit).to_owned();
    };
    match room.checked_sub(identity.len() + MARKER.len()) {
        Some(room) => format!("{identity}{}{MARKER}{SHORT_CLOSING}", head(detail, room)),
        None => format!("{}{SHORT_CLOSING}", head(identity, room)),
    }
}

#[cfg(test)]
mod tests;
