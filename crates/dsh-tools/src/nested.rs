//! The calls that a program or another composite tool makes, in a lane of its own.
//!
//! Read this file for what a program has in its hands, `driver` for when its calls run, and `record` for what the log says
//! of them.

mod driver;
mod payload;
mod record;

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Cx, Poll, ready};

use cordis::Context;
use parking_lot::Mutex;
use serde_json::Value;
use thiserror::Error;
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;

use crate::call::{CallRequest, ToolCall};
use crate::given::Arguments;
use crate::progress::RunNumber;
use crate::run::ToolRun;
use crate::runtime::Shared;
use crate::schema::dismantle;
use driver::Driver;
use record::Record;

pub use payload::{CodeDispatch, CodeDispatchStart};
pub use record::CodeDispatchLog;

/// Through which a program makes its calls; see [`ToolRuntime::with_lane`](crate::ToolRuntime::with_lane). Cheap to clone.
#[derive(Clone)]
pub struct Lane(Arc<Inner>);

struct Inner {
    shared: Arc<Shared>,
    ctx: Context,
    /// The call whose body runs the program.
    outer: ToolCall,
    /// The run of the outer call's body that makes the calls.
    run: RunNumber,
    /// Cancelled when the run is over, for whatever reason.
    cancellation: CancellationToken,
    state: Mutex<State>,
    /// Something was submitted, or the program has come to its end.
    changed: Notify,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Submitted>,
    /// Why the run is over, unless it was cancelled from outside.
    reason: Option<String>,
    /// The program has come to its end.
    finished: bool,
    /// Nobody looks at the queue any more.
    closed: bool,
}

/// A call that was submitted and not started.
struct Submitted {
    request: CallRequest,
    name: String,
    arguments: Arguments,
    record: Record,
    reply: oneshot::Sender<Result<Value, NestedError>>,
}

/// What a program is told of a call that gave no value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct NestedError {
    /// The tool.
    pub tool: String,
    /// The reason, as a model would read it, without `Error: ` before it.
    pub message: String,
}

/// A call of a program on its way; gives the tool's value. The call goes on if this is dropped.
#[must_use = "the call is made either way, but nobody learns what came of it"]
pub struct SubCall {
    answer: oneshot::Receiver<Result<Value, NestedError>>,
    tool: String,
    lane: Lane,
}

/// Runs a program that makes its calls through a lane, and lets what it started come to its end.
pub(crate) async fn run<R, F: Future<Output = R>>(
    shared: &Arc<Shared>,
    run: &ToolRun,
    program: impl FnOnce(Lane) -> F,
) -> R {
    let inner = Inner {
        shared: Arc::clone(shared),
        ctx: run.ctx().clone(),
        outer: run.call().share(),
        run: run.number(),
        cancellation: run.cancellation().child_token(),
        state: Mutex::default(),
        changed: Notify::new(),
    };
    let lane = Lane(Arc::new(inner));
    // However this ends, calls that are made later are refused.
    let _closing = Closing(&lane);
    let program = program(lane.clone());
    let program = async {
        let value = program.await;
        lane.finish();
        value
    };
    let driver = Box::pin(Driver::new(&lane.0).run());
    let (value, ()) = tokio::join!(program, driver);
    value
}

impl Lane {
    /// Makes a call, as the agent that made the outer one, below the outer call's cancellation. It goes the way of all
    /// calls, policies and guards included, under the id `<outer id>:code:<n>`.
    ///
    /// Calls are started in the order in which they were made, as soon as they can run beside those that run, and answered in
    /// that order. The future gives the canonical value of a success; any failure is a [`NestedError`].
    pub fn call(&self, name: impl Into<String>, arguments: Value) -> SubCall {
        let name = name.into();
        let (reply, answer) = oneshot::channel();
        let tool = name.clone();
        self.submit(name, arguments, reply);
        SubCall { answer, tool, lane: self.clone() }
    }

    /// Cancelled when the run is over: the program has come to its end, or the outer call is cancelled.
    #[must_use]
    pub fn cancellation(&self) -> &CancellationToken {
        &self.0.cancellation
    }

