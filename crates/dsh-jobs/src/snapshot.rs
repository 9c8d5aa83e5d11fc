//! What is known of a job at one moment.

use dsh_agent::AgentId;
use serde::{Deserialize, Serialize};

use crate::id::JobId;

/// What is known of a job at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobSnapshot {
    /// Its id.
    pub id: JobId,
    /// What kind of work it is, such as `bash`; never empty.
    pub kind: String,
    /// What it does, for a reader; never empty.
    pub label: String,
    /// Where it stands.
    pub status: JobStatus,
    /// When it began, in milliseconds since 1970.
    pub started_at: u64,
    /// Whether its owner knows how it ended, or does not need to be told.
    pub reported: bool,
    /// How much of its output a reader is shown, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_limit_bytes: Option<u64>,
    /// The agent that it works for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_session: Option<AgentId>,
    /// How it ended, in a few words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// When it ended, in milliseconds since 1970, not before it began; there exactly if it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<u64>,
}

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JobStatus {
    /// It works.
    Running,
    /// It was told to stop, and has not ended yet.
    Stopping,
    /// It came to its own end.
    Completed,
    /// It was stopped.
    Killed,
    /// It broke.
    Failed,
}

/// What a job came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TerminalStatus {
    /// It came to its own end.
    Completed,
    /// It was stopped.
    Killed,
    /// It broke.
    Failed,
}

impl JobStatus {
    /// Whether the job has ended.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Running | Self::Stopping => false,
            Self::Completed | Self::Killed | Self::Failed => true,
        }
    }

    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Stopping => "stopping",
            Self::Completed => "completed",
            Self::Killed => "killed",
            Self::Failed => "failed",
        }
    }
}

impl From<TerminalStatus> for JobStatus {
    fn from(status: TerminalStatus) -> Self {
        match status {
            TerminalStatus::Completed => Self::Completed,
            TerminalStatus::Killed => Self::Killed,
            TerminalStatus::Failed => Self::Failed,
        }
    }
}
