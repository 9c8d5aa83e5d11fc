//! The tool `job_list`: the jobs that the caller sees.

use std::sync::Arc;

use cordis::Handle;
use dsh_jobs::Jobs;
use dsh_tools::{CallView, ToolDefinition, ToolError, ToolRun, ViewKind, title, tool};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::public_job::PublicJob;

const DESCRIPTION: &str = "Lists your background jobs, those that run and those that have ended, with their ids, kinds and statuses.";

// Some APIs want an object's properties listed even if there are none.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("properties" = {}))]
struct Arguments {}

/// The tool. It changes nothing, so any number of its calls may run side by side, and may be repeated.
pub(crate) fn job_list(jobs: &Handle<dyn Jobs>) -> impl Into<ToolDefinition> {
    tool("job_list", DESCRIPTION)
        .with(jobs.clone())
        .run(run)
        .parallel()
        .idempotent()
        .render_text(|_: &Arguments, jobs: &Vec<PublicJob>| rendered(jobs))
        .present_call(|_: &Arguments| CallView::Generic {
            title: "List background jobs".to_owned(),
            kind: Some(ViewKind::Read),
            raw_input: None,
            content: Vec::new(),
            locations: Vec::new(),
        })
}

async fn run(
    jobs: Arc<Handle<dyn Jobs>>,
    Arguments {}: Arguments,
    run: ToolRun,
) -> Result<Vec<PublicJob>, ToolError> {
    Ok(jobs.get()?.list(run.agent()).into_iter().map(PublicJob::from).collect())
}

fn rendered(jobs: &[PublicJob]) -> String {
    if jobs.is_empty() {
        return "(no background jobs)".to_owned();
    }
    let line = |job: &PublicJob| {
        format!("{} [{}] {} — {}", job.id, job.kind, job.status.as_str(), title(&job.label))
    };
    jobs.iter().map(line).collect::<Vec<_>>().join("\n")
}
