//! How settings are told: what is wrong with them, their hooks, and which run for which tool.

use std::io::{self, Write};

use dsh_hooks::{Handler, Point};
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr as _;

use crate::hooks::check::Checked;
use crate::hooks::coverage::running;
use crate::hooks::dialect::{Reading, max_timeout_ms};
use crate::hooks::lint::{Problem, Severity};
use crate::paint::{Colour, Paint};
use crate::visible::{fitted, shortened, visible, visible_json};
use crate::width::wrapped;

const HOOK_HEADINGS: [&str; 5] = ["HOOK", "POINT", "MATCHER", "TIMEOUT", "COMMAND"];
const TOOL_HEADINGS: [&str; 3] = ["TOOL", "PRETOOLUSE", "POSTTOOLUSE"];
/// A pattern or a name of any length does not push the others out of the terminal.
const MAX_CELL: usize = 28;
/// How much of a command is shown where there is no terminal.
const MAX_COMMAND: usize = 100;

/// All that was found.
pub(crate) struct Report<'a> {
    pub(crate) reading: &'a Reading,
    pub(crate) files: &'a [Checked],
    /// Those that there are, and those that were named.
    pub(crate) tools: &'a [String],
    pub(crate) offered: &'a [String],
}

impl Report<'_> {
    /// How many problems are this bad.
    pub(crate) fn count(&self, severity: Severity) -> usize {
        self.files
            .iter()
            .flat_map(|file| &file.problems)
            .filter(|problem| problem.severity == severity)
            .count()
    }

    fn hooks(&self) -> impl Iterator<Item = (usize, &Handler)> {
        self.files.iter().flat_map(|file| &file.hooks).map(|(number, _, hook)| (*number, hook))
    }

    fn timeout_ms(&self, hook: &Handler) -> u64 {
        let own = hook.timeout.map(|timeout| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
        own.unwrap_or_else(|| self.reading.timeout_ms()).min(max_timeout_ms())
    }
}

pub(crate) fn json(out: &mut impl Write, report: &Report<'_>) -> io::Result<()> {
    let mut line = |value: Value| writeln!(out, "{}", visible_json(&value.to_string()));
    for file in report.files {
        let path = file.path.to_string_lossy();
        line(
            json!({ "type": "file", "path": path, "dialect": report.reading.dialect, "hooks": file.hooks.len() }),
        )?;
        for Problem { severity, at, message } in &file.problems {
            line(
                json!({ "type": "problem", "severity": severity, "file": path, "at": at, "message": message }),
            )?;
        }
    }
    for file in report.files {
        for (number, place, hook) in &file.hooks {
            line(json!({
                "type": "hook",
                "hook": number,
                "file": file.path.to_string_lossy(),
                "at": place.hook,
                "point": hook.point,
                "matcher": hook.matcher.pattern(),
                "timeoutMs": report.timeout_ms(hook),
                "command": hook.command,
            }))?;
        }
    }
    for tool in report.tools {
        line(json!({
            "type": "tool",
            "name": tool,
            "isHere": report.offered.contains(tool),
            "preToolUse": running(report.hooks(), Point::PreToolUse, tool),
            "postToolUse": running(report.hooks(), Point::PostToolUse, tool),
        }))?;
    }
    line(json!({
        "type": "summary",
        "hooks": report.hooks().count(),
        "errors": report.count(Severity::Error),
        "warnings": report.count(Severity::Warning),
        "hints": report.count(Severity::Hint),
    }))
}

pub(crate) fn text(
    out: &mut impl Write,
    paint: Paint,
    report: &Report<'_>,
    terminal: Option<usize>,
) -> io::Result<()> {
    for file in report.files {
        writeln!(out, "{}", paint.with(Colour::Bold, visible(&file.path.to_string_lossy())))?;
        for problem in &file.problems {
            told(out, paint, problem, terminal)?;
        }
        if file.problems.is_empty() {
            writeln!(out, "  nothing is wrong with it")?;
        }
    }
    if report.hooks().next().is_some() {
        hooks(out, paint, report, terminal)?;
        tools(out, paint, report, terminal)?;
    }
    let counted = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    };
    let (errors, warnings) = (report.count(Severity::Error), report.count(Severity::Warning));
    let summary = [
        counted(report.hooks().count(), "hook"),
        counted(errors, "error"),
        counted(warnings, "warning"),
        counted(report.count(Severity::Hint), "hint"),
    ];
    let colour = match (errors, warnings) {
        (0, 0) => Colour::Green,
        (0, _) => Colour::Yellow,
        _ => Colour::Red,
    };
    writeln!(out, "\n{}", paint.with(colour, summary.join(", ")))
}

