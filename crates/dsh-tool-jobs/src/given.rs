//! What a model gives as the id of a job.

use dsh_tools::ToolError;

/// The id, which is not empty.
pub(crate) fn job_id(given: &str) -> Result<&str, ToolError> {
    match given.is_empty() {
        true => Err(ToolError::new("invalid job_id: expected a non-empty string, got \"\"")),
        false => Ok(given),
    }
}
