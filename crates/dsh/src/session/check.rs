//! `dsh session check`: what is wrong with a log, line by line.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::ColorChoice;
use dsh_session::{Checkup, StorageError, Verdict};
use serde_json::{Value, json};

use super::place::Place;
use super::progress;
use super::times::moment;
use crate::cli::SessionCheckArgs;
use crate::exit::{Exit, Failure, UNWRITTEN};
use crate::paint::{Colour, Paint};
use crate::visible::visible;

/// The most bytes of text that one log may hold, unpacked.
const MAX_LOG_BYTES: u64 = 4 << 30;

pub(crate) fn check(place: &Place, args: &SessionCheckArgs, color: ColorChoice) -> Result<Exit, Failure> {
    let logs = match &args.path {
        Some(path) => logs_of(path)?,
        None => match place {
            Place::Folder(root) => logs_of(root)?,
            Place::Database(_) => {
                return Err(Failure::bad_input(anyhow!(
                    "a database is checked as it is read: use `dsh session show`"
                )));
            }
        },
    };
    let bar = progress::bar(logs.len() as u64, "checking");
    let mut worst = Exit::Fine;
    let mut out = io::stdout().lock();
    let paint = Paint::for_stream(color, &io::stdout());
    for path in &logs {
        let checked = look(path);
        if !checked.as_ref().is_ok_and(Checked::is_sound) {
            worst = Exit::Failed;
        }
        bar.suspend(|| match args.json {
            true => writeln!(out, "{}", described(path, &checked)),
            false => told(&mut out, paint, path, &checked),
        })
        .context(UNWRITTEN)?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    if logs.is_empty() && !args.json {
        writeln!(out, "there are no logs to check").context(UNWRITTEN)?;
    }
    Ok(worst)
}

/// The log that a path is, or all logs below it.
fn logs_of(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let shown = || visible(&path.display().to_string());
    let meta =
        fs::metadata(path).with_context(|| format!("cannot read {}", shown())).map_err(Failure::bad_input)?;
    if meta.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let mut logs = Vec::new();
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder)
            .with_context(|| format!("cannot read {}", visible(&folder.display().to_string())))?;
        for entry in entries {
            let path = entry?.path();
            // Links are not followed: a store has none, and one could lead in a circle.
            let Ok(meta) = fs::symlink_metadata(&path) else { continue };
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if meta.is_dir() {
                folders.push(path);
            } else if name.ends_with(".jsonl") || name.ends_with(".jsonl.zstd") {
                logs.push(path);
            }
        }
    }
    logs.sort();
    Ok(logs)
}

/// What there is to say of a log's file.
struct Checked {
    checkup: Checkup,
    /// Where a frame begins that was cut, and how many bytes there are of it.
    cut_frame: Option<(usize, usize)>,
}

impl Checked {
    fn is_sound(&self) -> bool {
        matches!(self.checkup.verdict, Verdict::Sound | Verdict::Open { .. }) && self.cut_frame.is_none()
    }
}

fn look(path: &Path) -> Result<Checked, String> {
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    let shown = path.display().to_string();
    let unpacked = dsh_session_jsonl::unpack(&shown, &bytes, MAX_LOG_BYTES).map_err(|error| match error {
        // It names a session that is not known yet.
        StorageError::Corrupt { what, .. } => what,
        other => other.to_string(),
    })?;
    let checkup = Checkup::of(&unpacked.text, unpacked.whole);
    Ok(Checked { checkup, cut_frame: unpacked.cut_frame.map(|at| (at, bytes.len() - at)) })
}

fn told(
    out: &mut impl Write,
    paint: Paint,
    path: &Path,
    checked: &Result<Checked, String>,
) -> io::Result<()> {
    let path = visible(&path.display().to_string());
    let Checked { checkup, cut_frame } = match checked {
        Ok(checked) => checked,
        Err(error) => {
            return writeln!(
                out,
                "{path}: {}\n    {}",
                paint.with(Colour::Red, "unreadable"),
                visible(error)
            );
        }
    };
    let (colour, verdict) = match (&checkup.verdict, cut_frame) {
        (Verdict::Sound | Verdict::Open { .. }, Some(_)) => (Colour::Yellow, CUT.to_owned()),
        (verdict, _) => of_verdict(verdict),
    };
    let (lines, events) = (checkup.lines, checkup.events);
    writeln!(out, "{path}: {} ({lines} lines, {events} events)", paint.with(colour, verdict))?;
    for finding in &checkup.findings {
        writeln!(out, "    line {}: {}", finding.line, visible(&finding.problem.to_string()))?;
    }
    if checkup.more_findings > 0 {
        writeln!(out, "    and {} more", checkup.more_findings)?;
    }
    if let Some((at, bytes)) = cut_frame {
        let kept = checkup.events;
        writeln!(
            out,
            "    byte {at}: the last frame was cut after {bytes} bytes; a resume keeps the {kept} whole events and writes what is left of it again"
        )?;
    }
    if let (Verdict::Torn { line, bytes, closers }, Some(header)) = (&checkup.verdict, &checkup.header) {
        let created = moment(i64::try_from(header.created_at_ms).unwrap_or(i64::MAX));
        writeln!(
            out,
            "    a resume of `{}` (created {created}) takes away {bytes} bytes from line {line} on and closes {closers} open events",
            visible(&header.id)
        )?;
    }
    Ok(())
}

const CUT: &str = "cut at its end; it can be resumed";

fn of_verdict(verdict: &Verdict) -> (Colour, String) {
    match verdict {
        Verdict::Sound => (Colour::Green, "sound".to_owned()),
        Verdict::Open { closers } => {
            (Colour::Yellow, format!("sound, its last turn is open (a resume adds {closers} events)"))
        }
        Verdict::Torn { .. } => (Colour::Yellow, CUT.to_owned()),
        Verdict::Unsupported => (Colour::Red, "made by something that this build does not know".to_owned()),
        _ => (Colour::Red, "damaged; it cannot be resumed".to_owned()),
    }
}

fn described(path: &Path, checked: &Result<Checked, String>) -> Value {
    match checked {
        Err(error) => json!({ "path": path, "verdict": "unreadable", "error": error }),
        Ok(Checked { checkup, cut_frame }) => {
            let (verdict, detail) = match &checkup.verdict {
                Verdict::Sound => ("sound", json!({})),
                Verdict::Open { closers } => ("open", json!({ "closers": closers })),
                Verdict::Torn { line, bytes, closers } => {
                    ("torn", json!({ "line": line, "bytes": bytes, "closers": closers }))
                }
                Verdict::Unsupported => ("unsupported", json!({})),
                _ => ("damaged", json!({})),
            };
            let findings: Vec<Value> = checkup
                .findings
                .iter()
                .map(|finding| json!({ "line": finding.line, "problem": finding.problem.to_string() }))
                .collect();
            json!({
                "path": path,
                "session": checkup.header.as_ref().map(|header| &header.id),
                "verdict": verdict,
                "detail": detail,
                "lines": checkup.lines,
                "events": checkup.events,
                "findings": findings,
                "moreFindings": checkup.more_findings,
                "cutFrameAtByte": cut_frame.map(|(at, _)| at),
                "canResume": checkup.verdict.can_resume(),
            })
        }
    }
}
