//! A replay as text: the list of what will be run, one line per call, and the sum.

use std::fmt::Display;
use std::io::{self, Write};
use std::time::Duration;

use crate::paint::{Colour, Paint};
use crate::replay::columns::Columns;
use crate::replay::compare::{Verdict, difference, first_difference};
use crate::replay::list::{self, counted};
use crate::replay::plan::PlannedCall;
use crate::replay::report::{Done, Intent, Unloaded};
use crate::replay::summary::Summary;
use crate::visible::{fitted, shortened, visible};

/// How much of a name that no plugin offers is shown.
const MAX_UNKNOWN_NAME: usize = 32;

/// Prints a replay for people.
#[derive(Debug)]
pub(crate) struct Timeline {
    paint: Paint,
    /// Whether differences are shown line by line.
    diff: bool,
    turn: Option<u64>,
    columns: Columns,
}

impl Timeline {
    pub(crate) fn new(paint: Paint, columns: Columns, diff: bool) -> Self {
        Self { paint, diff, turn: None, columns }
    }

    pub(crate) fn intent(&mut self, intent: &Intent<'_>) -> io::Result<()> {
        list::write(&mut io::stdout().lock(), self.paint, self.columns, intent)
    }

    /// The line's end follows when the call is done.
    pub(crate) fn started(&mut self, call: &PlannedCall) -> io::Result<()> {
        let mut out = io::stdout().lock();
        if self.turn != Some(call.turn) {
            self.turn = Some(call.turn);
            writeln!(out, "{}", self.paint.with(Colour::Bold, format!("turn {}", call.turn)))?;
        }
        let Columns { number, name, subject, .. } = self.columns;
        let tool = self.paint.with(Colour::Cyan, fitted(&call.tool, name));
        write!(out, "  {:>number$}  {tool}  {}  ", call.number, fitted(&call.subject, subject))?;
        out.flush()
    }

    pub(crate) fn done(&mut self, done: &Done<'_>) -> io::Result<()> {
        let Done { call, outcome, verdict, duration } = done;
        let colour = match verdict {
            Verdict::Same => Colour::Green,
            Verdict::Different => Colour::Red,
            Verdict::Denied | Verdict::Aborted | Verdict::UnknownTool => Colour::Yellow,
            Verdict::NotLogged => Colour::Dim,
        };
        let mut out = io::stdout().lock();
        let label = self.paint.with(colour, fitted(verdict.label(), self.columns.verdict));
        writeln!(out, "{label}  {}", self.paint.with(Colour::Dim, took(*duration)))?;
        if let Some(failure) = outcome.as_failure().filter(|failure| failure.is_denied()) {
            self.note(&mut out, visible(failure.message()))?;
        }
        if outcome.is_error() && verdict.hides_an_error() {
            let first = outcome.text();
            let first = first.lines().next().unwrap_or_default();
            self.note(&mut out, shortened(first, self.columns.note))?;
        }
        if let (Verdict::Different, Some(logged)) = (verdict, &call.logged) {
            if self.diff {
                for line in difference(logged, outcome, self.columns.note) {
                    self.note(&mut out, self.coloured(line))?;
                }
            } else {
                match first_difference(logged, outcome) {
                    Some(line) => {
                        self.note(&mut out, format_args!("differs from line {line} on (see --diff)"))?
                    }
                    None => self.note(&mut out, "same text, different kind of result (see --diff)")?,
                }
            }
        }
        out.flush()
    }

    pub(crate) fn unloaded(&mut self, unloaded: &Unloaded) -> io::Result<()> {
        let Unloaded { plugin, after_calls, guards, listeners, remaining } = unloaded;
        let mut out = io::stdout().lock();
        let text = format!(
            "guard unloaded after {}, registrations rolled back: {}, {} (plugin {plugin}; {})",
            counted(*after_calls, "call"),
            counted(*guards, "guard"),
            counted(*listeners, "listener"),
            if remaining.is_empty() {
                "nothing is left".to_owned()
            } else {
                format!("left: {}", remaining.join(", "))
            },
        );
        writeln!(
            out,
            "  {} {}",
            self.paint.with(Colour::Yellow, "--"),
            self.paint.with(Colour::Yellow, text)
        )?;
        out.flush()
    }

    /// The guard is still there at the end of the replay.
    pub(crate) fn kept(&mut self, unload_after: usize, made: usize) -> io::Result<()> {
        let text = format!(
            "guard never unloaded: that was to be after {}, and {} made",
            counted(unload_after, "call"),
            were_made(made)
        );
        let mut out = io::stdout().lock();
        writeln!(
            out,
            "  {} {}",
            self.paint.with(Colour::Yellow, "--"),
            self.paint.with(Colour::Yellow, text)
        )?;
        out.flush()
    }

    pub(crate) fn summary(&mut self, summary: &Summary) -> io::Result<()> {
        let mut out = io::stdout().lock();
        let paint = |count: usize, label: &str, colour: Colour| {
            let text = format!("{label}: {count}");
            self.paint.with(if count == 0 { Colour::Dim } else { colour }, text)
        };
        writeln!(
            out,
            "\n{}  {} in {}; {}, {}, {}",
            self.paint.with(Colour::Bold, "summary"),
            counted(summary.calls, "call"),
            took(Duration::from_millis(summary.duration_ms)),
            paint(summary.same, "same result as logged", Colour::Green),
            paint(summary.different, "different", Colour::Red),
            paint(summary.denied, "denied", Colour::Yellow),
        )?;
        if summary.errors > 0 {
            writeln!(out, "  {}", paint(summary.errors, "errors that the log does not have", Colour::Red))?;
        }
        if summary.aborted > 0 {
            writeln!(out, "  {}", paint(summary.aborted, "aborted", Colour::Yellow))?;
        }
        if summary.not_compared > 0 {
            writeln!(out, "  {}", paint(summary.not_compared, "unknown tool, not compared", Colour::Yellow))?;
        }
        if summary.not_logged > 0 {
            writeln!(out, "  {} without a logged result", counted(summary.not_logged, "call"))?;
        }
        if summary.left_out > 0 {
            writeln!(out, "  {} not made", counted(summary.left_out, "call"))?;
        }
        if !summary.unknown_names.is_empty() {
            let names: Vec<String> =
                summary.unknown_names.iter().map(|name| shortened(name, MAX_UNKNOWN_NAME)).collect();
            writeln!(out, "  no plugin offers: {}", names.join(", "))?;
        }
        out.flush()
    }

    fn note(&self, out: &mut impl Write, text: impl Display) -> io::Result<()> {
        writeln!(out, "{}{text}", self.columns.note_indent())
    }

    fn coloured(&self, line: String) -> String {
        match line.as_bytes().first() {
            Some(b'-') => self.paint.with(Colour::Red, line).to_string(),
            Some(b'+') => self.paint.with(Colour::Green, line).to_string(),
            _ => self.paint.with(Colour::Dim, line).to_string(),
        }
    }
}

fn were_made(calls: usize) -> String {
    if calls == 1 { "1 call was".to_owned() } else { format!("{calls} calls were") }
}

fn took(duration: Duration) -> String {
    if duration < Duration::from_secs(10) {
        format!("{} ms", duration.as_millis())
    } else {
        format!("{:.1} s", duration.as_secs_f64())
    }
}
