//! Waiting for the end of a job.

use std::sync::atomic::Ordering;
use std::time::Duration;

use dsh_agent::Agent;
use dsh_jobs::{JobError, JobSnapshot, WaitError};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::record::{Told, Waiter};
use crate::service::Service;

/// The longest time that is waited for: further than any clock of this process goes.
const FOR_EVER: Duration = Duration::from_secs(60 * 60 * 24 * 365 * 30);

impl Service {
    pub(crate) async fn wait(
        &self,
        id: &str,
        time: Duration,
        caller: Option<&Agent>,
        cancellation: &CancellationToken,
    ) -> Result<JobSnapshot, WaitError> {
        if time.is_zero() {
            return Err(WaitError::Time { given_ms: time.as_millis() });
        }
        let (mut place, mut told) = {
            let (tell, told) = oneshot::channel();
            let mut table = self.table.lock();
            let record = table.find(id, caller)?;
            let snapshot = record.report();
            if snapshot.status.is_terminal() {
                return Ok(snapshot);
            }
            if cancellation.is_cancelled() {
                return Err(WaitError::Aborted);
            }
            let (job, number) = (record.job.number, self.numbers.fetch_add(1, Ordering::Relaxed));
            record.waiters.insert(number, Waiter { cancellation: cancellation.clone(), told: tell });
            (Waiting { service: self, job, number }, told)
        };
        // What came of the job counts before a cancellation, and that before the time.
        tokio::select! {
            biased;
            told = &mut told => match told {
                Ok(told) => Ok(place.receive(told)),
                // It ended when this wait was cancelled, or it was removed before it had ended.
                Err(_) if cancellation.is_cancelled() => Err(WaitError::Aborted),
                Err(_) => Err(JobError::Unknown { id: id.to_owned() }.into()),
            },
            () = cancellation.cancelled() => Err(WaitError::Aborted),
            () = tokio::time::sleep(time.min(FOR_EVER)) => place.look(id),
        }
    }
}

/// One who waits; unregistered when dropped.
struct Waiting<'s> {
    service: &'s Service,
    job: u64,
    number: u64,
}

impl Waiting<'_> {
    /// The end of the job has come to somebody.
    fn receive(&mut self, told: Told) -> JobSnapshot {
        let Told { mut snapshot, received } = told;
        {
            let mut table = self.service.table.lock();
            match table.record(self.job) {
                Some(record) => snapshot = record.report(),
                // Removed meanwhile, with its owner.
                None => snapshot.reported = true,
            }
        }
        // Gone if nobody waits for that any more.
        let _ = received.send(());
        snapshot
    }

    /// The job as it is.
    fn look(&mut self, id: &str) -> Result<JobSnapshot, WaitError> {
        let mut table = self.service.table.lock();
        let record = table.record(self.job);
        record.map(|record| record.report()).ok_or_else(|| JobError::Unknown { id: id.to_owned() }.into())
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let left = {
            let mut table = self.service.table.lock();
            table.record(self.job).and_then(|record| record.waiters.remove(&self.number))
        };
        drop(left);
    }
}

#[cfg(test)]
mod tests;
