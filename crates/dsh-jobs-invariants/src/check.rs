//! What is looked at.

use dsh_agent::Agent;
use dsh_jobs::{JobDone, JobSnapshot};

use crate::rule::{Rule, Violation};

/// The greatest whole number that every reader of JSON keeps exact.
const SAFE: u64 = (1 << 53) - 1;

/// Checks what is known of a job.
///
/// # Errors
/// The first rule that it breaks.
///
/// # Examples
/// ```
/// use dsh_jobs::{JobId, JobSnapshot, JobStatus};
/// use dsh_jobs_invariants::{Rule, check};
///
/// let job = JobSnapshot {
///     id: JobId::new("bash", 1),
///     kind: "bash".into(),
///     label: "npm test".into(),
///     status: JobStatus::Completed,
///     started_at: 1,
///     reported: false,
///     output_limit_bytes: None,
///     owner_session: None,
///     detail: None,
///     finished_at: None,
/// };
/// assert_eq!(check(&job).map_err(|it| it.rule), Err(Rule::Unfinished { id: "bash-1".into() }));
/// ```
pub fn check(job: &JobSnapshot) -> Result<(), Violation> {
    broken(job).map_or(Ok(()), |rule| Err(Violation { rule }))
}

/// Checks what is told of the end of a job.
///
/// # Errors
/// The first rule that it breaks.
pub fn check_done(done: &JobDone) -> Result<(), Violation> {
    check(&done.job)?;
    if done.job.owner_session.as_ref() == done.owner.as_ref().map(Agent::id) {
        Ok(())
    } else {
        Err(Violation { rule: Rule::Owner { id: done.job.id.to_string() } })
    }
}

fn broken(job: &JobSnapshot) -> Option<Rule> {
    let id = || job.id.to_string();
    if !is_id_of(job.id.as_str(), &job.kind) {
        return Some(Rule::Id { id: id(), kind: job.kind.clone() });
    }
    if job.label.is_empty() {
        return Some(Rule::Label { id: id() });
    }
    if job.started_at > SAFE {
        return Some(Rule::StartedAt { id: id() });
    }
    match (job.status.is_terminal(), job.finished_at) {
        (true, None) => Some(Rule::Unfinished { id: id() }),
        (false, Some(_)) => Some(Rule::Finished { id: id() }),
        (true, Some(at)) if !(job.started_at..=SAFE).contains(&at) => Some(Rule::FinishedAt { id: id() }),
        (true, Some(_)) | (false, None) => None,
    }
}

fn is_id_of(id: &str, kind: &str) -> bool {
    let number = id.strip_prefix(kind).and_then(|rest| rest.strip_prefix('-'));
    number.is_some_and(|number| {
        !kind.is_empty()
            && !number.starts_with('0')
            && !number.is_empty()
            && number.bytes().all(|it| it.is_ascii_digit())
    })
}
