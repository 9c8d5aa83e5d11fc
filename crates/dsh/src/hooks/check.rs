//! `dsh hooks check`: what is wrong with settings, and what their hooks are for.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::ColorChoice;
use dsh_hooks::Handler;
use dsh_hooks::bridge::{HookFile, read_file};

use crate::app::runtime;
use crate::cli::HooksCheckArgs;
use crate::exit::{Exit, Failure, UNWRITTEN};
use crate::hooks::coverage::for_nothing;
use crate::hooks::dialect::Reading;
use crate::hooks::lint::{Linted, Place, Problem, Severity, lint};
use crate::hooks::listing::{self, Report};
use crate::hooks::program;
use crate::hooks::settings;
use crate::paint::Paint;
use crate::tools::call::workspace;
use crate::tools::host::offered;
use crate::visible::visible;
use crate::width::terminal_width;

/// Settings that were read.
pub(crate) struct Checked {
    pub(crate) path: PathBuf,
    pub(crate) problems: Vec<Problem>,
    /// The hooks that run, with their numbers and where they stand.
    pub(crate) hooks: Vec<(usize, Place, Handler)>,
}

pub(crate) fn check(args: &HooksCheckArgs, color: ColorChoice) -> Result<Exit, Failure> {
    let reading = Reading::of(&args.written_for, None);
    let workspace = workspace(args.written_for.workspace.as_deref()).map_err(Failure::bad_input)?;
    let offered = runtime()?.block_on(offered())?;
    let (mut tools, mut files) = (offered.clone(), Vec::new());
    for name in &args.tool {
        if visible(name) != *name || name.is_empty() {
            let shown = visible(name);
            return Err(Failure::bad_input(anyhow!("--tool: `{shown}` is no name of a tool")));
        }
        if !tools.contains(name) {
            tools.push(name.clone());
        }
    }
    let mut number = 1;
    for path in settings::find(&reading, &args.path, &workspace)? {
        let file = checked(&reading, path, &workspace, &tools, number);
        number += file.hooks.len();
        files.push(file);
    }
    let report = Report { reading: &reading, files: &files, tools: &tools, offered: &offered };
    let mut out = io::stdout().lock();
    match args.json {
        true => listing::json(&mut out, &report),
        false => listing::text(&mut out, Paint::for_stream(color, &io::stdout()), &report, terminal_width()),
    }
    .context(UNWRITTEN)?;
    let is_wrong = match args.strict {
        true => report.count(Severity::Error) + report.count(Severity::Warning) > 0,
        false => report.count(Severity::Error) > 0,
    };
    Ok(if is_wrong { Exit::BadInput } else { Exit::Fine })
}

fn checked(reading: &Reading, path: PathBuf, workspace: &Path, tools: &[String], first: usize) -> Checked {
    let text = match read_file(&path) {
        Ok(text) => text,
        Err(error) => {
            let message = format!("it cannot be read, so no hook of it runs: {error}");
            let problem = Problem { severity: Severity::Error, at: String::new(), message };
            return Checked { path, problems: vec![problem], hooks: Vec::new() };
        }
    };
    let grammar = reading.grammar();
    let mut linted = lint(&text, &grammar);
    // What is wrong with the whole file has been said.
    let handlers = HookFile::parse(&text, &grammar).map_or_else(|_| Vec::new(), |file| file.handlers);
    let places = std::mem::take(&mut linted.hooks);
    let hooks: Vec<_> = places
        .into_iter()
        .zip(handlers)
        .enumerate()
        .map(|(at, (place, hook))| (first + at, place, hook))
        .collect();
    let mut group = "";
    for (_, place, hook) in &hooks {
        if place.group != group {
            group = &place.group;
            if let Some((severity, message)) = for_nothing(reading.dialect, hook, tools) {
                linted.say(severity, format!("{group}.matcher"), message);
            }
        }
        look_at_command(&mut linted, reading, workspace, place, &hook.command);
    }
    Checked { path, problems: linted.problems, hooks }
}

/// Says what a command lacks that would run here.
fn look_at_command(linted: &mut Linted, reading: &Reading, workspace: &Path, place: &Place, command: &str) {
    let at = format!("{}.command", place.hook);
    let is_set = |name: &str| reading.variables().contains(&name);
    for name in program::variables_of(command) {
        let is_known = is_set(&name) || std::env::var_os(&name).is_some();
        if is_known || !name.starts_with("CLAUDE_") || command.contains(&format!("{name}=")) {
            continue;
        }
        let message = match &*name {
            "CLAUDE_PLUGIN_ROOT" => {
                "`CLAUDE_PLUGIN_ROOT` stands for nothing: name the folder with --plugin-root".to_owned()
            }
            name => format!(
                "the variable `{name}` is not set for hooks: what happens is on their standard input, as in \
                 jq -r .tool_input.file_path"
            ),
        };
        linted.say(Severity::Warning, &*at, message);
    }
    let variable = |name: &str| match name {
        name if is_set(name) => Some(workspace.to_string_lossy().into_owned()),
        name => std::env::var(name).ok(),
    };
    if let Some(trouble) = program::trouble(command, workspace, &variable) {
        linted.say(Severity::Warning, at, trouble);
    }
}
