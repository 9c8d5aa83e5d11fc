//! How jobs end when their owner, their plugin or the service does.
//!
//! All three go the same way: the jobs are reported, so that nobody is told of what was to be expected; each is told to stop; their ends are
//! awaited; what has not ended when the host waits no longer has failed.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use cordis::{Refused, chain};
use dsh_agent::WeakAgent;
use dsh_jobs::JobStatus;
use futures_util::future::join_all;

use crate::code::JobCode;
use crate::job::Job;
use crate::service::Service;

const OWNER_DISPOSED: &str = "owner disposed";
const SERVICE_DISPOSED: &str = "jobs service disposed";
const PLUGIN_UNLOADED: &str = "plugin unloaded";

/// Why jobs are told to stop, and whether their owner is told of their end.
#[derive(Clone, Copy)]
struct Reason {
    text: &'static str,
    told: bool,
}

/// Who ends a job that does not end by itself.
pub(crate) enum Ender {
    Service,
    Owner,
    /// It is unloaded, or has given the job back.
    Plugin,
}

impl Service {
    /// Who ends a job that is being ended.
    pub(crate) fn ender(&self, job: &Job) -> Ender {
        if self.is_ending() {
            Ender::Service
        } else if job.owner_ends() {
            Ender::Owner
        } else {
            Ender::Plugin
        }
    }

    /// Ends the jobs of an owner and removes them.
    pub(crate) async fn end_owner(&self, owner: &WeakAgent) {
        let (jobs, closed) = {
            let mut table = self.table.lock();
            table.close(owner);
            table.report_owner(owner);
            (table.live_of_owner(owner), table.closed)
        };
        let _removed = Removed { service: self, owner };
        let pending = Pending { service: self, jobs };
        if closed {
            // The service has told them already.
            pending.wait().await;
        } else {
            pending.stop(|_| Reason { text: OWNER_DISPOSED, told: false }).await;
        }
    }

    /// Ends the jobs of a plugin: all of them if it is unloaded, else the one that was given back.
    pub(crate) async fn end_with_producer(&self, number: u64) {
        let jobs = {
            let table = self.table.lock();
            match table.live_job(number) {
                // One after another would take the sum of their times.
                Some(job) if job.producer_ends() => table.live_of_producer(job.producer.uid()),
                job => job.into_iter().collect(),
            }
        };
        let reason = |job: &Job| match self.ender(job) {
            Ender::Service => Reason { text: SERVICE_DISPOSED, told: false },
            Ender::Owner => Reason { text: OWNER_DISPOSED, told: false },
            Ender::Plugin => Reason { text: PLUGIN_UNLOADED, told: !job.app_ends() },
        };
        Pending { service: self, jobs }.stop(reason).await;
    }

    /// Ends all jobs, and lets the owners go that live on.
    pub(crate) async fn end_all(&self) {
        self.over.store(true, Ordering::Release);
        let jobs = {
            let mut table = self.table.lock();
            table.closed = true;
            table.report_all();
            table.live()
        };
        let pending = Pending { service: self, jobs };
        pending.stop(|_| Reason { text: SERVICE_DISPOSED, told: false }).await;
        drop(pending);
        let cleanups = self.table.lock().cleanups();
        for cleanup in cleanups {
            cleanup.dispose().await;
        }
    }

    /// Tells a job to stop whose work has begun.
    fn stop(&self, job: &Job, reason: Reason) {
        {
            let mut table = self.table.lock();
            let Some(record) = table.record(job.number) else { return };
            record.snapshot.reported |= !reason.told;
            if record.snapshot.status.is_terminal() {
                return;
            }
        }
        let failure = match JobCode::cancel(&job.code, Some(reason.text)) {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(chain(&*error)),
            // Its plugin has taken the code back: it ends by that.
            Err(Refused::Gone { .. }) => None,
            Err(Refused::Panicked { reason, .. }) => Some(format!("panicked: {reason}")),
            Err(other) => Some(other.to_string()),
        };
        if let Some(failure) = failure {
            self.fail(job, format!("cancel failed during teardown, its work may be orphaned: {failure}"));
            return;
        }
        let stopping = self.table.lock().record(job.number).is_some_and(|record| {
            let running = record.snapshot.status == JobStatus::Running;
            if running {
                record.snapshot.status = JobStatus::Stopping;
            }
            running
        });
        if stopping {
            self.tell_change(job.agent());
        }
    }

    /// Ends a job that the host waits for no longer.
    fn give_up(&self, job: &Job) {
        if job.ended.is_cancelled() {
            return;
        }
        // Its work may begin this instant.
        if !self.forget(job) {
            self.fail(job, "it did not end in time when it was told to; its work may be orphaned".to_owned());
        }
    }
}

/// Jobs whose end is awaited. Dropped before, it fails those that have not ended.
struct Pending<'s> {
    service: &'s Service,
    jobs: Vec<Arc<Job>>,
}

impl Pending<'_> {
    /// Tells them to stop, all at once, and waits.
    async fn stop(&self, reason: impl Fn(&Job) -> Reason) {
        let stop = async |job: &Arc<Job>| {
            job.begun.cancelled().await;
            self.service.stop(job, reason(job));
            job.ended.cancelled().await;
        };
        join_all(self.jobs.iter().map(stop)).await;
    }

    async fn wait(&self) {
        join_all(self.jobs.iter().map(|job| job.ended.cancelled())).await;
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        self.jobs.iter().for_each(|job| self.service.give_up(job));
    }
}

/// Removes an owner with its jobs when dropped.
struct Removed<'s> {
    service: &'s Service,
    owner: &'s WeakAgent,
}

impl Drop for Removed<'_> {
    fn drop(&mut self) {
        let removed = self.service.table.lock().remove_owner(self.owner);
        if removed.is_some_and(|(_, records)| !records.is_empty()) {
            self.service.tell_change(Some(self.owner));
        }
    }
}