    /// Declares the run over for this reason: what runs is told, what waits is abandoned, and nothing is taken on. The first
    /// reason stands.
    pub fn cancel(&self, reason: impl Into<String>) {
        let reason = reason.into();
        {
            let mut state = self.0.state.lock();
            if !self.0.cancellation.is_cancelled() && state.reason.is_none() {
                state.reason = Some(reason);
            }
        }
        self.0.cancellation.cancel();
    }

    fn submit(&self, name: String, arguments: Value, reply: oneshot::Sender<Result<Value, NestedError>>) {
        let outer = &self.0.outer;
        let refuse = |reply: oneshot::Sender<_>, name: String, message: String| {
            let _ = reply.send(Err(NestedError { tool: name, message }));
        };
        if self.0.cancellation.is_cancelled() {
            dismantle(arguments);
            let message = self.0.over(&name, "not dispatched");
            return refuse(reply, name, message);
        }
        let arguments = match Arguments::new(arguments) {
            Ok(arguments) => arguments,
            Err(_) => return refuse(reply, name, lossy(None)),
        };
        let mut count = outer.progress().nested().submitted();
        let id = format!("{}:code:{}", outer.id(), *count + 1);
        let record = match Record::new(outer, &id, &name, &arguments) {
            Ok(record) => record,
            Err(reason) => {
                drop(count);
                return refuse(reply, name, lossy(Some(&reason)));
            }
        };
        let request = self.0.request(id, &name, &arguments);
        let submitted = Submitted { request, name, arguments, record, reply };
        let refused = {
            let mut state = self.0.state.lock();
            if state.closed {
                Some(submitted)
            } else {
                *count += 1;
                state.queue.push_back(submitted);
                None
            }
        };
        drop(count);
        match refused {
            None => self.0.changed.notify_one(),
            Some(Submitted { name, reply, .. }) => {
                let message = self.0.over(&name, "not dispatched");
                refuse(reply, name, message);
            }
        }
    }

    fn finish(&self) {
        self.cancel(format!("{} settled", self.0.outer.name()));
        self.0.state.lock().finished = true;
        self.0.changed.notify_one();
    }
}

impl Inner {
    fn request(&self, id: String, name: &str, arguments: &Arguments) -> CallRequest {
        let request = CallRequest::new(id, name, arguments.clone());
        request.nested_in(&self.outer).cancellation(&self.cancellation)
    }

    /// What a program is told of a call that the end of the run has overtaken.
    fn over(&self, tool: &str, fate: &str) -> String {
        let state = self.state.lock();
        let reason = state.reason.as_deref().unwrap_or("tool call aborted");
        format!("{} run is over ({reason}); {tool} {fate}", self.outer.name())
    }
}

fn lossy(reason: Option<&str>) -> String {
    match reason {
        Some(reason) => format!("tool arguments must be lossless JSON: {reason}"),
        None => "tool arguments must be lossless JSON; pass an object of arguments such as {}".to_owned(),
    }
}

/// Refuses what is still to come, and what nobody will start.
struct Closing<'l>(&'l Lane);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.cancel(format!("{} settled", self.0.0.outer.name()));
        let left = {
            let mut state = self.0.0.state.lock();
            state.closed = true;
            std::mem::take(&mut state.queue)
        };
        // Whoever waits for one of them is told by its answer being dropped.
        drop(left);
    }
}

impl Future for SubCall {
    type Output = Result<Value, NestedError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Self::Output> {
        let answer = ready!(Pin::new(&mut self.answer).poll(cx));
        Poll::Ready(answer.unwrap_or_else(|_| {
            let message = self.lane.0.over(&self.tool, "result discarded");
            Err(NestedError { tool: self.tool.clone(), message })
        }))
    }
}

impl fmt::Debug for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lane").field("outer", &self.0.outer).finish_non_exhaustive()
    }
}

impl fmt::Debug for SubCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubCall").field("tool", &self.tool).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
