//! What cannot be played.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// A model is configured that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("model {model:?} of provider {provider:?} {problem}")]
pub struct ConfigError {
    /// The provider's id.
    pub(crate) provider: String,
    /// The model's id.
    pub(crate) model: String,
    /// What is wrong with it.
    pub(crate) problem: &'static str,
}

/// A file that cannot be played.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file cannot be read.
    #[error("{} cannot be read", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file has nothing in it.
    #[error("{} is empty: it is to be a script, {{\"steps\": […]}}, or the log of a session", .path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("{} is neither a script, {{\"steps\": […]}}, nor the log of a session", .path.display())]
    Neither {
        /// The file.
        path: PathBuf,
    },
    /// The script is not what a script is.
    #[error("the script {} is wrong at `{at}`: {source}", .path.display())]
    Script {
        /// The file.
        path: PathBuf,
        /// Where.
        at: String,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// The script has no steps.
    #[error("the script {} has no steps: give `steps` at least one answer, such as {{\"text\": \"Hello\"}}", .path.display())]
    NoSteps {
        /// The file.
        path: PathBuf,
    },
    /// A line of a recording is not what a log holds.
    #[error("line {line} of {}: {problem}", .path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// A recorded answer has no end.
    #[error("{}: the answer in turn {turn}, step {step} has no finish: give the whole script in an override file", .path.display())]
    Unfinished {
        /// The file.
        path: PathBuf,
        /// The turn.
        turn: u64,
        /// The step.
        step: u64,
    },
    /// A recorded summary was asked of a model, and its answer is not there.
    #[error("line {line} of {}: a summary was asked of a model, and the log has no `rawOutput` of it", .path.display())]
    NoRawOutput {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// The overrides are not what overrides are, or replace what is not there.
    #[error("the overrides {}: {problem}", .path.display())]
    Overrides {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// Overrides and other sessions are named without a recording that they belong to.
    #[error("overrides and other sessions belong to a recording: name it in `file` or in DSH_SNAPSHOT_FILE")]
    NoRecording,
    /// Scripts have nothing to be replaced.
    #[error("{} is a script, which overrides and other sessions are not for: change its steps", .path.display())]
    NotARecording {
        /// The file.
        path: PathBuf,
    },
}
