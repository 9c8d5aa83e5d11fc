//! A job as models see it.

use dsh_jobs::{JobSnapshot, JobStatus};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A background job.
// As models see it: without whose it is, how much of it is shown and whether its end is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PublicJob {
    /// The id of the job.
    pub(crate) id: String,
    /// What kind of work it is.
    pub(crate) kind: String,
    /// What it does.
    pub(crate) label: String,
    /// Where it stands.
    #[schemars(schema_with = "statuses")]
    pub(crate) status: JobStatus,
    /// When it began, in milliseconds since 1970.
    pub(crate) started_at: u64,
    /// How it ended, in a few words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) detail: Option<String>,
    /// When it ended, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) finished_at: Option<u64>,
}

impl PublicJob {
    /// Where it stands, for a reader.
    pub(crate) fn status_line(&self) -> String {
        status_line(self.status, self.detail.as_deref())
    }
}

impl From<JobSnapshot> for PublicJob {
    fn from(job: JobSnapshot) -> Self {
        let JobSnapshot { id, kind, label, status, started_at, detail, finished_at, .. } = job;
        Self { id: id.as_str().to_owned(), kind, label, status, started_at, detail, finished_at }
    }
}

/// Where a job stands, for a reader.
pub(crate) fn status_line(status: JobStatus, detail: Option<&str>) -> String {
    let status = status.as_str();
    match detail {
        Some(detail) => format!("[status: {status}, {detail}]"),
        None => format!("[status: {status}]"),
    }
}

fn statuses(_: &mut SchemaGenerator) -> Schema {
    use JobStatus::{Completed, Failed, Killed, Running, Stopping};
    let names = [Running, Stopping, Completed, Killed, Failed].map(JobStatus::as_str);
    json_schema!({ "type": "string", "enum": names })
}