fn told(out: &mut impl Write, paint: Paint, problem: &Problem, terminal: Option<usize>) -> io::Result<()> {
    let (word, colour) = match problem.severity {
        Severity::Error => ("error", Colour::Red),
        Severity::Warning => ("warning", Colour::Yellow),
        Severity::Hint => ("hint", Colour::Cyan),
    };
    let at = if problem.at.is_empty() { String::new() } else { format!("{}: ", visible(&problem.at)) };
    // What comes after the first line is drawn, such as a mark below a place.
    let mut lines = problem.message.split('\n').map(visible);
    let first = format!("{at}{}", lines.next().unwrap_or_default());
    let first = terminal
        .map_or_else(|| vec![first.clone()], |columns| wrapped(&first, columns.saturating_sub(11).max(16)));
    for (index, line) in first.iter().enumerate() {
        let word = if index == 0 { word } else { "" };
        writeln!(out, "  {}{line}", paint.with(colour, fitted(word, 9)))?;
    }
    lines.try_for_each(|line| writeln!(out, "       {line}"))
}

fn hooks(out: &mut impl Write, paint: Paint, report: &Report<'_>, terminal: Option<usize>) -> io::Result<()> {
    let row = |(number, hook): (usize, &Handler)| {
        let timeout = report.timeout_ms(hook);
        let timeout = if timeout.is_multiple_of(1_000) {
            format!("{} s", timeout / 1_000)
        } else {
            format!("{timeout} ms")
        };
        let matcher = hook.matcher.pattern().filter(|pattern| !pattern.is_empty()).unwrap_or("*").to_owned();
        [format!("#{number}"), hook.point.to_string(), matcher, timeout, hook.command.clone()]
    };
    let rows: Vec<[String; 5]> = report.hooks().map(row).collect();
    table(out, paint, HOOK_HEADINGS, &rows, terminal)
}

fn tools(out: &mut impl Write, paint: Paint, report: &Report<'_>, terminal: Option<usize>) -> io::Result<()> {
    let numbers = |point, tool: &str| {
        let numbers: Vec<String> =
            running(report.hooks(), point, tool).iter().map(|number| format!("#{number}")).collect();
        if numbers.is_empty() { "-".to_owned() } else { numbers.join(" ") }
    };
    let row = |tool: &String| {
        let shown = if report.offered.contains(tool) { tool.clone() } else { format!("{tool} (not here)") };
        [shown, numbers(Point::PreToolUse, tool), numbers(Point::PostToolUse, tool)]
    };
    let rows: Vec<[String; 3]> = report.tools.iter().map(row).collect();
    table(out, paint, TOOL_HEADINGS, &rows, terminal)
}

/// A blank line, and a table whose last column has what is left of the terminal.
fn table<const N: usize>(
    out: &mut impl Write,
    paint: Paint,
    headings: [&str; N],
    rows: &[[String; N]],
    terminal: Option<usize>,
) -> io::Result<()> {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| shortened(&row[column], MAX_CELL).width());
        cells.chain([headings[column].len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..N - 1).map(width).collect();
    let left = widths.iter().map(|width| width + 2).sum::<usize>();
    let room = terminal.map_or(MAX_COMMAND, |columns| columns.saturating_sub(left).max(1));
    let line = |cells: &[String; N]| {
        let fixed: String =
            cells.iter().zip(&widths).map(|(cell, width)| format!("{}  ", fitted(cell, *width))).collect();
        format!("{fixed}{}", shortened(&cells[N - 1], room))
    };
    writeln!(out, "\n{}", paint.with(Colour::Bold, line(&headings.map(str::to_owned))))?;
    rows.iter().try_for_each(|row| writeln!(out, "{}", line(row).trim_end()))
}
