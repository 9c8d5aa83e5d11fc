//! The tool `job_kill`: tells a job to stop.

use std::sync::Arc;

use cordis::Handle;
use dsh_jobs::{Jobs, KillOutcome, KillRequest};
use dsh_tools::{CallView, ToolDefinition, ToolError, ToolRun, ViewKind, tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::given::job_id;
use crate::limit;
use crate::public_job::PublicJob;

pub(crate) const NAME: &str = "job_kill";

const DESCRIPTION: &str = "Tells a running background job to stop, and does not wait for it: the job keeps its place until its \
     work has really stopped. What it said can still be read with job_output.";

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Arguments {
    /// The id of the job, as the tool that started it gave it.
    job_id: String,
    /// Why, in a few words. The job is told.
    reason: Option<String>,
}

/// What came of it, and the job.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Killed {
    /// What came of it.
    outcome: Outcome,
    /// The job.
    job: PublicJob,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Outcome {
    CancellationRequested,
    AlreadyFinished,
}

/// The tool.
pub(crate) fn job_kill(jobs: &Handle<dyn Jobs>) -> impl Into<ToolDefinition> {
    let finalizing = jobs.clone();
    tool(NAME, DESCRIPTION)
        .with(jobs.clone())
        .run(run)
        .render_text(|_: &Arguments, killed: &Killed| killed.rendered())
        .finalize(move |call, outcome| limit::fitted(&finalizing, call, outcome, |_| None))
        .present_call(|arguments: &Arguments| CallView::Generic {
            title: format!("Kill background job {}", arguments.job_id),
            kind: Some(ViewKind::Execute),
            raw_input: Some(json!(arguments.job_id)),
            content: Vec::new(),
            locations: Vec::new(),
        })
}

async fn run(jobs: Arc<Handle<dyn Jobs>>, arguments: Arguments, run: ToolRun) -> Result<Killed, ToolError> {
    let Arguments { job_id: id, reason } = arguments;
    let request = KillRequest { id: job_id(&id)?, caller: run.agent(), reason: reason.as_deref() };
    Ok(match jobs.get()?.kill(request)? {
        KillOutcome::Requested(job) => Killed { outcome: Outcome::CancellationRequested, job: job.into() },
        KillOutcome::AlreadyFinished(job) => Killed { outcome: Outcome::AlreadyFinished, job: job.into() },
    })
}

impl Killed {
    /// What matters comes last: a reader may be shown only the end.
    fn rendered(&self) -> String {
        let id = &self.job.id;
        match self.outcome {
            Outcome::CancellationRequested => format!("cancellation was requested for job {id}"),
            Outcome::AlreadyFinished => {
                format!("nothing to cancel: job {id} had already finished {}", self.job.status_line())
            }
        }
    }
}
