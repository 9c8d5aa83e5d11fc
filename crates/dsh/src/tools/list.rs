//! `dsh tools ls`: the tools as all agents, or one of them, see them.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use clap::ColorChoice;
use dsh_tools::{RegisteredTool, Restriction};
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use crate::app::{end_of, runtime};
use crate::cli::ToolsLsArgs;
use crate::exit::{Exit, Failure, UNWRITTEN};
use crate::paint::{Colour, Paint};
use crate::tools::host::Host;
use crate::visible::{fitted, shortened, visible, visible_json};
use crate::width::{MIN_TABLE, terminal_width, wrapped};
use crate::workbench::Workbench;

const HEADINGS: [&str; 5] = ["NAME", "PLUGIN", "RUNS", "TIMEOUT", "DESCRIPTION"];
/// A name of any length does not push the others out of the terminal.
const MAX_NAME: usize = 24;
/// What stands for no timeout.
const NO_TIMEOUT: &str = "-";
/// Narrower than this a description tells nothing beside the rest; all is put below the name then.
const MIN_DESCRIPTION: usize = 40;
/// The agent's name where none is asked for; it is not shown.
const NOBODY: &str = "cli";

pub(crate) fn list(args: &ToolsLsArgs, color: ColorChoice) -> Result<Exit, Failure> {
    let runtime = runtime()?;
    runtime.block_on(async {
        let agent = args.agent.as_deref().unwrap_or(NOBODY);
        super::call::check_agent(agent)?;
        let host = Host::start(agent).await?;
        // Nothing is run, so any folder will do.
        host.offer(Workbench::new(Path::new("/"))).await?;
        let shown = shown(args, color, &host);
        end_of(host.stop(), &Default::default()).await;
        shown
    })?;
    Ok(Exit::Fine)
}

fn shown(args: &ToolsLsArgs, color: ColorChoice, host: &Host) -> Result<(), Failure> {
    let runtime = host.tools.get()?;
    let all = runtime.list(None);
    if let Some(restriction) = restriction(args) {
        let names = args.allow.iter().chain(&args.deny);
        check_names("--allow and --deny", names, &all)?;
        runtime.restrict(host.agent.context(), restriction).context("the agent cannot be restricted")?;
    }
    let is_one_agents = args.agent.is_some() || !args.allow.is_empty() || !args.deny.is_empty();
    let tools = match is_one_agents {
        true => runtime.list(Some(host.agent.scope())),
        false => all.clone(),
    };
    let mut out = io::stdout().lock();
    if args.json {
        for tool in &tools {
            writeln!(out, "{}", visible_json(&described(tool).to_string())).context(UNWRITTEN)?;
        }
        return Ok(());
    }
    let paint = Paint::for_stream(color, &out);
    let terminal = terminal_width();
    table(&mut out, paint, &tools, terminal).context(UNWRITTEN)?;
    if is_one_agents {
        let agent = match &args.agent {
            Some(agent) => format!("agent `{}`", visible(agent)),
            None => "an agent".to_owned(),
        };
        let hidden: Vec<&str> = all
            .iter()
            .map(|tool| tool.name())
            .filter(|name| !tools.iter().any(|tool| tool.name() == *name))
            .collect();
        let hidden = if hidden.is_empty() { "nothing".to_owned() } else { hidden.join(", ") };
        note(&mut out, &format!("as {agent} sees them; hidden from it: {hidden}"), terminal)
            .context(UNWRITTEN)?;
    }
    Ok(())
}

/// A sentence below the table.
fn note(out: &mut impl Write, text: &str, terminal: Option<usize>) -> io::Result<()> {
    let lines = terminal.map_or_else(|| vec![text.to_owned()], |columns| wrapped(text, columns));
    writeln!(out)?;
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))
}

fn restriction(args: &ToolsLsArgs) -> Option<Restriction> {
    match (&*args.allow, &*args.deny) {
        ([], []) => None,
        ([], deny) => Some(Restriction::deny(deny)),
        (allow, []) => Some(Restriction::allow(allow)),
        (allow, deny) => Some(Restriction::allow(allow).and_deny(deny)),
    }
}

