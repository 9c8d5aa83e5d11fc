//! The tool `job_output`: what a job said, and where it stands.

use std::sync::Arc;
use std::time::Duration;

use cordis::Handle;
use dsh_jobs::{JobOutput, Jobs};
use dsh_tools::{
    CallView, ToolDefinition, ToolError, ToolOutcome, ToolRun, ViewKind, clamp_timeout, read_arguments, tool,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::config::Config;
use crate::given::job_id;
use crate::limit;
use crate::public_job::PublicJob;

pub(crate) const NAME: &str = "job_output";

const DESCRIPTION: &str = "Reads what a background job said. A job that speaks while it runs gives what is new since the last \
     read; any other gives all of it once it has ended. Each answer ends with `[status: …]`. It does not wait unless `wait` is \
     true.";
const NOTHING: &str = "(no new output)";

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Arguments {
    /// The id of the job, as the tool that started it gave it.
    job_id: String,
    /// Wait until the job has ended or the time is over. If the time is over first, the job runs on and its status is as it is.
    wait: Option<bool>,
    /// How long to wait, in milliseconds. Without it, and up to a maximum, the configuration decides.
    timeout_ms: Option<f64>,
}

/// What a job said, and the job.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Read {
    /// What it said.
    text: String,
    /// The job.
    job: PublicJob,
}

struct Reader {
    jobs: Handle<dyn Jobs>,
    wait: Duration,
    longest_wait: Duration,
}

/// What a call may take besides its wait.
const GRACE: Duration = Duration::from_secs(30);

/// The tool. A wait that is over is no failure, so its deadline comes after the longest one, and no shorter default of a timeout
/// policy counts.
pub(crate) fn job_output(jobs: &Handle<dyn Jobs>, config: &Config) -> impl Into<ToolDefinition> {
    let reader = Reader { jobs: jobs.clone(), wait: config.wait(), longest_wait: config.longest_wait() };
    let (jobs, deadline) = (jobs.clone(), config.longest_wait().saturating_add(GRACE));
    tool(NAME, DESCRIPTION)
        .with(reader)
        .run(run)
        .timeout(deadline)
        .render_text(|_: &Arguments, read: &Read| read.rendered())
        .finalize(move |call, outcome| limit::fitted(&jobs, call, outcome, |text| intact(outcome, text)))
        .present_call(|arguments: &Arguments| CallView::Generic {
            title: format!("Read output from background job {}", arguments.job_id),
            kind: Some(ViewKind::Read),
            raw_input: Some(json!(arguments.job_id)),
            content: Vec::new(),
            locations: Vec::new(),
        })
}

async fn run(reader: Arc<Reader>, arguments: Arguments, run: ToolRun) -> Result<Read, ToolError> {
    let id = job_id(&arguments.job_id)?;
    let jobs = reader.jobs.get()?;
    if arguments.wait == Some(true) {
        let time = reader.granted(arguments.timeout_ms)?;
        jobs.wait(id, time, run.agent(), run.cancellation()).await?;
    }
    let JobOutput { text, job } = jobs.read(id, run.agent())?;
    Ok(Read { text, job: job.into() })
}

impl Reader {
    fn granted(&self, requested: Option<f64>) -> Result<Duration, ToolError> {
        clamp_timeout("timeout_ms", requested, self.wait, self.longest_wait).map_err(|_| {
            let given = requested.unwrap_or_default();
            ToolError::new(format!(
                "invalid wait timeout: expected a positive number of milliseconds, got {given}"
            ))
        })
    }
}

impl Read {
    fn rendered(&self) -> String {
        let body = if self.text.is_empty() { NOTHING } else { &self.text };
        let gap = if body.ends_with('\n') { "" } else { "\n" };
        format!("{body}{gap}{}", self.job.status_line())
    }
}

/// The status line of a success that stands as it was rendered.
fn intact(outcome: &ToolOutcome, text: &str) -> Option<String> {
    let read: Read = read_arguments(outcome.value()?).ok()?;
    (read.rendered() == text).then(|| read.job.status_line())
}
