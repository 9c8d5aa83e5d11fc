//! What a call gives.

use std::path::Path;

use dsh_jobs::JobId;
use dsh_shell::{ShellOutput, ShellResult, push_line};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

/// What a call gives.
///
/// Source: the output schema of the tool `bash`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub(crate) enum BashValue {
    /// The command runs in the background.
    Background {
        /// The job.
        job_id: String,
    },
    /// The command has ended.
    Foreground {
        /// The code that it gave, unless a signal killed it.
        exit_code: Option<i32>,
        /// The name of the signal that killed it.
        signal: Option<String>,
        /// It was told to end by its time limit.
        timed_out: bool,
        /// It was told to end because its result was no longer wanted.
        aborted: bool,
        /// The time limit that held.
        #[serde(serialize_with = "plainly")]
        timeout_ms: f64,
        /// What it printed.
        stdout: Printed,
        /// What it printed as errors.
        stderr: Printed,
    },
}

/// What is kept of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Printed {
    /// The text; where bytes are missing a line says how many.
    pub(crate) text: String,
    /// Whether something is missing.
    pub(crate) truncated: bool,
    /// The file with all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) spill_path: Option<String>,
}

impl BashValue {
    pub(crate) fn background(job: &JobId) -> Self {
        Self::Background { job_id: job.to_string() }
    }
}

impl From<ShellResult> for BashValue {
    fn from(result: ShellResult) -> Self {
        let ShellResult { exit_code, signal, timed_out, aborted, timeout, stdout, stderr } = result;
        let timeout_ms = timeout.as_secs_f64() * 1e3;
        let (stdout, stderr) = (stdout.into(), stderr.into());
        Self::Foreground { exit_code, signal, timed_out, aborted, timeout_ms, stdout, stderr }
    }
}

impl From<ShellOutput> for Printed {
    fn from(output: ShellOutput) -> Self {
        let ShellOutput { cut, spill_path } = output;
        let truncated = cut.is_truncated();
        let mut text = cut.head;
        if truncated {
            push_line(&mut text, &format!("[{} bytes left out here]\n{}", cut.dropped, cut.tail));
        }
        let spill_path = spill_path.as_deref().map(Path::display).map(|path| path.to_string());
        Self { text, truncated, spill_path }
    }
}

/// A whole number without a fraction, as people write it.
fn plainly<S: Serializer>(ms: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    // Time limits are far below 2^53, where every whole number is one of these.
    if ms.fract() == 0.0 { serializer.serialize_u64(*ms as u64) } else { serializer.serialize_f64(*ms) }
}
