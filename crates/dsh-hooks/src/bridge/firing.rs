//! The hooks of one moment run, one after another.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use dsh_agent::Agent;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::bridge::Bridge;
use crate::bridge::moment::Moment;
use crate::bridge::place::Place;
use crate::bridge::rules::Firing;
use crate::bridge::turn::Turn;
use crate::ending::Ending;
use crate::handler::Handler;
use crate::keys::RAN;
use crate::merge::{Merged, merge};
use crate::output::HookOutput;
use crate::point::Point;
use crate::ran::HookRan;
use crate::record::HookInvoked;
use crate::run::{HookCommand, HookRun, run_hook};

/// What the hooks of a moment came to.
pub(crate) struct Fired {
    pub(crate) merged: Merged,
    /// There may be no answers, or not all of them.
    pub(crate) cut: Option<Cut>,
}

/// Why hooks may not have answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The plugin is being unloaded.
    Unloaded,
    /// Their answers were not waited for any more.
    Cancelled,
}

/// A hook, and its place in the configuration.
pub(crate) type Hook = (usize, Arc<Handler>);

/// Nothing runs commands any more, which is so only when the plugin is being unloaded.
struct NoShell;

impl Bridge {
    pub(crate) fn place_of(&self, agent: Option<&Agent>) -> Place {
        let session = agent.map(|agent| &**agent.session().header());
        Place::of(&self.ctx, session, &self.options.process_cwd)
    }

    /// The hooks of a point that are for this tool, source or agent. Hooks of prompts and of the end of a turn are for all.
    pub(crate) fn hooks(&self, point: Point, subject: &str) -> Vec<Hook> {
        let handlers = self.handlers.iter().enumerate();
        let is_for = |(_, it): &(usize, &Arc<Handler>)| it.point == point && it.matcher.matches(subject);
        handlers.filter(is_for).map(|(index, handler)| (index, Arc::clone(handler))).collect()
    }

    /// Runs [these hooks](Self::hooks) of a moment in their order, each after the one before, and logs them in the turn if
    /// there is one. Each is told of the arguments as those before left them. No further one is begun once they are
    /// cancelled, or the plugin is being unloaded.
    pub(crate) async fn fire(
        &self,
        hooks: &[Hook],
        place: &Place,
        turn: Option<&Turn>,
        moment: Moment<'_>,
        cancellation: &CancellationToken,
    ) -> Fired {
        let ending = self.detached.token();
        let number = turn.map_or(0, Turn::number);
        let mut outputs: Vec<HookOutput> = Vec::new();
        let mut input: Option<Value> = None;
        let mut no_shell = false;
        for hook in hooks {
            if cancellation.is_cancelled() || ending.is_cancelled() {
                break;
            }
            let moment = input.as_ref().map_or(moment, |input| moment.with_input(input));
            let firing = Firing { place, turn: number, moment };
            let output = match self.run(hook, &firing, turn, cancellation).await {
                Ok(output) => output,
                Err(NoShell) => {
                    no_shell = true;
                    break;
                }
            };
            if let Some(updated) = &output.updated_input {
                input = Some(Value::Object(updated.clone()));
            }
            outputs.push(output);
        }
        let cut = if no_shell || ending.is_cancelled() {
            Some(Cut::Unloaded)
        } else {
            cancellation.is_cancelled().then_some(Cut::Cancelled)
        };
        Fired { merged: merge(&outputs), cut }
    }

    async fn run(
        &self,
        (index, handler): &Hook,
        firing: &Firing<'_>,
        turn: Option<&Turn>,
        cancellation: &CancellationToken,
    ) -> Result<HookOutput, NoShell> {
        let (plugin, point, dialect) = (self.plugin(), handler.point, self.rules.dialect());
        let payload = match self.rules.payload(firing) {
            Ok(payload) => payload,
            Err(error) => {
                tracing::warn!(
                    "{plugin}: a hook of {point} is not run: what happens cannot be told as JSON: {error}"
                );
                return Ok(HookOutput::default());
            }
        };
        let shell = self.shell.get().map_err(|_| NoShell)?;
        let number = self.runs.fetch_add(1, Ordering::Relaxed) + 1;
        let invoked = HookInvoked::new(firing.turn, dialect, handler, format!("{dialect}:{point}:{number}"));
        if let Some(turn) = turn {
            turn.invoked(&invoked);
        }
        let ends = self.detached.token().child_token();
        let running = run_hook(
            &*shell,
            HookCommand {
                dialect,
                command: &handler.command,
                payload: &payload,
                env: self.rules.env(firing.place),
                cwd: firing.place.session_cwd.as_deref().map(Path::new),
                timeout: Some(handler.timeout.unwrap_or(self.options.default_timeout)),
                cancellation: ends.clone(),
                expected: Some(point),
            },
        );
        drop(shell);
        let mut run = cancelling(running, cancellation, &ends).await;
        self.understand(point, &mut run);
        if let Some(Ending::NotRun { reason }) = &run.ended {
            tracing::warn!("{plugin}: a hook of {point} cannot be run, and so decides nothing: {reason}");
        }
        if let Some(turn) = turn {
            turn.ended(&invoked.ended(&run, self.options.stderr_summary_max_chars));
        }
        let output = run.output.clone();
        let ran = HookRan {
            session_id: firing.place.session_id.clone(),
            dialect,
            handler: Handler::clone(handler),
            index: *index,
            handler_id: invoked.handler_id,
            payload,
            run,
        };
        self.ctx.emit(RAN, &ran);
        Ok(output)
    }

    /// Leaves out what is not done about an answer, and says so.
    fn understand(&self, point: Point, run: &mut HookRun) {
        let (plugin, output) = (self.plugin(), &mut run.output);
        if output.system_message.take().is_some() {
            tracing::warn!(
                "{plugin}: a hook of {point} gave a `systemMessage`, which nobody is shown: it is ignored"
            );
        }
        let rewrites = point == Point::PreToolUse && self.rules.can_rewrite();
        if !rewrites && output.updated_input.take().is_some() {
            tracing::warn!(
                "{plugin}: a hook of {point} gave an `updatedInput`, which it cannot change: it is ignored"
            );
        }
        let tells = self.rules.tells_plain_text(point);
        // What begins like an object was meant to be one.
        let plain = output.plain_stdout.clone().filter(|text| tells && !text.starts_with('{'));
        if output.additional_context.as_deref().is_none_or(str::is_empty) {
            output.additional_context = plain;
        }
    }
}

/// Waits for what runs, which is told to end when `cancellation` says so, and then ends by itself.
async fn cancelling<R>(
    running: impl Future<Output = R>,
    cancellation: &CancellationToken,
    ends: &CancellationToken,
) -> R {
    let mut running = std::pin::pin!(running);
    tokio::select! {
        biased;
        run = &mut running => run,
        () = cancellation.cancelled() => {
            ends.cancel();
            running.await
        }
    }
}