/// Refuses a name that no tool has, with those that there are.
pub(crate) fn check_names<'n>(
    what: &str,
    names: impl IntoIterator<Item = &'n String>,
    tools: &[Arc<RegisteredTool>],
) -> Result<(), Failure> {
    let unknown = names.into_iter().find(|name| !tools.iter().any(|tool| tool.name() == *name));
    let Some(unknown) = unknown else { return Ok(()) };
    let known: Vec<String> = tools.iter().map(|tool| visible(tool.name())).collect();
    Err(Failure::bad_input(anyhow!(
        "{what}: no tool is called `{}`; there are: {}",
        visible(unknown),
        known.join(", ")
    )))
}

fn described(tool: &RegisteredTool) -> Value {
    let schema = tool.schema();
    json!({
        "name": schema.name,
        "plugin": tool.plugin(),
        "description": schema.description,
        "parameters": schema.parameters,
        "output": **tool.output(),
        "parallel": tool.may_be_parallel(),
        "blocking": tool.is_blocking(),
        "idempotent": tool.is_idempotent(),
        "timeoutMs": tool.timeout().map(|timeout| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX)),
    })
}

fn table(
    out: &mut impl Write,
    paint: Paint,
    tools: &[Arc<RegisteredTool>],
    terminal: Option<usize>,
) -> io::Result<()> {
    let rows: Vec<[String; 5]> = tools.iter().map(|tool| row(tool)).collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| shortened(&row[column], MAX_NAME).width());
        cells.chain([HEADINGS[column].len()]).max().unwrap_or(0)
    };
    let widths = [width(0), width(1), width(2), width(3)];
    let left = widths.iter().map(|width| width + 2).sum::<usize>();
    let room = terminal.map(|terminal| terminal.saturating_sub(left));
    if let Some(terminal) = terminal.filter(|terminal| *terminal < MIN_TABLE.max(left + MIN_DESCRIPTION)) {
        return stacked(out, paint, &rows, terminal);
    }
    let line = |cells: &[String; 5]| {
        let fixed: String =
            cells.iter().zip(widths).map(|(cell, width)| format!("{}  ", fitted(cell, width))).collect();
        let last = room.map_or_else(|| visible(&cells[4]), |room| shortened(&cells[4], room));
        (fixed, last)
    };
    let (fixed, last) = line(&HEADINGS.map(str::to_owned));
    writeln!(out, "{}", paint.with(Colour::Bold, format!("{fixed}{last}")))?;
    for row in &rows {
        let (fixed, last) = line(row);
        writeln!(out, "{fixed}{last}")?;
    }
    Ok(())
}

/// A name, and below it what there is: what a narrow terminal has room for.
fn stacked(out: &mut impl Write, paint: Paint, rows: &[[String; 5]], terminal: usize) -> io::Result<()> {
    for [name, plugin, runs, timeout, description] in rows {
        writeln!(out, "{}", paint.with(Colour::Bold, shortened(name, terminal)))?;
        let timeout = if timeout == NO_TIMEOUT { String::new() } else { format!(", timeout {timeout}") };
        let facts = format!("{plugin}: {runs}{timeout}");
        for line in
            [facts.as_str(), description].iter().flat_map(|text| wrapped(text, terminal.saturating_sub(2)))
        {
            writeln!(out, "  {line}")?;
        }
    }
    Ok(())
}

/// The first sentence of a description; all of it is in the form for programs.
fn first_sentence(description: &str) -> &str {
    let line = description.lines().next().unwrap_or_default();
    let begins_another = |rest: &str| rest.chars().next().is_some_and(char::is_uppercase);
    let end = line.match_indices(". ").find(|(at, point)| begins_another(&line[at + point.len()..]));
    end.map_or(line, |(at, _)| &line[..=at])
}

fn row(tool: &RegisteredTool) -> [String; 5] {
    let beside = if tool.may_be_parallel() { "parallel" } else { "exclusive" };
    let runs = if tool.is_blocking() { format!("{beside}, blocking") } else { beside.to_owned() };
    let timeout = tool.timeout().map_or_else(|| NO_TIMEOUT.to_owned(), |timeout| format!("{timeout:?}"));
    let description = first_sentence(&tool.schema().description).to_owned();
    [tool.name().to_owned(), tool.plugin(), runs, timeout, description]
}
