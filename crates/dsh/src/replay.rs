//! `dsh replay`: runs the tool calls of a log again and compares the results.

mod ask;
mod columns;
mod compare;
mod copy;
mod folder;
mod host;
mod json;
pub(crate) mod list;
pub(crate) mod plan;
mod report;
mod run;
mod source;
mod summary;
mod timeline;

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, ensure};
use clap::ColorChoice;
use tokio::runtime::Runtime;
use tokio::signal::unix::Signal;

use crate::app::runtime;
use crate::cli::ReplayArgs;
use crate::exit::{Exit, Failure, UNWRITTEN, say};
use crate::interruption::interrupts;
use crate::paint::Paint;
use crate::visible::visible;
use crate::width::terminal_width;

use ask::Answer;
use columns::Columns;
use plan::Plan;
use report::{Intent, Report};
use source::Source;

/// Reads the log, shows its calls, asks, and runs them. Nothing is run, and no folder is made, before a yes.
pub(crate) fn replay(args: &ReplayArgs, color: ColorChoice) -> Result<Exit, Failure> {
    let source = Source::named(&args.file);
    let log = source.read()?;
    let plan = Plan::of(&log).map_err(|bad| {
        let (line, bad) = (log.line_of(bad.seq).unwrap_or_default(), visible(&bad.to_string()));
        Failure::bad_input(anyhow!("{source}: line {line}: {bad}"))
    })?;
    run::check_denied(args, &plan)?;
    let workspace = args.workspace.as_deref().map(opened).transpose().map_err(Failure::bad_input)?;
    let columns = Columns::new(&plan.calls, terminal_width());
    let mut report = match args.json {
        true => Report::Json(json::JsonLines),
        false => {
            let paint = Paint::for_stream(color, &io::stdout());
            Report::Text(timeline::Timeline::new(paint, columns, args.diff))
        }
    };
    let intent = Intent {
        source: &source,
        plan: &plan,
        workspace: workspace.clone(),
        denied: &args.deny,
        unload_after: args.unload_after,
    };
    report.intent(&intent)?;
    if plan.calls.is_empty() {
        report.nothing()?;
        return Ok(Exit::Fine);
    }
    if !args.yes {
        check_askable(&source)?;
    }
    let runtime = runtime()?;
    let mut interrupts = {
        let _entered = runtime.enter();
        interrupts()?
    };
    if !args.yes {
        if args.json || !io::stdout().is_terminal() {
            let paint = Paint::for_stream(color, &io::stderr());
            list::write(&mut io::stderr().lock(), paint, columns, &intent).context(UNWRITTEN)?;
        }
        if let Some(exit) = declined(&runtime, plan.calls.len(), &mut interrupts)? {
            return Ok(exit);
        }
    }
    run::run(args, &plan, workspace.as_deref(), &mut report, (runtime, interrupts))
}

/// The folder that is to be copied, under its real path.
fn opened(workspace: &Path) -> anyhow::Result<PathBuf> {
    let shown = workspace.display();
    let real = workspace.canonicalize().with_context(|| format!("cannot open the workspace {shown}"))?;
    ensure!(real.is_dir(), "the workspace {shown} is not a folder");
    Ok(real)
}

fn check_askable(source: &Source) -> Result<(), Failure> {
    let reason = match source {
        Source::StandardInput => "the log came by standard input, so nobody can be asked",
        Source::File(_) if !ask::is_possible() => "there is no terminal to ask on",
        Source::File(_) => return Ok(()),
    };
    Err(Failure::bad_input(anyhow!("{reason}: read the list above and give --yes to run it")))
}

/// How the replay ends if the user does not say yes.
fn declined(runtime: &Runtime, calls: usize, interrupts: &mut Signal) -> anyhow::Result<Option<Exit>> {
    let (what, exit) = match runtime.block_on(ask::ask(calls, interrupts))? {
        Answer::Yes => return Ok(None),
        Answer::No => ("declined", Exit::Failed),
        Answer::Interrupted => ("interrupted", Exit::Interrupted),
    };
    say(format_args!("{what}, nothing was run"));
    Ok(Some(exit))
}
