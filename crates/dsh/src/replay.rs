//! `dsh replay`: runs the tool calls of a log again and compares the results.

mod ask;
mod compare;
mod copy;
mod folder;
mod host;
mod interruption;
mod json;
mod plan;
mod report;
mod run;
mod summary;
mod timeline;

use std::fs;

use anyhow::{Context as _, anyhow};
use dsh_session::SessionLog;

use crate::cli::ReplayArgs;
use crate::exit::{Exit, Failure, say};
use crate::paint::Paint;
use crate::visible::visible;

use ask::Answer;
use plan::Plan;
use report::{Intent, Report};

/// Reads the log, shows its calls, asks, and runs them. Nothing is run, and no folder is made, before a yes.
pub(crate) fn replay(args: &ReplayArgs) -> Result<Exit, Failure> {
    let log = read(args)?;
    let plan = Plan::of(&log).map_err(|bad| {
        let line = log.line_of(bad.seq).unwrap_or_default();
        let (file, bad) = (args.file.display(), visible(&bad.to_string()));
        Failure::bad_input(anyhow!("{file}: line {line}: {bad}"))
    })?;
    run::check_denied(args, &plan)?;
    let workspace = args.workspace.as_ref().map(|folder| {
        let real =
            folder.canonicalize().with_context(|| format!("cannot open the workspace {}", folder.display()));
        real.and_then(|real| match real.is_dir() {
            true => Ok(real),
            false => Err(anyhow!("the workspace {} is not a folder", folder.display())),
        })
    });
    let workspace = workspace.transpose().map_err(Failure::bad_input)?;
    let mut report = match args.json {
        true => Report::Json(json::JsonLines),
        false => Report::Text(timeline::Timeline::new(Paint::for_stdout(), args.diff)),
    };
    report.intent(&Intent {
        file: args.file.clone(),
        plan: &plan,
        workspace: workspace.clone(),
        denied: &args.deny,
        unload_after: args.unload_after,
    })?;
    if plan.calls.is_empty() {
        report.nothing()?;
        return Ok(Exit::Fine);
    }
    if !args.yes {
        match ask::ask(plan.calls.len())? {
            Answer::Yes => {}
            Answer::No => {
                say("declined, nothing was run");
                return Ok(Exit::Failed);
            }
            Answer::Nobody => {
                return Err(Failure::bad_input(anyhow!(
                    "there is no terminal to ask on: read the list above and give --yes to run it"
                )));
            }
        }
    }
    run::run(args, &plan, workspace.as_deref(), &mut report)
}

fn read(args: &ReplayArgs) -> Result<SessionLog, Failure> {
    let file = visible(&args.file.display().to_string());
    let bytes =
        fs::read(&args.file).with_context(|| format!("cannot read {file}")).map_err(Failure::bad_input)?;
    if let Some(reason) = no_json(&bytes) {
        return Err(Failure::bad_input(anyhow!("{file}: line 1: {reason}")));
    }
    let log = SessionLog::parse(&bytes).map_err(|error| {
        let problem = visible(&error.problem.to_string());
        Failure::bad_input(anyhow!("{file}: line {}: {problem}", error.line))
    })?;
    if let Some(torn) = &log.torn {
        say(format_args!(
            "{file}: line {}: the last line is cut off after {} bytes and was left out",
            torn.line, torn.bytes
        ));
    }
    Ok(log)
}

/// What the first bytes say of a file that cannot be a log, where the parser would only see that it is none.
fn no_json(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(&[0x1f, 0x8b]) {
        Some("the log is compressed with gzip: unpack it first (`gunzip -c FILE > LOG`)")
    } else if bytes.starts_with(&[0xef, 0xbb, 0xbf]) {
        Some(
            "the log starts with a byte order mark (the bytes EF BB BF): remove it (`tail -c +4 FILE > LOG`)",
        )
    } else {
        None
    }
}
