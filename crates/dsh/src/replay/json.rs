//! A replay as JSON lines: one `plan`, one `call` per call, `unloaded` if the guard was, one `summary`.

use std::io::{self, Write};

use serde::Serialize;

use crate::replay::compare::{Verdict, is_unknown};
use crate::replay::plan::{LoggedResult, PlannedCall};
use crate::replay::report::{Done, Intent, Unloaded};
use crate::replay::summary::Summary;
use crate::visible::visible_json;

/// Prints one object per line.
#[derive(Debug, Default)]
pub(crate) struct JsonLines;

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Line<'a> {
    Plan {
        file: String,
        session: &'a str,
        cwd: Option<&'a str>,
        turns: usize,
        workspace: Option<String>,
        deny: &'a [String],
        unload_after: Option<usize>,
        calls: Vec<Planned<'a>>,
    },
    Call {
        #[serde(flatten)]
        call: Planned<'a>,
        verdict: Verdict,
        unknown_tool: bool,
        is_error: bool,
        code: Option<&'a str>,
        content: String,
        logged: Option<&'a LoggedResult>,
        duration_ms: u64,
    },
    Unloaded(&'a Unloaded),
    Summary(&'a Summary),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Planned<'a> {
    number: usize,
    turn: u64,
    step: u64,
    call_id: &'a str,
    name: &'a str,
    arguments: &'a str,
}

impl JsonLines {
    pub(crate) fn intent(&mut self, intent: &Intent<'_>) -> io::Result<()> {
        print(&Line::Plan {
            file: intent.source.argument(),
            session: &intent.plan.session,
            cwd: intent.plan.cwd.as_deref(),
            turns: intent.plan.turns,
            workspace: intent.workspace.as_ref().map(|folder| folder.display().to_string()),
            deny: intent.denied,
            unload_after: intent.unload_after,
            calls: intent.plan.calls.iter().map(Planned::from).collect(),
        })
    }

    pub(crate) fn done(&mut self, done: &Done<'_>) -> io::Result<()> {
        let Done { call, outcome, verdict, duration } = done;
        print(&Line::Call {
            call: Planned::from(*call),
            verdict: *verdict,
            unknown_tool: is_unknown(outcome),
            is_error: outcome.is_error(),
            code: outcome.code(),
            content: outcome.text(),
            logged: call.logged.as_ref(),
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
        })
    }

    pub(crate) fn unloaded(&mut self, unloaded: &Unloaded) -> io::Result<()> {
        print(&Line::Unloaded(unloaded))
    }

    pub(crate) fn summary(&mut self, summary: &Summary) -> io::Result<()> {
        print(&Line::Summary(summary))
    }
}

impl<'a> From<&'a PlannedCall> for Planned<'a> {
    fn from(call: &'a PlannedCall) -> Self {
        Self {
            number: call.number,
            turn: call.turn,
            step: call.step,
            call_id: &call.id,
            name: &call.tool,
            arguments: &call.arguments,
        }
    }
}

fn print(line: &Line<'_>) -> io::Result<()> {
    let json = serde_json::to_string(line)?;
    let mut out = io::stdout().lock();
    writeln!(out, "{}", visible_json(&json))?;
    out.flush()
}
