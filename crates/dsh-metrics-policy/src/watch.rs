//! The listeners: one times and traces the execution, the other counts what came of the call.

use std::sync::Arc;
use std::time::Duration;

use cordis::{Handle, Next};
use dsh_tools::{CallToken, RunContext, Settled, ToolCall, ToolOutcome, ToolRuntime};
use tokio::time::Instant;
use tracing::Instrument;
use tracing::field::{Empty, display};

use crate::durations::ms;
use crate::metrics::Metrics;
use crate::series::{CallCode, ToolLabel};

/// The listener of `tools/execute`.
pub(crate) async fn execution(call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>) -> ToolOutcome {
    let span = tracing::info_span!(
        "tool_call",
        tool = call.name(),
        call = call.id(),
        root = call.root_id(),
        agent = call.agent().map(|agent| agent.id().as_str()),
        code = Empty,
        duration_ms = Empty,
    );
    let watch = Stopwatch::start(call);
    let outcome = next.run(call).instrument(span.clone()).await;
    span.record("code", display(CallCode::of(&outcome)));
    span.record("duration_ms", ms(watch.started.elapsed()));
    outcome
}

/// How long the execution of a call took.
struct Took {
    /// Whose it is: a nested call starts with the context of the outer one.
    call: CallToken,
    duration: Duration,
}

/// Leaves how long the execution took with the call when it is dropped, which is when the execution ends or a listener panics.
struct Stopwatch {
    context: RunContext,
    call: CallToken,
    started: Instant,
}

impl Stopwatch {
    fn start(call: &ToolCall) -> Self {
        Self { context: call.context().clone(), call: call.token(), started: Instant::now() }
    }
}

impl Drop for Stopwatch {
    fn drop(&mut self) {
        self.context.insert(Took { call: self.call, duration: self.started.elapsed() });
    }
}

/// What counts calls.
pub(crate) struct Counter {
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) tools: Handle<ToolRuntime>,
}

/// The listener of `tools/result`.
pub(crate) fn result(counter: &Counter, settled: &Settled) {
    let call = settled.call();
    let took =
        call.context().get::<Took>().filter(|took| took.call == call.token()).map(|took| took.duration);
    counter.metrics.count(counter.label(call), CallCode::of(settled.outcome()), took);
}

impl Counter {
    /// A model may write any name; only those of tools are told apart.
    fn label(&self, call: &ToolCall) -> ToolLabel {
        // A tool may be gone by the time its last call ends.
        let offered = || self.tools.get().is_ok_and(|tools| tools.get(call.name(), call.scope()).is_some());
        match call.body_was_entered() || offered() {
            true => ToolLabel::Named(call.name().to_owned()),
            false => ToolLabel::Unknown,
        }
    }
}
