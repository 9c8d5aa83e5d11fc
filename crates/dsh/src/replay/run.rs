//! The run itself: a folder, an app, the calls one after another, and the end of it all.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use indicatif::{HumanBytes, ProgressBar};
use tokio::runtime::Runtime;
use tokio::signal::unix::Signal;
use tokio_util::sync::CancellationToken;

use crate::app::{END_TIMEOUT, end_of, runtime};
use crate::cli::ReplayArgs;
use crate::exit::{Exit, Failure, say};
use crate::interruption::{FORCED, Interruption};
use crate::replay::compare::{Verdict, is_unknown};
use crate::replay::copy::{self, Copied};
use crate::replay::folder::{self, Folder};
use crate::replay::host::Host;
use crate::replay::plan::{Plan, PlannedCall};
use crate::replay::report::{Done, Report};
use crate::replay::summary::Summary;
use crate::visible::visible;
use crate::workbench::Workbench;

/// How many of the things that a copy left out are named.
const NAMED: usize = 5;

/// Makes all calls in a folder that is removed at the end, whatever happens.
pub(crate) fn run(
    args: &ReplayArgs,
    plan: &Plan,
    workspace: Option<&Path>,
    report: &mut Report,
    (runtime, interrupts): (Runtime, Signal),
) -> Result<Exit, Failure> {
    let folder = Folder::create().context("cannot create a temporary folder")?;
    let ended = runtime.block_on(async {
        let outer = folder.outer().to_owned();
        let tidy_up = move || drop(folder::remove(&outer));
        let interruption = Interruption::watch(interrupts, tidy_up)?;
        let Interruption { asked, forced } = &interruption;
        let work = async {
            if let Some(from) = workspace {
                fill(from, folder.workspace(), asked).await.map_err(|error| match asked.is_cancelled() {
                    true => Failure::from(error),
                    false => Failure::bad_input(error),
                })?;
            }
            in_folder(args, plan, &folder, asked, report).await
        };
        tokio::select! {
            biased;
            ended = work => ended,
            () = forced.cancelled() => Err(Failure::from(anyhow!(FORCED))),
        }
    });
    end(runtime, folder);
    ended
}

/// Removes the folder, even if a thread would not end.
fn end(runtime: Runtime, folder: Folder) {
    runtime.shutdown_timeout(END_TIMEOUT);
    let left = folder.workspace().to_owned();
    if let Err(error) = folder.remove() {
        say(format_args!("the folder {} could not be removed: {error}", left.display()));
    }
}

/// Refuses to deny what nobody could call: it would run what the user meant to deny.
pub(crate) fn check_denied(args: &ReplayArgs, plan: &Plan) -> Result<(), Failure> {
    let mut known: BTreeSet<String> = plan.calls.iter().map(|call| call.tool.clone()).collect();
    let unknown = |known: &BTreeSet<String>| {
        let mut denied = args.deny.iter();
        denied.find(|name| name.is_empty() || !known.contains(*name)).cloned()
    };
    if unknown(&known).is_none() {
        return Ok(());
    }
    known.extend(runtime()?.block_on(Host::offered())?);
    let Some(wrong) = unknown(&known) else { return Ok(()) };
    let names: Vec<String> = known.iter().filter(|name| !name.is_empty()).map(|name| visible(name)).collect();
    Err(Failure::bad_input(anyhow!(
        "--deny: no tool is called `{}`, neither here nor in the log; there are: {}",
        visible(&wrong),
        names.join(", ")
    )))
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
    folder: &Folder,
    interrupted: &CancellationToken,
    report: &mut Report,
) -> Result<Exit, Failure> {
    let workbench = Workbench {
        workspace: folder.workspace(),
        shown_as: plan.cwd.as_ref().map(PathBuf::from).filter(|cwd| cwd.is_absolute()),
        // Removed with the folder, also when nothing is waited for any more.
        spill_root: Some(folder.outer().to_owned()),
        keep_spill_files: false,
    };
    let mut host = Host::start(workbench, &args.deny).await?;
    let ended = calls(args, plan, &mut host, interrupted, report).await;
    end_of(host.stop(), interrupted).await;
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
    if let Some(after) = args.unload_after.filter(|after| *after > summary.calls) {
        report.kept(after, summary.calls)?;
    }
    summary.interrupted = interrupted.is_cancelled();
    summary.left_out = plan.calls.len() - summary.calls;
    summary.duration_ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    report.summary(&summary)?;
    if summary.interrupted {
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
    summary.add(verdict, outcome.is_error());
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

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{Folder, end, runtime};

    #[test]
    fn a_thread_that_does_not_end_keeps_neither_the_process_nor_the_folder() {
        let (runtime, folder) = (runtime().unwrap(), Folder::create().unwrap());
        let outer = folder.outer().to_owned();
        runtime.spawn_blocking(|| std::thread::sleep(Duration::from_secs(30)));
        let start = Instant::now();
        end(runtime, folder);
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
        assert!(!outer.exists());
    }
}
