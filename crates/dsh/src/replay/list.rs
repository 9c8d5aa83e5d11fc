//! What a replay is about to do, as text: this is what the user says yes to.

use std::io::{self, Write};

use crate::paint::{Colour, Paint};
use crate::replay::columns::Columns;
use crate::replay::plan::PlannedCall;
use crate::replay::report::Intent;
use crate::visible::{fitted, visible};

/// Writes where the calls will run, and each of them.
pub(crate) fn write(
    out: &mut impl Write,
    paint: Paint,
    columns: Columns,
    intent: &Intent<'_>,
) -> io::Result<()> {
    let Intent { source, plan, workspace, denied, unload_after } = intent;
    writeln!(out, "{} {source}", paint.with(Colour::Bold, "replay"))?;
    writeln!(
        out,
        "  session   {}: {}, {}",
        visible(&plan.session),
        counted(plan.turns, "turn"),
        counted(plan.calls.len(), "call")
    )?;
    if let Some(cwd) = &plan.cwd {
        writeln!(out, "  recorded  in {} (not opened)", visible(cwd))?;
    }
    match workspace {
        Some(folder) => {
            let folder = visible(&folder.display().to_string());
            writeln!(out, "  runs in   a copy of {folder}, removed at the end")?;
        }
        None => writeln!(out, "  runs in   an empty temporary folder, removed at the end")?,
    }
    if !denied.is_empty() {
        let names: Vec<String> = denied.iter().map(|name| visible(name)).collect();
        let until = unload_after.map_or(String::new(), |calls| format!(", until {} made", was_made(calls)));
        writeln!(out, "  denied    {}{until}", names.join(", "))?;
    }
    writeln!(out)?;
    if plan.calls.is_empty() {
        writeln!(out, "nothing to run: the log has no calls")?;
        return out.flush();
    }
    for call in &plan.calls {
        whole(out, paint, columns, call)?;
    }
    writeln!(out)?;
    out.flush()
}

/// The whole of a call, however long.
fn whole(out: &mut impl Write, paint: Paint, columns: Columns, call: &PlannedCall) -> io::Result<()> {
    let Columns { number, name, .. } = columns;
    let mut lines = call.subject.split('\n');
    let first = visible(lines.next().unwrap_or_default());
    let tool = paint.with(Colour::Cyan, fitted(&call.tool, name));
    writeln!(out, "  {:>number$}  {tool}  {first}", call.number)?;
    let indent = " ".repeat(2 + number + 2 + name);
    for line in lines {
        writeln!(out, "{indent}{} {}", paint.with(Colour::Dim, "|"), visible(line))?;
    }
    Ok(())
}

/// A number with its noun.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

fn was_made(calls: usize) -> String {
    if calls == 1 { "1 call is".to_owned() } else { format!("{calls} calls are") }
}
