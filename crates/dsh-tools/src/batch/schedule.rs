//! Which calls of a batch run at once.
//!
//! **Invariants**
//! 1. Calls are started in the order of the model, one after the other: the log has the call before its policies are
//!    asked, and policies of two calls never overlap. Bodies do, and go on while policies of other calls are asked.
//! 2. A call that runs alone starts when everything before it has its result, and nothing starts until it has its own.
//! 3. Results are written in the order of the model.

use std::collections::VecDeque;
use std::sync::Arc;

use cordis::Context;
use dsh_llm::FinishReason;

use crate::batch::log::StepLog;
use crate::batch::{Batch, BatchError, ExecutionMode, ModelCall};
use crate::call::CallRequest;
use crate::error::{ErrorInfo, Failure};
use crate::flights::Flights;
use crate::given::{Arguments, CutOff, GivenArguments};
use crate::outcome::ToolOutcome;
use crate::pipeline;
use crate::runtime::{Made, Shared};

/// A call that was not started.
struct Waiting {
    call: ModelCall,
    /// None for arguments that cannot be read.
    read: Option<Arguments>,
    cut_off: Option<CutOff>,
}

/// A call that was started.
struct Started {
    call: ModelCall,
    /// The number of the event that says so.
    asked: u64,
}

/// Executes a batch. The outcomes are in the order of the calls.
pub(crate) async fn run(
    shared: &Arc<Shared>,
    ctx: &Context,
    batch: Batch,
) -> Result<Vec<ToolOutcome>, BatchError> {
    let Batch { agent, turn, step, calls, finish, max_parallel, cancellation } = batch;
    let log = StepLog { agent: &agent, turn, step };
    let mut outcomes = Vec::with_capacity(calls.len());
    let mut waiting = waiting(calls, &finish);
    let mut flights = Flights::new();
    // Whether what is under way is one call that runs alone.
    let mut alone = false;

    let ended = loop {
        if let Some((Started { call, asked }, station)) = flights.take_first() {
            let mut event = None;
            let fit = |outcome| {
                let (written, outcome) = log.writable(&call, outcome);
                event = Some(written);
                outcome
            };
            let outcome = flights.beside(pipeline::settle(shared, ctx, station, fit)).await;
            if let Some(Err(error)) = event.map(|event| log.result(&call, asked, event, &outcome)) {
                break Err(error);
            }
            outcomes.push(outcome);
            alone = false;
            continue;
        }
        if let Some(next) = waiting.front().filter(|_| !cancellation.is_cancelled()) {
            let mode = next.mode(shared, agent.scope());
            let fits = match mode {
                ExecutionMode::Exclusive => flights.is_empty(),
                ExecutionMode::Parallel => !alone && flights.running() < max_parallel.get(),
            };
            if fits && let Some(next) = waiting.pop_front() {
                if next.call.id.is_empty() {
                    // No result in the log could name it.
                    outcomes.push(nameless(&next.call));
                    continue;
                }
                let asked = match log.call(&next.call) {
                    Ok(asked) => asked,
                    Err(error) => break Err(error),
                };
                let (call, request) = next.into_request();
                let request = request.agent(&agent).cancellation(&cancellation);
                let station = flights.beside(pipeline::prepare(shared, ctx, request, None)).await;
                flights.start(shared, ctx, Started { call, asked }, station);
                alone = mode == ExecutionMode::Exclusive;
                continue;
            }
        }
        if flights.is_empty() {
            break Ok(());
        }
        flights.land().await;
    };

    if let Err(error) = ended {
        drain(shared, ctx, flights).await;
        return Err(error);
    }
    // Only a cancellation leaves calls behind: the next request needs a result for each of them.
    for Waiting { call, .. } in waiting {
        if call.id.is_empty() {
            outcomes.push(nameless(&call));
            continue;
        }
        let asked = log.call(&call)?;
        let (event, outcome) = log.writable(&call, ToolOutcome::aborted_before_dispatch());
        log.result(&call, asked, event, &outcome)?;
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

fn nameless(call: &ModelCall) -> ToolOutcome {
    let message = format!("the call of tool \"{}\" has no id, so no result can answer it", call.name);
    ToolOutcome::failure(Failure::new(message).coded(ErrorInfo::INVALID_ARGS))
}

/// Lets what runs come to its end, and tells what came of it; the log is not spoken to any more.
async fn drain(shared: &Arc<Shared>, ctx: &Context, mut flights: Flights<Started>) {
    while !flights.is_empty() {
        match flights.take_first() {
            Some((_, station)) => {
                let _ = flights.beside(pipeline::settle(shared, ctx, station, |outcome| outcome)).await;
            }
            None => flights.land().await,
        }
    }
}

fn waiting(calls: Vec<ModelCall>, finish: &FinishReason) -> VecDeque<Waiting> {
    let last = calls.len().saturating_sub(1);
    let ended_inside = match finish {
        FinishReason::Stop {} | FinishReason::ToolCalls {} => None,
        FinishReason::MaxTokens {} => Some(CutOff::TokenLimit),
        _ => Some(CutOff::BrokenOff),
    };
    let wait = |(place, call): (usize, ModelCall)| {
        let cut_off = ended_inside.filter(|_| place == last);
        let cut_off = cut_off.or_else(|| call.cut_off.then_some(CutOff::BrokenOff));
        let read = Arguments::parse(&call.arguments).ok();
        Waiting { call, read, cut_off }
    };
    calls.into_iter().enumerate().map(wait).collect()
}

impl Waiting {
    /// Asked right before each attempt to start it, because tools come and go while others run.
    fn mode(&self, shared: &Shared, scope: &cordis::ScopeKey) -> ExecutionMode {
        if self.call.id.is_empty() {
            return ExecutionMode::Exclusive;
        }
        match (&self.read, self.cut_off) {
            (Some(arguments), None) => {
                shared.mode_of(&self.call.name, arguments.value(), Some(scope), Made::ByModel)
            }
            _ => ExecutionMode::Exclusive,
        }
    }

    fn into_request(self) -> (ModelCall, CallRequest) {
        let arguments = match (self.cut_off, self.read) {
            (Some(why), _) => GivenArguments::cut_off(why),
            (None, Some(arguments)) => arguments.into(),
            // Read again for what is wrong with them.
            (None, None) => self.call.arguments.as_str().into(),
        };
        let request = CallRequest::new(&self.call.id, &self.call.name, arguments);
        (self.call, request)
    }
}
