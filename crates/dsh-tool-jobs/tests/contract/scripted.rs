//! Jobs that change in the middle of a call, and a service that fails: what a real one does only now and then.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use cordis::{Context, Effect};
use dsh_agent::Agent;
use dsh_jobs::{
    AttachError, JOBS, JobError, JobId, JobOutput, JobRequest, JobSnapshot, JobStatus, Jobs, KillError,
    KillOutcome, KillRequest, StartError, WaitError,
};
use dsh_tool_jobs::Config;
use dsh_tools::ToolOutcome;
use parking_lot::Mutex;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::fixture::Fixture;

/// A service that answers what it is told to.
struct Scripted {
    /// What `get` gives, in order; the last one is given for ever.
    states: Mutex<VecDeque<JobSnapshot>>,
    /// What `read` gives, in order.
    reads: Mutex<VecDeque<Result<JobOutput, JobError>>>,
}

impl Jobs for Scripted {
    fn start(&self, _: &Context, _: JobRequest) -> Result<JobSnapshot, StartError> {
        Err(StartError::Kind)
    }

    fn attach_controller(&self, ctx: &Context, _: &str) -> Result<Effect, AttachError> {
        Ok(ctx.effect("controller", async || ())?)
    }

    fn list(&self, _: Option<&Agent>) -> Vec<JobSnapshot> {
        Vec::new()
    }

    fn get(&self, _: &str, _: Option<&Agent>) -> Result<JobSnapshot, JobError> {
        let mut states = self.states.lock();
        let state = states.front().cloned().unwrap();
        if states.len() > 1 {
            states.pop_front();
        }
        Ok(state)
    }

    fn read(&self, _: &str, _: Option<&Agent>) -> Result<JobOutput, JobError> {
        self.reads.lock().pop_front().unwrap()
    }

    fn kill(&self, request: KillRequest<'_>) -> Result<KillOutcome, KillError> {
        Err(KillError::Cancel { id: request.id.to_owned(), source: "0123456789".repeat(5).into() })
    }

    fn wait<'a>(
        &'a self,
        _: &'a str,
        _: Duration,
        _: Option<&'a Agent>,
        _: &'a CancellationToken,
    ) -> Pin<Box<dyn Future<Output = Result<JobSnapshot, WaitError>> + Send + 'a>> {
        Box::pin(async { Err(WaitError::Aborted) })
    }
}

fn job(status: JobStatus) -> JobSnapshot {
    JobSnapshot {
        id: JobId::new("bash", 1),
        kind: "bash".to_owned(),
        label: "echo hi".to_owned(),
        status,
        started_at: 1,
        reported: false,
        output_limit_bytes: None,
        owner_session: None,
        detail: None,
        finished_at: status.is_terminal().then_some(2),
    }
}

/// The first state is what the capture of the limit sees.
async fn call(tool: &str, states: Vec<JobSnapshot>, reads: Vec<Result<JobOutput, JobError>>) -> ToolOutcome {
    let fixture = Fixture::without_jobs().await;
    let jobs: Arc<dyn Jobs> =
        Arc::new(Scripted { states: Mutex::new(states.into()), reads: Mutex::new(reads.into()) });
    fixture.app.provide(JOBS, jobs).unwrap();
    fixture.mount(&fixture.app, Config::default()).await;
    fixture.call(tool, json!({ "job_id": "bash-1" })).await
}

// spec: timeout-jobs-hooks/J41
#[tokio::test]
async fn the_text_is_given_with_the_job_that_it_was_read_of_however_it_stands_by_then() {
    let [running, stopping] = [JobStatus::Running, JobStatus::Stopping].map(job);
    for (before, read, after, expected) in [
        (&running, stopping.clone(), JobStatus::Killed, "[status: stopping]"),
        (&stopping, job(JobStatus::Completed), JobStatus::Completed, "[status: completed]"),
    ] {
        let reads = vec![Ok(JobOutput { text: "so far".to_owned(), job: read })];
        let outcome = call("job_output", vec![before.clone(), job(after)], reads).await;
        assert_eq!(outcome.text(), format!("so far\n{expected}"));
    }
}

// spec: timeout-jobs-hooks/J47, timeout-jobs-hooks/J48
#[tokio::test]
async fn a_failure_to_read_or_to_kill_is_cut_as_a_whole() {
    let limited = || JobSnapshot { output_limit_bytes: Some(30), ..job(JobStatus::Running) };
    let foreign = JobError::Foreign { id: "bash-1".to_owned() };
    let outcome = call("job_output", vec![limited()], vec![Err(foreign)]).await;
    assert_eq!(outcome.text(), "her session\n[result truncated]");
    assert_eq!(outcome.as_failure().unwrap().message(), "job bash-1 belongs to another session");
    let outcome = call("job_kill", vec![limited()], vec![]).await;
    assert_eq!(outcome.text(), "90123456789\n[result truncated]");
    let message = outcome.as_failure().unwrap().message().to_owned();
    assert_eq!(message, format!("job bash-1 could not be told to stop: {}", "0123456789".repeat(5)));
}
