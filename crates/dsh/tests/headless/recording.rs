//! What is kept of a run: lines, each of which has to be the same.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::log;
use crate::masked::Masks;
use crate::request::{self, Asked};

/// A run, without what is new in every run.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recording {
    /// How the process ended. None where no process of the same kind was run.
    pub(crate) process: Option<Ended>,
    /// The requests that offered tools, in order, several lines each.
    pub(crate) requests: Vec<String>,
    /// The session's log, a line for each event or more.
    pub(crate) events: Vec<String>,
    /// What happens beside the turn, in no order: the title that a model gives.
    pub(crate) beside: Vec<String>,
}

/// How a process ended.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ended {
    /// None if a signal ended it.
    pub(crate) exit: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A run as it was.
pub(crate) struct Run<'r> {
    pub(crate) process: Option<Ended>,
    pub(crate) requests: &'r [Asked],
    /// The lines of the log, one event each.
    pub(crate) log: &'r [Value],
    pub(crate) server: &'r str,
    pub(crate) workspace: &'r str,
}

impl Recording {
    pub(crate) fn of(run: Run<'_>) -> Self {
        let masks = Masks::new(run.server, run.workspace, run.log);
        let (requests, mut beside) = request::lines(run.requests, &masks);
        let (events, told_beside) = log::lines(run.log, &masks);
        beside.extend(told_beside);
        beside.sort();
        let process = run.process.map(|ended| Ended {
            exit: ended.exit,
            stdout: masks.text(&ended.stdout),
            stderr: masks.text(&ended.stderr),
        });
        Self { process, requests, events, beside }
    }

    pub(crate) fn read(name: &str) -> Self {
        let path = path(name);
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        serde_json::from_str(&text).unwrap()
    }

    pub(crate) fn write(&self, name: &str) {
        fs::write(path(name), serde_json::to_string_pretty(self).unwrap() + "\n").unwrap();
    }

    /// All of it as lines.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(Ended { exit, stdout, stderr }) = &self.process {
            lines.push(exit.map_or_else(|| "exit by a signal".to_owned(), |code| format!("exit {code}")));
            lines.push(format!("stdout {stdout:?}"));
            lines.push(format!("stderr {stderr:?}"));
        }
        lines.extend_from_slice(&self.requests);
        lines.extend_from_slice(&self.events);
        lines.extend_from_slice(&self.beside);
        lines
    }
}

/// A file of these tests.
pub(crate) fn here(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/headless").join(name)
}

fn path(name: &str) -> PathBuf {
    here("recorded").join(format!("{name}.json"))
}
