//! The service: what is asked of it about jobs that there are.
//!
//! **Invariants**
//! 1. No lock is held while code of a producer, a listener or a registry runs, or is dropped.
//! 2. An end is recorded once, by whoever comes first; who has recorded it tells it.
//!
//! **Lock order:** `table`, then the host's own. Nothing else is locked while `table` is, and nothing of the host calls in here
//! with its own lock held.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use cordis::{BoxError, Context, Effect, Refused};
use dsh_agent::{Agent, WeakAgent};
use dsh_jobs::{
    AttachError, CHANGED, JobError, JobOutput, JobRequest, JobSnapshot, JobStatus, Jobs, JobsChanged,
    KillError, KillOutcome, KillRequest, StartError, WaitError,
};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::code::JobCode;
use crate::config::Config;
use crate::controllers::Controllers;
use crate::job::{Job, is_over};
use crate::table::Table;

pub(crate) struct Service {
    pub(crate) ctx: Context,
    /// Where the tasks that wait for jobs are registered; it is undone after the jobs have ended.
    pub(crate) tasks: Context,
    /// How many jobs of one owner may be active.
    pub(crate) limit: usize,
    pub(crate) controllers: Controllers,
    pub(crate) table: Mutex<Table>,
    pub(crate) numbers: AtomicU64,
    /// It has ended, or is about to; its fiber may be another service's by now.
    pub(crate) over: AtomicBool,
}

/// The service as it is provided.
pub(crate) struct LocalJobs(pub(crate) Arc<Service>);

impl Service {
    pub(crate) fn new(ctx: &Context, tasks: Context, config: &Config) -> Self {
        Self {
            ctx: ctx.clone(),
            tasks,
            limit: config.max_active_jobs.get(),
            controllers: Controllers::new(),
            table: Mutex::default(),
            numbers: AtomicU64::new(0),
            over: AtomicBool::new(false),
        }
    }

    /// Whether the service ends, and says nothing any more.
    pub(crate) fn is_ending(&self) -> bool {
        self.over.load(Ordering::Acquire) || is_over(self.ctx.fiber().state())
    }

    /// Tells that the jobs of an owner have changed; of one that is gone there is nobody to tell.
    pub(crate) fn tell_change(&self, owner: Option<&WeakAgent>) {
        let agent = owner.and_then(WeakAgent::upgrade);
        if !self.is_ending() && agent.is_some() == owner.is_some() {
            self.ctx.emit(CHANGED, &JobsChanged { owner: agent });
        }
    }

    fn read(&self, id: &str, caller: Option<&Agent>) -> Result<JobOutput, JobError> {
        let failed = |reason| JobError::Output { id: id.to_owned(), reason };
        let (job, before) = {
            let mut table = self.table.lock();
            let record = table.find(id, caller)?;
            let job = record.report();
            if job.status.is_terminal() {
                return record.read().map(|text| JobOutput { text, job }).map_err(failed);
            }
            (Arc::clone(&record.job), job)
        };
        let mut text = match JobCode::read(&job.code) {
            Ok(text) => text,
            // It has ended, or is about to: what it said last is in its record.
            Err(Refused::Gone { .. }) => String::new(),
            Err(Refused::Panicked { reason, .. }) => return Err(failed(reason)),
            Err(other) => return Err(failed(other.to_string())),
        };
        let mut table = self.table.lock();
        // Removed meanwhile, with its owner.
        let Some(record) = table.record(job.number) else { return Ok(JobOutput { text, job: before }) };
        if !record.snapshot.status.is_terminal() {
            return Ok(JobOutput { text, job: record.snapshot.clone() });
        }
        match record.read() {
            Ok(rest) => text.push_str(&rest),
            Err(reason) if text.is_empty() => {
                record.report();
                return Err(failed(reason));
            }
            Err(_) => {}
        }
        // The error is still to be told, so this is not the last answer.
        let job = if record.is_broken() { before } else { record.report() };
        Ok(JobOutput { text, job })
    }

    fn kill(&self, request: KillRequest<'_>) -> Result<KillOutcome, KillError> {
        let KillRequest { id, caller, reason } = request;
        let job = {
            let mut table = self.table.lock();
            let record = table.find(id, caller)?;
            let snapshot = record.report();
            if snapshot.status.is_terminal() {
                return Ok(KillOutcome::AlreadyFinished(snapshot));
            }
            Arc::clone(&record.job)
        };
        let told = JobCode::cancel(&job.code, reason);
        self.told(id, &job, told)
    }

    /// What came of telling a job to stop that ran a moment ago.
    fn told(
        &self,
        id: &str,
        job: &Job,
        told: Result<Result<(), BoxError>, Refused>,
    ) -> Result<KillOutcome, KillError> {
        let refusal = match told {
            // Taken back: it has ended, or its plugin ends it.
            Ok(Ok(())) | Err(Refused::Gone { .. }) => None,
            Ok(Err(error)) => Some(error),
            Err(other) => Some(other.into()),
        };
        let outcome = {
            let mut table = self.table.lock();
            let unknown = || JobError::Unknown { id: id.to_owned() };
            let record = table.record(job.number).ok_or_else(unknown)?;
            let snapshot = record.report();
            if snapshot.status.is_terminal() {
                return Ok(KillOutcome::AlreadyFinished(snapshot));
            }
            if let Some(source) = refusal {
                return Err(KillError::Cancel { id: id.to_owned(), source });
            }
            record.snapshot.status = JobStatus::Stopping;
            record.snapshot.reported = true;
            KillOutcome::Requested(record.snapshot.clone())
        };
        self.tell_change(job.agent());
        Ok(outcome)
    }
}

impl Jobs for LocalJobs {
    fn start(&self, ctx: &Context, request: JobRequest) -> Result<JobSnapshot, StartError> {
        self.0.start(ctx, request)
    }

    fn attach_controller(&self, ctx: &Context, label: &str) -> Result<Effect, AttachError> {
        self.0.controllers.attach(ctx, label)
    }

    fn list(&self, caller: Option<&Agent>) -> Vec<JobSnapshot> {
        self.0.table.lock().list(caller)
    }

    fn get(&self, id: &str, caller: Option<&Agent>) -> Result<JobSnapshot, JobError> {
        self.0.table.lock().find(id, caller).map(|record| record.snapshot.clone())
    }

    fn read(&self, id: &str, caller: Option<&Agent>) -> Result<JobOutput, JobError> {
        self.0.read(id, caller)
    }

    fn kill(&self, request: KillRequest<'_>) -> Result<KillOutcome, KillError> {
        self.0.kill(request)
    }

    fn wait<'a>(
        &'a self,
        id: &'a str,
        time: Duration,
        caller: Option<&'a Agent>,
        cancellation: &'a CancellationToken,
    ) -> Pin<Box<dyn Future<Output = Result<JobSnapshot, WaitError>> + Send + 'a>> {
        Box::pin(self.0.wait(id, time, caller, cancellation))
    }
}

#[cfg(test)]
mod tests;
