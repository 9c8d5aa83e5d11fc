//! `dsh doctor`: what is set up for tasks, what is missing, and how to mend it.
//!
//! Read `checks` (what is looked at), then `online` (whether the model answers).
//!
//! **Architecture Invariant:** nothing is made, changed or sent, unless `--online` is given; and the key is never shown.

mod checks;
mod online;

use std::io::{self, Write};

use anyhow::Context as _;
use clap::ColorChoice;
use serde::Serialize;
use serde_json::json;

use crate::app::small_runtime;
use crate::cli::DoctorArgs;
use crate::exit::{Exit, Failure, UNWRITTEN};
use crate::paint::{Colour, Paint};
use crate::visible::{visible, visible_json};

/// How wide the columns before what was found are.
const VERDICT: usize = 7;
const NAME: usize = 10;

/// How something is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Ok,
    /// A task would run without it.
    Missing,
    /// No task would run.
    Fail,
}

/// Something that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Check {
    name: &'static str,
    verdict: Verdict,
    /// What was found.
    found: String,
    /// What to do about it.
    mend: Option<String>,
}

pub(crate) fn doctor(args: &DoctorArgs, color: ColorChoice) -> Result<Exit, Failure> {
    let mut checks = checks::all(args);
    if args.online {
        checks.push(small_runtime()?.block_on(online::answers()));
    }
    let fails = checks.iter().filter(|check| check.verdict == Verdict::Fail).count();
    let mut out = io::stdout().lock();
    let written = match args.json {
        true => lines(&mut out, &checks, fails),
        false => text(&mut out, Paint::for_stream(color, &io::stdout()), &checks, fails),
    };
    written.context(UNWRITTEN)?;
    Ok(if fails == 0 { Exit::Fine } else { Exit::Failed })
}

fn lines(out: &mut impl Write, checks: &[Check], fails: usize) -> io::Result<()> {
    for check in checks {
        let mut line = serde_json::to_value(check)?;
        line["type"] = "check".into();
        writeln!(out, "{}", visible_json(&line.to_string()))?;
    }
    writeln!(out, "{}", json!({ "type": "summary", "fails": fails, "wouldRun": fails == 0 }))
}

fn text(out: &mut impl Write, paint: Paint, checks: &[Check], fails: usize) -> io::Result<()> {
    for Check { name, verdict, found, mend } in checks {
        let (colour, label) = match verdict {
            Verdict::Ok => (Colour::Green, "ok"),
            Verdict::Missing => (Colour::Yellow, "missing"),
            Verdict::Fail => (Colour::Red, "fail"),
        };
        let label = format!("{label:VERDICT$}");
        writeln!(out, "{}  {name:NAME$}  {}", paint.with(colour, label), visible(found))?;
        if let Some(mend) = mend {
            writeln!(out, "{:indent$}{}", "", visible(mend), indent = VERDICT + NAME + 4)?;
        }
    }
    let summary = match fails {
        0 => "a task would run: dsh \"What is in this folder?\"",
        _ => "no task would run: mend what is marked `fail`",
    };
    writeln!(out, "\n{}", paint.with(Colour::Bold, summary))
}

impl Check {
    fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self { name, verdict: Verdict::Ok, found: found.into(), mend: None }
    }

    fn missing(name: &'static str, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { name, verdict: Verdict::Missing, found: found.into(), mend: Some(mend.into()) }
    }

    fn fail(name: &'static str, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { name, verdict: Verdict::Fail, found: found.into(), mend: Some(mend.into()) }
    }
}
