//! `dsh plugins`: what is compiled in.

use std::io::{self, Write};

use anyhow::{Context as _, anyhow};
use clap::ColorChoice;
use cordis::catalog::{self, DynPlugin};
use serde_json::{Value, json};

// Each plugin registers itself in the catalogue; naming its crate is what links it.
use dsh_agent as _;
use dsh_agent_loop as _;
use dsh_agent_loop_invariants as _;
use dsh_approval as _;
use dsh_approval_channel as _;
use dsh_approval_invariants as _;
use dsh_approval_terminal as _;
use dsh_checkpoint_policy as _;
use dsh_default_model as _;
use dsh_enrichment_policy as _;
use dsh_hooks_claude_code as _;
use dsh_hooks_codex as _;
use dsh_hooks_invariants as _;
use dsh_jobs_invariants as _;
use dsh_jobs_local as _;
use dsh_llm_deepseek as _;
use dsh_llm_invariants as _;
use dsh_llm_replay as _;
use dsh_llm_retry as _;
use dsh_metrics_policy as _;
use dsh_prompt as _;
use dsh_prompt_invariants as _;
use dsh_repeat_policy as _;
use dsh_retry_policy as _;
use dsh_role_policy as _;
use dsh_session as _;
use dsh_session_invariants as _;
use dsh_session_jsonl as _;
use dsh_session_projection as _;
#[cfg(feature = "sqlite")]
use dsh_session_sqlite as _;
use dsh_session_title as _;
use dsh_shell as _;
use dsh_shell_local as _;
use dsh_step_limit_policy as _;
use dsh_subprocess_local as _;
use dsh_timeout_policy as _;
use dsh_token_meter as _;
use dsh_tool_bash as _;
use dsh_tool_fs as _;
use dsh_tool_jobs as _;
use dsh_tool_presentation as _;
use dsh_tools as _;
use dsh_tools_invariants as _;

use crate::cli::PluginsArgs;
use crate::exit::{Exit, Failure, UNWRITTEN};
use crate::paint::{Colour, Paint};
use crate::visible::shortened;
use crate::width::{MIN_TABLE, terminal_width, wrapped};

const HEADINGS: [&str; 4] = ["NAME", "NEEDS", "PROVIDES", "CONFIG"];
/// Narrower than this the fields of a configuration tell nothing beside the rest; all is put below the name then.
const MIN_CONFIG: usize = 10;
const HINT: &str = "The schema of a plugin's configuration: dsh plugins --schema NAME";

pub(crate) fn list(args: &PluginsArgs, color: ColorChoice) -> Result<Exit, Failure> {
    let plugins = catalog::all().context("the catalogue is not in order")?;
    let mut out = io::stdout().lock();
    if let Some(name) = &args.schema {
        let plugin = plugins.iter().find(|plugin| plugin.name() == name).ok_or_else(|| {
            let names: Vec<&str> = plugins.iter().map(DynPlugin::name).collect();
            Failure::bad_input(anyhow!("no plugin is called `{name}`; there are: {}", names.join(", ")))
        })?;
        writeln!(out, "{:#}", plugin.schema()).context(UNWRITTEN)?;
    } else if args.json {
        let list: Vec<Value> = plugins.iter().map(described).collect();
        writeln!(out, "{:#}", Value::from(list)).context(UNWRITTEN)?;
    } else {
        let paint = Paint::for_stream(color, &out);
        table(&mut out, paint, &plugins, terminal_width()).context(UNWRITTEN)?;
    }
    Ok(Exit::Fine)
}

fn described(plugin: &DynPlugin) -> Value {
    let needs: Vec<Value> =
        plugin.needs().iter().map(|need| json!({ "name": need.name, "optional": need.optional })).collect();
    json!({
        "name": plugin.name(),
        "needs": needs,
        "provides": plugin.provides(),
        "schema": plugin.schema(),
    })
}

fn table(
    out: &mut impl Write,
    paint: Paint,
    plugins: &[DynPlugin],
    terminal: Option<usize>,
) -> io::Result<()> {
    let rows: Vec<[String; 4]> = plugins.iter().map(row).collect();
    let width = |column: usize| {
        rows.iter().map(|row| row[column].chars().count()).chain([HEADINGS[column].len()]).max().unwrap_or(0)
    };
    let widths = [width(0), width(1), width(2)];
    let left = widths.iter().map(|width| width + 2).sum::<usize>();
    if let Some(terminal) = terminal.filter(|terminal| *terminal < MIN_TABLE.max(left + MIN_CONFIG)) {
        return stacked(out, paint, &rows, terminal);
    }
    let line = |cells: [&str; 4]| {
        let [name, needs, provides, config] = cells;
        let [first, second, third] = widths;
        let config = terminal
            .map_or_else(|| config.to_owned(), |terminal| shortened(config, terminal.saturating_sub(left)));
        format!("{name:first$}  {needs:second$}  {provides:third$}  {config}")
    };
    writeln!(out, "{}", paint.with(Colour::Bold, line(HEADINGS)))?;
    for row in &rows {
        writeln!(out, "{}", line(row.each_ref().map(String::as_str)))?;
    }
    hint(out, terminal)
}

/// A name, and below it what there is: what a narrow terminal has room for.
fn stacked(out: &mut impl Write, paint: Paint, rows: &[[String; 4]], terminal: usize) -> io::Result<()> {
    for [name, rest @ ..] in rows {
        writeln!(out, "{}", paint.with(Colour::Bold, shortened(name, terminal)))?;
        for (heading, cell) in
            ["needs", "provides", "config"].iter().zip(rest).filter(|(_, cell)| *cell != "-")
        {
            writeln!(out, "{}", shortened(&format!("  {heading} {cell}"), terminal))?;
        }
    }
    hint(out, Some(terminal))
}

fn hint(out: &mut impl Write, terminal: Option<usize>) -> io::Result<()> {
    let lines = terminal.map_or_else(|| vec![HINT.to_owned()], |columns| wrapped(HINT, columns));
    writeln!(out)?;
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))
}

/// Optional needs have a `?`; so have the fields of the configuration that can be left out.
fn row(plugin: &DynPlugin) -> [String; 4] {
    let mark = |name: &str, optional: bool| if optional { format!("{name}?") } else { name.to_owned() };
    let needs: Vec<String> = plugin.needs().iter().map(|need| mark(&need.name, need.optional)).collect();
    let schema = plugin.schema();
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let fields: Vec<String> = schema["properties"]
        .as_object()
        .into_iter()
        .flat_map(|fields| fields.keys())
        .map(|field| mark(field, !required.contains(&field.as_str())))
        .collect();
    let list = |names: Vec<String>| if names.is_empty() { "-".to_owned() } else { names.join(" ") };
    [plugin.name().to_owned(), list(needs), list(plugin.provides().to_vec()), list(fields)]
}
