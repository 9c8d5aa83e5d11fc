//! `dsh hooks run`: the hooks of something run, as they would for an agent.

use std::sync::Arc;

use anyhow::anyhow;
use clap::ColorChoice;
use dsh_hooks::HookRan;

use crate::app::{END_TIMEOUT, end_of, runtime};
use crate::cli::HooksRunArgs;
use crate::exit::{Exit, Failure, UNWRITTEN, say};
use crate::hooks::coverage::nearest_tool;
use crate::hooks::dialect::Reading;
use crate::hooks::firing::{Outcome, fire};
use crate::hooks::occasion::Occasion;
use crate::hooks::settings;
use crate::hooks::stage::{Loaded, Stage, load};
use crate::hooks::telling::Telling;
use crate::interruption::{FORCED, Interruption, interrupts};
use crate::tools::call::workspace;
use crate::tools::host::offered;
use crate::visible::visible;

pub(crate) fn run(args: &HooksRunArgs, color: ColorChoice) -> Result<Exit, Failure> {
    let reading = Reading::of(&args.written_for, args.timeout);
    let workspace = workspace(args.written_for.workspace.as_deref()).map_err(Failure::bad_input)?;
    let occasion = Occasion::of(args, &reading.grammar())?;
    let files = settings::find(&reading, &args.settings, &workspace)?;
    let files = files.into_iter().map(|file| load(&reading, file, args.point));
    let files: Vec<Loaded> = files.collect::<anyhow::Result<_>>().map_err(Failure::bad_input)?;
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        hint_at_tool(&occasion).await?;
        let Interruption { asked, forced } = Interruption::watch(interrupts()?, || {})?;
        let cancellation = asked.child_token();
        let telling =
            Arc::new(Telling::new(args.json, args.show_payload, color, &files, cancellation.clone()));
        let work = async {
            let stage = Stage::set(&workspace, args.point, Arc::clone(&telling), !args.show_payload).await?;
            let fired = async {
                stage.load(&reading, &files).await?;
                telling.begin(args.point, reading.dialect, &workspace, &files, &occasion);
                fire(&stage, &occasion, &files, &cancellation).await
            }
            .await;
            let ran = stage.runs(args.point);
            end_of(stage.stop(), &asked).await;
            told(&telling, fired?, &ran)
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

fn told(telling: &Telling, outcome: Option<Outcome>, ran: &[HookRan]) -> Result<Exit, Failure> {
    let exit = match &outcome {
        Some(outcome) => {
            telling.end(outcome, ran);
            if outcome.decision.goes_on() { Exit::Fine } else { Exit::Failed }
        }
        None => Exit::Failed,
    };
    if let Some(error) = telling.failure() {
        return Err(Failure::from(anyhow!(error).context(UNWRITTEN)));
    }
    if outcome.is_none() {
        say("interrupted; the hooks were ended, and nothing came of it");
    }
    Ok(exit)
}

/// Says so if there is no such tool here: its name may be meant otherwise.
async fn hint_at_tool(occasion: &Occasion) -> Result<(), Failure> {
    let Some(tool) = occasion.tool() else { return Ok(()) };
    let tools = offered().await?;
    if !tools.iter().any(|it| it == tool) {
        let meant = match nearest_tool(tool, &tools) {
            Some(meant) => format!("did you mean `{}`?", visible(meant)),
            None => format!("there are {}", visible(&tools.join(", "))),
        };
        say(format_args!("no tool here is called `{}`; {meant}", visible(tool)));
    }
    Ok(())
}
