//! When the calls of a lane run.
//!
//! **Invariants**
//! 1. Calls are started in the order in which they were submitted; one that cannot start yet holds back all behind it.
//! 2. Policies of two calls never overlap: they are asked here, one call after the other. Bodies overlap.
//! 3. Calls are answered in the order in which they were started. A call that runs alone holds its place until it is
//!    answered.
//! 4. The driver ends when the program has, and nothing is queued, runs or waits for its log.

use std::sync::Arc;

use cordis::BoxFuture;
use dsh_llm::{ContentBlock, Message, Role, Source};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde_json::Value;
use tokio::sync::oneshot;

use crate::batch::ExecutionMode;
use crate::error::Failure;
use crate::flights::Flights;
use crate::nested::record::Opened;
use crate::nested::{Inner, NestedError, Submitted};
use crate::outcome::ToolOutcome;
use crate::pipeline::{self, Station};
use crate::runtime::Made;

/// Who put the images of nested calls into the conversation.
const PLUGIN: &str = "tools-code-mode";

pub(crate) struct Driver<'l> {
    lane: &'l Inner,
    flights: Flights<Started>,
    /// Ends that are being logged.
    logs: FuturesUnordered<BoxFuture<'static, ()>>,
    /// Whether what is under way is one call that runs alone.
    alone: bool,
}

/// A call that was started.
struct Started {
    name: String,
    opened: Opened,
    reply: oneshot::Sender<Result<Value, NestedError>>,
}

/// What is to be done about the queue.
enum Queue {
    Abandon(Submitted),
    Start(Submitted, ExecutionMode),
    /// Nothing, until something changes.
    Wait,
    /// There will be none.
    Ended,
}

impl<'l> Driver<'l> {
    pub(crate) fn new(lane: &'l Inner) -> Self {
        Self { lane, flights: Flights::new(), logs: FuturesUnordered::new(), alone: false }
    }

    pub(crate) async fn run(mut self) {
        loop {
            if let Some((started, station)) = self.flights.take_first() {
                self.commit(started, station).await;
                continue;
            }
            match self.next() {
                Queue::Abandon(Submitted { name, reply, .. }) => {
                    let message = self.lane.over(&name, "tool call abandoned");
                    let _ = reply.send(Err(NestedError { tool: name, message }));
                }
                Queue::Start(submitted, mode) => self.start(submitted, mode).await,
                Queue::Wait => self.wait().await,
                Queue::Ended => break,
            }
        }
        while self.logs.next().await.is_some() {}
    }

    fn next(&self) -> Queue {
        let lane = self.lane;
        let over = lane.cancellation.is_cancelled();
        let head = {
            let mut state = lane.state.lock();
            match state.queue.front() {
                Some(_) if over => return state.queue.pop_front().map_or(Queue::Wait, Queue::Abandon),
                Some(head) => (head.name.clone(), Arc::clone(head.arguments.value())),
                None if state.finished && self.flights.is_empty() => {
                    state.closed = true;
                    return Queue::Ended;
                }
                None => return Queue::Wait,
            }
        };
        let (name, arguments) = head;
        let mode = lane.shared.mode_of(&name, &arguments, lane.outer.scope(), Made::Nested);
        let most = lane.shared.config.max_parallel_sub_calls.max(1);
        let fits = !self.alone
            && match mode {
                ExecutionMode::Exclusive => self.flights.running() == 0,
                ExecutionMode::Parallel => self.flights.running() < most,
            };
        if !fits {
            return Queue::Wait;
        }
        // Only the driver takes from the queue, so the head is still the one that was looked at.
        let head = lane.state.lock().queue.pop_front();
        head.map_or(Queue::Wait, |head| Queue::Start(head, mode))
    }

    async fn start(&mut self, submitted: Submitted, mode: ExecutionMode) {
        let lane = self.lane;
        let Submitted { request, name, record, reply, .. } = submitted;
        let opened = match record.open(&lane.outer) {
            Ok(opened) => opened,
            Err(reason) => {
                let message = format!("the call could not be logged, so it was not made: {reason}");
                let _ = reply.send(Err(NestedError { tool: name, message }));
                return;
            }
        };
        let started = Started { name, opened, reply };
        let parent = Some(lane.outer.as_parent());
        let station = self.beside(pipeline::prepare(&lane.shared, &lane.ctx, request, parent)).await;
        self.alone = mode == ExecutionMode::Exclusive;
        self.flights.start(&lane.shared, &lane.ctx, started, station);
    }

    async fn commit(&mut self, started: Started, station: Station) {
        let lane = self.lane;
        let Started { name, mut opened, reply } = started;
        let outcome =
            self.beside(pipeline::settle(&lane.shared, &lane.ctx, station, |outcome| outcome)).await;
        opened.end(&outcome);
        self.forward(&outcome);
        let answer = match lane.cancellation.is_cancelled() {
            true => Err(lane.over(&name, "result discarded")),
            false => value_of(outcome),
        };
        let _ = reply.send(answer.map_err(|message| NestedError { tool: name, message }));
        self.alone = false;
        if !opened.is_logged() {
            return;
        }
        let ctx = lane.ctx.clone();
        self.logs.push(Box::pin(async move { opened.settle(&ctx).await }));
        while self.logs.len() > lane.shared.config.max_parallel_sub_calls.max(1) {
            let logged = self.logs.next();
            self.flights.beside(logged).await;
        }
    }

    /// Hands to the outer call what a result has for the conversation.
    fn forward(&self, outcome: &ToolOutcome) {
        let (outer, run) = (self.lane.outer.progress(), self.lane.run);
        let is_image = |block: &ContentBlock| matches!(block, ContentBlock::Image { .. });
        if !outcome.is_error() && outcome.content().iter().any(is_image) {
            let source =
                Source::Plugin { plugin: PLUGIN.to_owned(), form: None, sections: None, summary: None };
            outer.defer(run, Message::new(Role::User, outcome.content().to_vec(), source));
        }
        for context in outcome.additional_contexts() {
            outer.defer(run, context.clone());
        }
        if outcome.concludes_turn() {
            outer.conclude(run);
        }
    }

    /// Waits until a body ends, a call is submitted, or the run is over.
    async fn wait(&mut self) {
        let lane = self.lane;
        let over = lane.cancellation.is_cancelled();
        let (flights, logs) = (&mut self.flights, &mut self.logs);
        tokio::select! {
            () = flights.land() => {}
            Some(()) = logs.next(), if !logs.is_empty() => {}
            () = lane.changed.notified() => {}
            () = lane.cancellation.cancelled(), if !over => {}
        }
    }

    /// Does something else while bodies and logs go on.
    async fn beside<R>(&mut self, work: impl Future<Output = R>) -> R {
        let logs = &mut self.logs;
        let mut work = std::pin::pin!(work);
        let work = std::future::poll_fn(move |cx| {
            while let std::task::Poll::Ready(Some(())) = logs.poll_next_unpin(cx) {}
            work.as_mut().poll(cx)
        });
        self.flights.beside(work).await
    }
}

/// What a program gets: the value, or the reason why there is none.
fn value_of(outcome: ToolOutcome) -> Result<Value, String> {
    outcome
        .into_value()
        .map(|(value, _)| value)
        .map_err(|failed| failed.as_failure().map(Failure::message).unwrap_or_default().to_owned())
}
