//! What the service knows of one job.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use dsh_jobs::{JobOutcome, JobSnapshot};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::bounded::bounded;
use crate::job::Job;

/// How many bytes are kept of what a job said at its end, until it is read or forgotten.
const KEPT_OUTPUT: usize = 512 * 1024;

/// How many bytes are kept of why it ended as it did, or cannot be read.
const KEPT_DETAIL: usize = 4_096;

pub(crate) struct Record {
    pub(crate) job: Arc<Job>,
    /// Its place in lists; given by the table.
    pub(crate) place: u64,
    pub(crate) snapshot: JobSnapshot,
    pub(crate) output: Output,
    /// Those who wait for the end, by their number.
    pub(crate) waiters: BTreeMap<u64, Waiter>,
}

/// What a job said, as far as the service has it.
pub(crate) enum Output {
    /// What nobody has read yet, and why there is no more of it if the producer failed to give it.
    Stream { unread: String, error: Option<String> },
    /// All of it, once the job has ended.
    Final(String),
}

pub(crate) struct Waiter {
    /// One that was cancelled when the job ends is not told, and the end is not known by it.
    pub(crate) cancellation: CancellationToken,
    pub(crate) told: oneshot::Sender<Told>,
}

/// The end of a job, on the way to one who waits. Dropped on the way, it has told nobody.
pub(crate) struct Told {
    pub(crate) snapshot: JobSnapshot,
    pub(crate) received: mpsc::UnboundedSender<()>,
}

impl Record {
    /// The job as it is; reported from now on if it has ended.
    pub(crate) fn report(&mut self) -> JobSnapshot {
        self.snapshot.reported |= self.snapshot.status.is_terminal();
        self.snapshot.clone()
    }

    /// Takes what the job came to. Nothing is said of it, and no one who waits is told.
    pub(crate) fn end(&mut self, outcome: JobOutcome, rest: Result<String, String>) {
        let JobOutcome { status, detail, output } = outcome;
        self.snapshot.status = status.into();
        self.snapshot.detail = detail.map(|detail| bounded(detail, KEPT_DETAIL));
        // The clock may have been put back.
        self.snapshot.finished_at = Some(now().max(self.snapshot.started_at));
        if let Output::Final(all) = &mut self.output {
            *all = bounded(output.unwrap_or_default(), KEPT_OUTPUT);
        }
        self.add(rest);
    }

    /// Takes what the producer had still to say, whoever has asked it.
    pub(crate) fn add(&mut self, rest: Result<String, String>) {
        let Output::Stream { unread, error } = &mut self.output else { return };
        match rest {
            Ok(rest) => {
                unread.push_str(&rest);
                *unread = bounded(std::mem::take(unread), KEPT_OUTPUT);
            }
            Err(reason) => *error = Some(bounded(reason, KEPT_DETAIL)),
        }
    }

    /// What a reader gets of a job that has ended: an error only when there is no text left.
    pub(crate) fn read(&mut self) -> Result<String, String> {
        match &mut self.output {
            Output::Stream { unread, error: Some(reason) } if unread.is_empty() => Err(reason.clone()),
            Output::Stream { unread, .. } => Ok(std::mem::take(unread)),
            Output::Final(all) => Ok(all.clone()),
        }
    }

    /// Whether its output came to an error, which readers are still to be told.
    pub(crate) fn is_broken(&self) -> bool {
        matches!(&self.output, Output::Stream { error: Some(_), .. })
    }
}

/// Milliseconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
