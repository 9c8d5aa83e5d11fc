//! The run itself: a folder, an app, the calls one after another, and the end of it all.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use indicatif::{HumanBytes, ProgressBar};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::cli::ReplayArgs;
use crate::exit::{Exit, Failure, say};
use crate::replay::compare::{Verdict, is_unknown};
use crate::replay::copy::{self, Copied};
use crate::replay::folder::Folder;
use crate::replay::host::Host;
use crate::replay::plan::{Plan, PlannedCall};
use crate::replay::report::{Done, Report};
use crate::replay::summary::Summary;
use crate::visible::visible;

/// How many of the things that a copy left out are named.
const NAMED: usize = 5;

/// Makes all calls in a folder that is removed at the end, whatever happens.
pub(crate) fn run(
    args: &ReplayArgs,
    plan: &Plan,
    workspace: Option<&Path>,
    report: &mut Report,
) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let folder = Folder::create().context("cannot create a temporary folder")?;
    let ended = runtime.block_on(async {
        let interrupted = interruption()?;
        if let Some(from) = workspace {
            fill(from, folder.workspace(), &interrupted).await.map_err(|error| {
                match interrupted.is_cancelled() {
                    true => Failure::from(error),
                    false => Failure::bad_input(error),
                }
            })?;
        }
        in_folder(args, plan, folder.workspace(), &interrupted, report).await
    });
    drop(runtime);
    let left = folder.workspace().to_owned();
    if let Err(error) = folder.remove() {
        say(format_args!("the folder {} could not be removed: {error}", left.display()));
    }
    ended
}

/// A token that Ctrl-C and a request to end cancel.
fn interruption() -> anyhow::Result<CancellationToken> {
    let token = CancellationToken::new();
    for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()] {
        let mut signal = signal(kind).context("cannot watch for signals")?;
        let token = token.clone();
        tokio::spawn(async move {
            if signal.recv().await.is_some() {
                token.cancel();
            }
        });
    }
    Ok(token)
}

async fn fill(from: &Path, to: &Path, interrupted: &CancellationToken) -> anyhow::Result<()> {
    let (source, target, cancellation) = (from.to_owned(), to.to_owned(), interrupted.clone());
    // Hidden by itself where there is no terminal.
    let bar =
        ProgressBar::new_spinner().with_prefix(format!("copying {}", visible(&from.display().to_string())));
    bar.enable_steady_tick(Duration::from_millis(200));
    let shown = bar.clone();
    let progress = move |copied: &Copied| {
        shown.set_message(format!("{} files, {}", copied.files, HumanBytes(copied.bytes)));
    };
    let copied =
        tokio::task::spawn_blocking(move || copy::copy(&source, &target, &cancellation, progress)).await;
    bar.finish_and_clear();
    let copied = copied??;
    notice("skipped, neither file nor folder nor link", &copied.skipped);
    notice("links that lead out of the copy, where they reach the original", &copied.leading_out);
    Ok(())
}

fn notice(what: &str, paths: &[PathBuf]) {
    if paths.is_empty() {
        return;
    }
    let names: Vec<String> =
        paths.iter().take(NAMED).map(|path| visible(&path.display().to_string())).collect();
    let more = if paths.len() > NAMED { format!(" and {} more", paths.len() - NAMED) } else { String::new() };
    say(format_args!("{what}: {}{more}", names.join(", ")));
}

async fn in_folder(
    args: &ReplayArgs,
    plan: &Plan,
    workspace: &Path,
    interrupted: &CancellationToken,
    report: &mut Report,
) -> Result<Exit, Failure> {
    let shown_as = plan.cwd.as_ref().map(PathBuf::from).filter(|cwd| cwd.is_absolute());
    let mut host = Host::start(workspace, shown_as, &args.deny).await?;
    let ended = calls(args, plan, &mut host, interrupted, report).await;
    for disposed in host.stop().await.iter().filter(|disposed| !disposed.is_clean()) {
        say(format_args!("not everything ended: {disposed:?}"));
    }
    ended
}

async fn calls(
    args: &ReplayArgs,
    plan: &Plan,
    host: &mut Host,
    interrupted: &CancellationToken,
    report: &mut Report,
) -> Result<Exit, Failure> {
    let start = Instant::now();
    let mut summary = Summary::default();
    for call in &plan.calls {
        if interrupted.is_cancelled() {
            break;
        }
        if args.unload_after == Some(summary.calls) {
            unload(host, summary.calls, report).await?;
        }
        make(call, host, interrupted, report, &mut summary).await?;
    }
    if args.unload_after == Some(summary.calls) {
        unload(host, summary.calls, report).await?;
    }
    summary.left_out = plan.calls.len() - summary.calls;
    summary.duration_ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    report.summary(&summary)?;
    if interrupted.is_cancelled() {
        say("interrupted");
        return Ok(Exit::Failed);
    }
    Ok(Exit::Fine)
}

async fn make(
    call: &PlannedCall,
    host: &Host,
    interrupted: &CancellationToken,
    report: &mut Report,
    summary: &mut Summary,
) -> Result<(), Failure> {
    report.started(call)?;
    let start = Instant::now();
    let outcome = host.call(call, interrupted).await?;
    let duration = start.elapsed();
    let verdict = Verdict::of(call.logged.as_ref(), &outcome);
    summary.add(verdict);
    if is_unknown(&outcome) {
        summary.add_unknown(&call.tool);
    }
    report.done(&Done { call, outcome: &outcome, verdict, duration })?;
    Ok(())
}

async fn unload(host: &mut Host, after_calls: usize, report: &mut Report) -> Result<(), Failure> {
    if let Some(unloaded) = host.unload_guard(after_calls).await {
        report.unloaded(&unloaded)?;
    }
    Ok(())
}
