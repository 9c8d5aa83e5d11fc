//! How a job ends by itself: its end is recorded, those who wait are told, then everybody else.

use std::sync::Arc;
use std::time::Duration;

use cordis::{Refused, chain};
use dsh_agent::WeakAgent;
use dsh_jobs::{DONE, JobDone, JobOutcome, TerminalStatus};
use tokio::sync::{mpsc, oneshot};

use crate::code::{Done, JobCode};
use crate::job::Job;
use crate::record::Told;
use crate::service::Service;

/// How long those who wait for a job may take to receive its end before it is told as one that nobody knows of. They take no
/// time at all, unless somebody keeps a wait and does not poll it.
const RECEIPT: Duration = Duration::from_secs(1);

/// The work has begun; refused if its plugin has taken it back already.
pub(crate) type Begun = Result<Done, Refused>;

/// Those who wait and were told; gives something once one of them has received it, or all have left.
pub(crate) type Receipts = mpsc::UnboundedReceiver<()>;

/// Waits for the end of a job's work.
pub(crate) async fn drive(service: Arc<Service>, job: Arc<Job>, begun: oneshot::Receiver<Begun>) {
    // Last of all, and also if this task is dropped: its plugin is held up no longer.
    let _taken_back = TakenBack(Arc::clone(&job));
    // Gone without a word: the work did not begin.
    let Ok(begun) = begun.await else { return };
    let done = match begun {
        Ok(done) => done.await,
        Err(refused) => Err(refused),
    };
    let outcome = match done {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(error)) => failed(chain(&*error)),
        Err(Refused::Gone { plugin }) => failed(format!("`{plugin}` was unloaded before the job ended")),
        Err(Refused::Panicked { reason, .. }) => failed(format!("panicked: {reason}")),
        Err(other) => failed(other.to_string()),
    };
    let Some(mut receipts) = service.record_end(&job, outcome) else { return };
    if !service.is_reported(&job) {
        let _ = tokio::time::timeout(RECEIPT, receipts.recv()).await;
    }
    service.tell_end(&job);
}

pub(crate) fn failed(detail: String) -> JobOutcome {
    JobOutcome { status: TerminalStatus::Failed, detail: Some(detail), output: None }
}

/// Takes the code of a job back when dropped.
struct TakenBack(Arc<Job>);

impl Drop for TakenBack {
    fn drop(&mut self) {
        self.0.lending.cancel();
    }
}

impl Service {
    /// Records the end of a job and tells those who wait; none if it had ended.
    pub(crate) fn record_end(&self, job: &Job, outcome: JobOutcome) -> Option<Receipts> {
        // Outside of the lock, so before it is known who comes first.
        let rest = match JobCode::read(&job.code) {
            Ok(rest) => Ok(rest),
            Err(Refused::Gone { .. }) => Ok(String::new()),
            Err(Refused::Panicked { reason, .. }) => Err(reason),
            Err(other) => Err(other.to_string()),
        };
        let (snapshot, waiters) = {
            let mut table = self.table.lock();
            let record = table.record(job.number)?;
            if record.snapshot.status.is_terminal() {
                record.add(rest);
                return None;
            }
            record.end(outcome, rest);
            let (snapshot, waiters) = (record.snapshot.clone(), std::mem::take(&mut record.waiters));
            table.free_place(job.number);
            (snapshot, waiters)
        };
        let (received, receipts) = mpsc::unbounded_channel();
        for waiter in waiters.into_values() {
            if !waiter.cancellation.is_cancelled() {
                let _ = waiter.told.send(Told { snapshot: snapshot.clone(), received: received.clone() });
            }
        }
        Some(receipts)
    }

    fn is_reported(&self, job: &Job) -> bool {
        self.table.lock().record(job.number).is_none_or(|record| record.snapshot.reported)
    }

    /// Tells everybody of a job whose end was recorded by the caller.
    pub(crate) fn tell_end(&self, job: &Job) {
        let snapshot = self.table.lock().record(job.number).map(|record| record.snapshot.clone());
        if let Some(snapshot) = snapshot {
            self.tell_change(job.agent());
            // The owner is there: it is held until the job is let go.
            let owner = job.agent().and_then(WeakAgent::upgrade);
            if !self.is_ending() && owner.is_some() == job.owner.is_some() {
                self.ctx.emit(DONE, &JobDone { job: snapshot, owner });
            }
        }
        let gone = self.table.lock().let_go(job.number);
        drop(gone);
        job.ended.cancel();
    }

    /// Ends a job whatever its work does.
    pub(crate) fn fail(&self, job: &Job, detail: String) {
        if self.record_end(job, failed(detail)).is_some() {
            self.tell_end(job);
        }
    }

    /// Forgets a job unless it is registered, which it never is from then on; says whether it did.
    pub(crate) fn forget(&self, job: &Job) -> bool {
        let gone = {
            let mut table = self.table.lock();
            if table.record(job.number).is_some() {
                return false;
            }
            table.let_go(job.number)
        };
        drop(gone);
        job.ended.cancel();
        true
    }
}
