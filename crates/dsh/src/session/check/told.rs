//! Saying what a check found.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::checked::{Checked, Torn, Verdict};
use crate::paint::{Colour, Paint};
use crate::session::count::count;
use crate::session::times::moment;
use crate::visible::visible;

/// For people: a line, and more of them for what is wrong.
pub(super) fn text(out: &mut impl Write, paint: Paint, checked: &Checked) -> io::Result<()> {
    let path = visible(&checked.path);
    let (colour, verdict) = verdict(checked.verdict);
    write!(out, "{path}: ")?;
    if let (None, Some(id)) = (checked.lines, &checked.id) {
        write!(out, "session `{}`: ", visible(id))?;
    }
    write!(out, "{}", paint.with(colour, verdict))?;
    let lines = checked.lines.map(|lines| count(lines, "line"));
    let events = checked.events.map(|events| count(events, "event"));
    let counts: Vec<String> = lines.into_iter().chain(events).collect();
    match counts.as_slice() {
        [] => writeln!(out)?,
        counts => writeln!(out, " ({})", counts.join(", "))?,
    }
    for finding in &checked.findings {
        let problem = visible(&finding.problem);
        match finding.line {
            Some(line) => writeln!(out, "    line {line}: {problem}")?,
            None => writeln!(out, "    {problem}")?,
        }
    }
    if checked.more_findings > 0 {
        writeln!(out, "    and {} more", checked.more_findings)?;
    }
    match next(checked) {
        Some(next) => writeln!(out, "    {next}"),
        None => Ok(()),
    }
}

fn verdict(verdict: Verdict) -> (Colour, String) {
    match verdict {
        Verdict::Sound => (Colour::Green, "sound".to_owned()),
        Verdict::Open { closers } => {
            let events = count(closers, "event");
            (
                Colour::Yellow,
                format!("sound; its last turn is open (the next agent that goes on with it adds {events})"),
            )
        }
        Verdict::Torn(_) => (Colour::Yellow, "cut at its end; it can be continued".to_owned()),
        Verdict::Misplaced => (Colour::Red, "not where it belongs".to_owned()),
        Verdict::Mixed => (Colour::Red, "logs of both kinds".to_owned()),
        Verdict::Unsupported => (Colour::Red, "made by something that this build does not know".to_owned()),
        Verdict::Damaged => (Colour::Red, "damaged; it cannot be continued".to_owned()),
        Verdict::Unreadable => (Colour::Red, "unreadable".to_owned()),
    }
}

/// What the next agent does with what was cut.
fn next(checked: &Checked) -> Option<String> {
    let Verdict::Torn(torn) = checked.verdict else { return None };
    let closing = |closers: usize| match closers {
        0 => String::new(),
        closers => format!(" and closes its last turn by {}", count(closers, "event")),
    };
    let of_whom = checked.header.as_ref().map(|header| {
        let created = moment(i64::try_from(header.created_at_ms).unwrap_or(i64::MAX));
        format!("`{}` (created {created})", visible(&header.id))
    });
    let who = format!("the next agent that goes on with {}", of_whom.unwrap_or_else(|| "it".to_owned()));
    Some(match torn {
        Torn::Line { line, bytes, closers } => {
            let bytes = count(bytes, "byte");
            format!("{who} takes away {bytes} from line {line} on{}", closing(closers))
        }
        Torn::Frame { at, bytes } => {
            let (bytes, events) = (count(bytes, "byte"), count(checked.events.unwrap_or(0), "whole event"));
            format!(
                "byte {at}: the last frame was cut after {bytes}; {who} keeps {events} and writes what is left of the frame again"
            )
        }
        Torn::Rows { closers } => format!("{who} takes these rows away{}", closing(closers)),
    })
}

/// For programs: one object.
pub(super) fn json(checked: &Checked) -> Value {
    let (verdict, detail) = match checked.verdict {
        Verdict::Sound => ("sound", json!({})),
        Verdict::Open { closers } => ("open", json!({ "closers": closers })),
        Verdict::Torn(Torn::Line { line, bytes, closers }) => {
            ("torn", json!({ "line": line, "bytes": bytes, "closers": closers }))
        }
        Verdict::Torn(Torn::Frame { at, bytes }) => ("torn", json!({ "frameAtByte": at, "bytes": bytes })),
        Verdict::Torn(Torn::Rows { closers }) => ("torn", json!({ "closers": closers })),
        Verdict::Misplaced => ("misplaced", json!({})),
        Verdict::Mixed => ("mixed", json!({})),
        Verdict::Unsupported => ("unsupported", json!({})),
        Verdict::Damaged => ("damaged", json!({})),
        Verdict::Unreadable => ("unreadable", json!({})),
    };
    let findings: Vec<Value> = checked
        .findings
        .iter()
        .map(|finding| json!({ "line": finding.line, "problem": finding.problem }))
        .collect();
    json!({
        "path": checked.path,
        "session": checked.id,
        "verdict": verdict,
        "detail": detail,
        "lines": checked.lines,
        "events": checked.events,
        "findings": findings,
        "moreFindings": checked.more_findings,
        "canContinue": checked.verdict.can_continue(),
    })
}
