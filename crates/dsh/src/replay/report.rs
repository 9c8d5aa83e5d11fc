//! Where a replay tells what it does: text for people, or JSON lines for programs.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use dsh_tools::ToolOutcome;
use serde::Serialize;

use crate::exit::UNWRITTEN;
use crate::replay::compare::Verdict;
use crate::replay::json::JsonLines;
use crate::replay::plan::{Plan, PlannedCall};
use crate::replay::source::Source;
use crate::replay::summary::Summary;
use crate::replay::timeline::Timeline;

/// What a replay is about to do.
#[derive(Debug)]
pub(crate) struct Intent<'a> {
    /// Where the log comes from.
    pub(crate) source: &'a Source,
    pub(crate) plan: &'a Plan,
    /// The folder that is copied; none for an empty one.
    pub(crate) workspace: Option<PathBuf>,
    pub(crate) denied: &'a [String],
    pub(crate) unload_after: Option<usize>,
}

/// A call that has come to its end.
#[derive(Debug)]
pub(crate) struct Done<'a> {
    pub(crate) call: &'a PlannedCall,
    pub(crate) outcome: &'a ToolOutcome,
    pub(crate) verdict: Verdict,
    pub(crate) duration: Duration,
}

/// What was left of the guard's plugin once it was unloaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Unloaded {
    pub(crate) plugin: String,
    /// How many calls had been made.
    pub(crate) after_calls: usize,
    /// The guards that were taken back.
    pub(crate) guards: usize,
    /// The listeners that were taken back.
    pub(crate) listeners: usize,
    /// What is still registered. Empty unless a part of the plugin refused to end.
    pub(crate) remaining: Vec<String>,
}

/// Tells what a replay does, while it does it.
pub(crate) enum Report {
    Text(Timeline),
    Json(JsonLines),
}

impl Report {
    pub(crate) fn intent(&mut self, intent: &Intent<'_>) -> anyhow::Result<()> {
        written(match self {
            Self::Text(timeline) => timeline.intent(intent),
            Self::Json(lines) => lines.intent(intent),
        })
    }

    pub(crate) fn started(&mut self, call: &PlannedCall) -> anyhow::Result<()> {
        written(match self {
            Self::Text(timeline) => timeline.started(call),
            Self::Json(_) => Ok(()),
        })
    }

    pub(crate) fn done(&mut self, done: &Done<'_>) -> anyhow::Result<()> {
        written(match self {
            Self::Text(timeline) => timeline.done(done),
            Self::Json(lines) => lines.done(done),
        })
    }

    pub(crate) fn unloaded(&mut self, unloaded: &Unloaded) -> anyhow::Result<()> {
        written(match self {
            Self::Text(timeline) => timeline.unloaded(unloaded),
            Self::Json(lines) => lines.unloaded(unloaded),
        })
    }

    /// The guard was to be unloaded after some calls, and so many were not made. In JSON the line `unloaded` is missing.
    pub(crate) fn kept(&mut self, unload_after: usize, made: usize) -> anyhow::Result<()> {
        written(match self {
            Self::Text(timeline) => timeline.kept(unload_after, made),
            Self::Json(_) => Ok(()),
        })
    }

    /// The sum of a replay that had nothing to run; the text has already said so.
    pub(crate) fn nothing(&mut self) -> anyhow::Result<()> {
        match self {
            Self::Text(_) => Ok(()),
            Self::Json(_) => self.summary(&Summary::default()),
        }
    }

    pub(crate) fn summary(&mut self, summary: &Summary) -> anyhow::Result<()> {
        written(match self {
            Self::Text(timeline) => timeline.summary(summary),
            Self::Json(lines) => lines.summary(summary),
        })
    }
}

fn written(result: io::Result<()>) -> anyhow::Result<()> {
    result.context(UNWRITTEN)
}
