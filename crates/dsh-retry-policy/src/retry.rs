//! What happens around a body: a run, and further ones where they are worth it.

use std::collections::BTreeSet;
use std::time::Duration;

use cordis::{Context, Handle, Next};
use dsh_tools::{ToolCall, ToolOutcome, ToolRuntime};

use crate::backoff::Backoff;
use crate::config::Config;

pub(crate) struct Retries {
    /// The plugin's own: its unloading ends waits.
    ctx: Context,
    tools: Handle<ToolRuntime>,
    max_retries: u32,
    codes: BTreeSet<String>,
    backoff: Backoff,
}

impl Retries {
    pub(crate) fn new(ctx: Context, tools: Handle<ToolRuntime>, config: &Config) -> Self {
        Self {
            ctx,
            tools,
            max_retries: config.max_retries,
            codes: config.codes.iter().cloned().collect(),
            backoff: Backoff::new(config),
        }
    }

    /// The code of a failure that may pass. Refusals have none.
    fn passing<'o>(&self, outcome: &'o ToolOutcome) -> Option<&'o str> {
        outcome.code().filter(|code| self.codes.contains(*code))
    }

    /// Whether another run does no harm. Beside a body that runs still it may, and of a tool that is gone nobody can say.
    fn is_harmless(&self, call: &ToolCall) -> bool {
        if call.has_running_body() {
            return false;
        }
        let Ok(tools) = self.tools.get() else { return false };
        let Some(tool) = tools.get(call.name(), call.scope()) else { return false };
        tool.is_idempotent() || !call.body_was_entered()
    }

    /// Whether the time has passed, and neither the call nor the plugin ended before.
    async fn wait(&self, call: &ToolCall, delay: Duration) -> bool {
        let cancellation = call.cancellation().clone();
        tokio::select! {
            biased;
            () = cancellation.cancelled() => false,
            slept = self.ctx.sleep(delay) => slept.is_ok(),
        }
    }
}

/// The listener of `tools/execute`.
pub(crate) async fn repeat(
    retries: &Retries,
    call: &mut ToolCall,
    next: Next<'_, ToolCall, ToolOutcome>,
) -> ToolOutcome {
    let mut retry = 0;
    loop {
        let outcome = next.clone().run(call).await;
        let Some(code) = retries.passing(&outcome) else { return outcome };
        if retry == retries.max_retries || call.is_cancelled() || !retries.is_harmless(call) {
            return outcome;
        }
        retry += 1;
        let delay = retries.backoff.delay(retry);
        tracing::info!(
            tool = call.name(),
            call = call.id(),
            code,
            retry,
            max_retries = retries.max_retries,
            delay_ms = delay.as_millis(),
            "the tool call failed and is run again after the delay"
        );
        // The tool may be another one by now.
        if !retries.wait(call, delay).await || !retries.is_harmless(call) {
            return outcome;
        }
        call.start_over();
    }
}
