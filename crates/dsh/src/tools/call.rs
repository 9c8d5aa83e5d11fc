//! `dsh tools call`: one call of an agent, on the way that all calls take.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, ensure};
use clap::ColorChoice;
use dsh_tools::{CallRequest, ErrorInfo, ToolOutcome};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::app::{END_TIMEOUT, end_of, runtime};
use crate::cli::ToolsCallArgs;
use crate::exit::{Exit, Failure, UNWRITTEN, say};
use crate::interruption::{FORCED, Interruption, interrupts};
use crate::tools::approve;
use crate::tools::given;
use crate::tools::host::Host;
use crate::tools::jobs;
use crate::tools::list::check_names;
use crate::tools::long_output::LongOutput;
use crate::tools::stations::{self, Stations};
use crate::tools::trace::Trace;
use crate::visible::visible;
use crate::workbench::Workbench;

/// The call's id: there is one call only.
const CALL: &str = "call-1";

pub(crate) fn call(args: &ToolsCallArgs, color: ColorChoice) -> Result<Exit, Failure> {
    check_agent(&args.agent)?;
    let arguments = given::arguments(args.arguments.as_deref(), "the arguments")?;
    let workspace = workspace(args.workspace.as_deref()).map_err(Failure::bad_input)?;
    if is_swallowed() {
        say("standard output is closed, or takes what nobody reads: only the exit code tells of the call");
    }
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        let long_output = LongOutput::create()?;
        let unused = long_output.path().to_owned();
        let tidy_up = move || {
            let _ = fs::remove_dir(unused);
        };
        let Interruption { asked, forced } = Interruption::watch(interrupts()?, tidy_up)?;
        let cancellation = asked.child_token();
        let trace = Trace::new(args.json, color, cancellation.clone());
        let work = async {
            let host = Host::start(&args.agent).await?;
            let workbench = Workbench {
                spill_root: Some(long_output.path().to_owned()),
                keep_spill_files: true,
                ..Workbench::new(&workspace)
            };
            let made = made(args, arguments, workbench, trace, &host, (&asked, &cancellation)).await;
            end_of(host.stop(), &asked).await;
            long_output.end();
            made
        };
        tokio::select! {
            biased;
            ended = work => ended,
            () = forced.cancelled() => Err(Failure::from(anyhow!(FORCED))),
        }
    });
    runtime.shutdown_timeout(END_TIMEOUT);
    ended
}

async fn made(
    args: &ToolsCallArgs,
    arguments: Value,
    workbench: Workbench<'_>,
    trace: Trace,
    host: &Host,
    (asked, cancellation): (&CancellationToken, &CancellationToken),
) -> Result<Exit, Failure> {
    let stations = Stations::new(trace);
    let workspace = workbench.workspace;
    stations::watch_first(host, &stations)?;
    host.offer(workbench).await?;
    let offered = host.tools.get()?.list(Some(host.agent.scope()));
    check_names("tools call", [&args.name], &offered)?;
    check_names("--deny", &args.deny, &offered)?;
    if let Some(timeout) = args.timeout {
        host.limit(timeout).await?;
    }
    if !args.deny.is_empty() {
        host.deny(&args.deny).await?;
    }
    if let Some(answer) = args.approve {
        approve::ask_first(host.agent.context(), answer).await?;
    }
    stations::watch(host, &stations)?;
    let trace = stations.trace();
    trace.begin(&args.name, &args.agent, workspace, &arguments);
    let request = CallRequest::new(CALL, &args.name, arguments).agent(&host.agent).cancellation(cancellation);
    let outcome = host.tools.get()?.execute(&host.app, request).await;
    trace.result(&outcome);
    let jobs = match args.wait {
        true => jobs::wait(host, trace, cancellation).await?,
        false => jobs::say_that_they_end(host).map(|()| Exit::Fine)?,
    };
    host.turn.end()?;
    if let Some(error) = trace.failure() {
        if error.kind() == io::ErrorKind::BrokenPipe {
            let ended = if is_aborted(&outcome) { "the call was cancelled" } else { "the call had ended" };
            say(format_args!("{ended}; nobody reads the output any more"));
        }
        return Err(Failure::from(anyhow!(error).context(UNWRITTEN)));
    }
    if stations.was_withdrawn() && asked.is_cancelled() {
        say("interrupted, nothing was run");
        return Ok(Exit::Interrupted);
    }
    Ok(if outcome.is_error() { Exit::Failed } else { jobs })
}

pub(crate) fn workspace(given: Option<&Path>) -> anyhow::Result<PathBuf> {
    let folder = given.unwrap_or(Path::new("."));
    let shown = folder.display();
    let real = folder.canonicalize().with_context(|| format!("cannot work in the folder {shown}"))?;
    ensure!(real.is_dir(), "cannot work in {shown}: it is not a folder");
    Ok(real)
}

/// An agent's name is its session's id.
pub(crate) fn check_agent(name: &str) -> Result<(), Failure> {
    let shown = visible(name);
    if name.is_empty() {
        return Err(Failure::bad_input(anyhow!(
            "--agent: an agent has a name; give it one, or leave --agent out"
        )));
    }
    if shown != name {
        return Err(Failure::bad_input(anyhow!(
            "--agent: `{shown}` has characters that cannot be seen, as control characters are; leave them out"
        )));
    }
    Ok(())
}

fn is_aborted(outcome: &ToolOutcome) -> bool {
    let aborted = [ErrorInfo::ABORTED, ErrorInfo::ABORTED_BEFORE_DISPATCH];
    aborted.iter().any(|error| outcome.code() == Some(&*error.code))
}

/// Whether standard output leads nowhere without having been sent there as `>/dev/null` does.
///
/// Where it was closed, the start of the program has opened the null device in its place, for reading too.
fn is_swallowed() -> bool {
    let is_null = |file: &File| Some(file.metadata().ok()?.rdev() == fs::metadata("/dev/null").ok()?.rdev());
    let Ok(out) = io::stdout().as_fd().try_clone_to_owned() else { return false };
    let mut out = File::from(out);
    is_null(&out) == Some(true) && out.read(&mut [0; 1]).is_ok()
}
