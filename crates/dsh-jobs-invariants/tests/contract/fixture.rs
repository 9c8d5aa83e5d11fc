//! A service whose jobs are whatever a test says.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use cordis::{Context, Effect};
use dsh_agent::Agent;
use dsh_jobs::{
    AttachError, JOBS, JobError, JobId, JobOutput, JobRequest, JobSnapshot, JobStatus, Jobs, KillError,
    KillOutcome, KillRequest, StartError, WaitError,
};
use tokio_util::sync::CancellationToken;

/// Lists these jobs, and does nothing else.
pub(crate) struct Listed(pub(crate) Vec<JobSnapshot>);

impl Listed {
    pub(crate) fn provide(jobs: Vec<JobSnapshot>, ctx: &Context) -> Effect {
        ctx.provide(JOBS, Arc::new(Self(jobs)) as Arc<dyn Jobs>).unwrap()
    }
}

impl Jobs for Listed {
    fn start(&self, _ctx: &Context, _request: JobRequest) -> Result<JobSnapshot, StartError> {
        Err(StartError::NoController)
    }

    fn attach_controller(&self, ctx: &Context, label: &str) -> Result<Effect, AttachError> {
        Ok(ctx.effect(label.to_owned(), async || ())?)
    }

    fn list(&self, caller: Option<&Agent>) -> Vec<JobSnapshot> {
        let session = caller.map(Agent::id);
        let seen = |job: &&JobSnapshot| job.owner_session.is_none() || job.owner_session.as_ref() == session;
        self.0.iter().filter(seen).cloned().collect()
    }

    fn get(&self, id: &str, _caller: Option<&Agent>) -> Result<JobSnapshot, JobError> {
        Err(JobError::Unknown { id: id.to_owned() })
    }

    fn read(&self, id: &str, _caller: Option<&Agent>) -> Result<JobOutput, JobError> {
        Err(JobError::Unknown { id: id.to_owned() })
    }

    fn kill(&self, request: KillRequest<'_>) -> Result<KillOutcome, KillError> {
        Err(JobError::Unknown { id: request.id.to_owned() }.into())
    }

    fn wait<'a>(
        &'a self,
        id: &'a str,
        _time: Duration,
        _caller: Option<&'a Agent>,
        _cancellation: &'a CancellationToken,
    ) -> Pin<Box<dyn Future<Output = Result<JobSnapshot, WaitError>> + Send + 'a>> {
        Box::pin(async move { Err(JobError::Unknown { id: id.to_owned() }.into()) })
    }
}

/// A job that runs and breaks no rule.
pub(crate) fn running() -> JobSnapshot {
    JobSnapshot {
        id: JobId::new("bash", 1),
        kind: "bash".into(),
        label: "npm test".into(),
        status: JobStatus::Running,
        started_at: 1_700_000_000_000,
        reported: false,
        output_limit_bytes: None,
        owner_session: None,
        detail: None,
        finished_at: None,
    }
}

/// One that has ended.
pub(crate) fn ended() -> JobSnapshot {
    JobSnapshot { status: JobStatus::Completed, finished_at: Some(1_700_000_000_000), ..running() }
}
