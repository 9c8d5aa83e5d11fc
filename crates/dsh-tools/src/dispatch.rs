//! The innermost step of a call: the body, with everything that is looked at right before and right after it.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use cordis::{Context, LentCall, Refused};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::bodies::Bodies;
use crate::call::ToolCall;
use crate::code::{Body, ToolCode};
use crate::error::{ErrorInfo, Failure, ToolError, bounded};
use crate::normalize;
use crate::outcome::ToolOutcome;
use crate::registered::RegisteredTool;
use crate::run::ToolRun;
use crate::runtime::Shared;
use crate::threads::{Job, Link, NoThread, NotBegun};

/// What the innermost step knows.
pub(crate) struct Dispatch {
    pub(crate) shared: Arc<Shared>,
    pub(crate) ctx: Context,
    /// The call as it came, whatever wrappers hand down.
    pub(crate) call: ToolCall,
    /// How many guards had come when they were asked.
    pub(crate) guards: u64,
    /// What was approved, if somebody was asked: a tool, or that there is none of this name.
    pub(crate) approved: Option<Option<Arc<RegisteredTool>>>,
}

type Ended = Result<Result<Value, ToolError>, Refused>;

impl Dispatch {
    /// Runs the body for what the innermost wrapper hands down; the outcome is canonical.
    pub(crate) async fn body(&self, view: &mut ToolCall) -> ToolOutcome {
        let outcome = match view.is(&self.call) {
            true => self.run(view).await,
            false => ToolOutcome::failed("a listener of `tools/execute` handed on another call than its own"),
        };
        outcome.made_for(self.call.token())
    }

    async fn run(&self, call: &ToolCall) -> ToolOutcome {
        let registry = &self.shared.registry;
        if call.is_cancelled() {
            return ToolOutcome::aborted_before_dispatch();
        }
        // A second run is judged anew, be it beside the first; so is one for which guards have come since they were asked.
        let again = call.progress().run_begins();
        let judged = match again || registry.guard_epoch() != self.guards {
            true => registry.judge(call),
            false => registry.is_open(call).map(|()| self.guards),
        };
        let guards = match judged {
            Ok(guards) => guards,
            Err(refusal) => return ToolOutcome::failure(refusal),
        };
        if call.is_cancelled() {
            return ToolOutcome::aborted_before_dispatch();
        }
        let reached = normalize::reached(registry, call);
        if let Some(approved) = &self.approved
            && approved.as_ref().map(Arc::as_ptr) != reached.as_ref().map(Arc::as_ptr)
        {
            let changed =
                format!("tool \"{}\" has changed since this call was approved: call it again", call.name());
            return ToolOutcome::denied(changed);
        }
        let Some(tool) = reached else { return unknown(call) };
        let violations = tool.violations(call.arguments());
        if !violations.is_empty() {
            let whose = if call.replacements() == 0 { "" } else { " (a policy gave them in place of yours)" };
            let message = format!("invalid arguments{whose}: {}", bounded(violations.join("; ")));
            return ToolOutcome::failure(Failure::new(message).coded(ErrorInfo::INVALID_ARGS));
        }
        let ended = match &tool.bodies {
            Some(bodies) => self.blocking(&tool, bodies, call, guards).await,
            None => self.polled(&tool, call).await,
        };
        // The value is looked at first: one that is not what the tool declares is told, cancelled or not.
        match ended.and_then(|value| Ok(normalize::success(&tool, call, value)?)) {
            Ok(outcome) if !call.is_cancelled() => outcome,
            Ok(_) => ToolOutcome::failure(kept(call, Failure::aborted())),
            Err(failure) => ToolOutcome::failure(kept(call, failure)),
        }
    }

    /// The value of a body that is polled here.
    async fn polled(&self, tool: &RegisteredTool, call: &ToolCall) -> Result<Value, Failure> {
        let (arguments, run) = (Arc::clone(call.arguments()), ToolRun::new(call.share(), self.ctx.clone()));
        let _running = Running::of(call);
        let mut entered = false;
        let started = tool.code.start(|code| {
            entered = true;
            call.progress().enter();
            match &code.body {
                Body::Async(body) => body(arguments, run),
                Body::Blocking(_) => Box::pin(std::future::ready(Err(ToolError::aborted()))),
            }
        });
        let body: LentCall<_> = match started {
            Ok(body) => body,
            Err(_) if !entered => return Err(never_begun(call)),
            Err(refused) => return Err(broken(call, &refused)),
        };
        match self.in_time(call, body).await {
            Ok(ended) => given(call, ended),
            Err(grace) => Err(let_go(grace)),
        }
    }

    /// What the body gives, unless it is told to end and does not in time. What waits for the cancellation is made once there
    /// is something to wait for: most bodies that are quick are ready at the first poll.
    async fn in_time<B: Future + Unpin>(&self, call: &ToolCall, mut body: B) -> Result<B::Output, Duration> {
        let mut overdue = None;
        poll_fn(|cx| {
            if let Poll::Ready(ended) = Pin::new(&mut body).poll(cx) {
                return Poll::Ready(Ok(ended));
            }
            let overdue = overdue.get_or_insert_with(|| Box::pin(self.overdue(call, call.cancellation())));
            overdue.as_mut().poll(cx).map(Err)
        })
        .await
    }

    /// The value of a body that has a thread to itself. Until that thread is free again the body is named in the tool's
    /// plugin, and told when the plugin is unloaded.
    async fn blocking(
        &self,
        tool: &RegisteredTool,
        bodies: &Arc<Bodies>,
        call: &ToolCall,
        guards: u64,
    ) -> Result<Value, Failure> {
        let (own, cancellation) = call.limited();
        let Some(body) = bodies.expect(cancellation.clone()) else { return Err(never_begun(call)) };
        let (on_thread, running) = (body.on_thread(), Running::of(call));
        let (shared, code, run) =
            (Arc::clone(&self.shared), tool.code.clone(), ToolRun::new(own.share(), self.ctx.clone()));
        let outer = call.share();
        let work = move || -> Result<Ended, Failure> {
            // Over before the call is told, so that nobody takes it for a running one then.
            let _running = running;
            // It may have waited long for its thread.
            match shared.registry.guard_epoch() == guards {
                true => shared.registry.is_open(&own)?,
                false => drop(shared.registry.judge(&own)?),
            }
            if own.is_cancelled() {
                return Err(never_begun(&outer));
            }
            let mut entered = false;
            let ended = code.call(|code: &ToolCode| {
                // The body has its name until here, and the code counts it for longer: whoever has waited for the code
                // finds no name of a body that is over.
                let on_thread = on_thread;
                if !on_thread.begin() {
                    return None;
                }
                entered = true;
                own.progress().enter();
                Some(match &code.body {
                    Body::Blocking(body) => body(Arc::clone(own.arguments()), run),
                    Body::Async(_) => Err(ToolError::aborted()),
                })
            });
            match ended {
                Ok(Some(ended)) => Ok(Ok(ended)),
                Err(refused) if entered => Ok(Err(refused)),
                Ok(None) | Err(_) => Err(never_begun(&outer)),
            }
        };
        let mut job = self.shared.threads.start(tool.name(), Link::new(cancellation.clone()), work);
        let ended = tokio::select! {
            biased;
            ended = self.on_its_thread(&mut job) => ended,
            () = cancellation.cancelled() => {
                if job.withdraw() {
                    return Err(never_begun(call));
                }
                tokio::select! {
                    biased;
                    ended = &mut job => ended,
                    grace = self.overdue(call, &cancellation) => {
                        tracing::warn!(tool = tool.name(), call = call.id(), "the tool's body did not stop; it runs on without its call");
                        body.let_go(call.id());
                        job.let_go();
                        return Err(let_go(grace));
                    }
                }
            }
        };
        match ended {
            // Its plugin is being unloaded, so nobody can render what it gave.
            Ok(Ok(Ok(Ok(_)))) if cancellation.is_cancelled() && !call.is_cancelled() => Err(unloaded(call)),
            Ok(ended) => given(call, ended?),
            Err(NotBegun::NoThread(why)) => Err(no_thread(call, &why)),
            Err(NotBegun::Cancelled) => Err(never_begun(call)),
        }
    }

    /// The end of the job. While it waits for a thread, threads are given up on that nobody waits for and that do not stop.
    async fn on_its_thread<T>(&self, job: &mut Job<T>) -> Result<T, NotBegun> {
        let grace = self.shared.config.body_grace();
        while job.is_short_of_threads() {
            if let Ok(ended) = tokio::time::timeout(grace, &mut *job).await {
                return ended;
            }
            job.let_go_of_left(grace);
        }
        job.await
    }

    /// Ends when the body was told to end and has had its time to. Bodies of nested calls have a time of their own, so the
    /// time of this one begins again after them.
    async fn overdue(&self, call: &ToolCall, cancellation: &CancellationToken) -> Duration {
        cancellation.cancelled().await;
        let grace = self.shared.config.body_grace();
        loop {
            tokio::time::sleep(grace).await;
            if !call.progress().nested_calls_end().await {
                return grace;
            }
        }
    }
}

/// A body of this call that runs, or is about to; see [`ToolCall::has_running_body`].
struct Running(ToolCall);

impl Running {
    fn of(call: &ToolCall) -> Self {
        call.progress().body_starts();
        Self(call.share())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.progress().body_is_over();
    }
}

fn given(call: &ToolCall, ended: Ended) -> Result<Value, Failure> {
    ended.map_err(|refused| broken(call, &refused))?.map_err(Failure::from)
}

/// A failure with what the body had written until then.
pub(crate) fn kept(call: &ToolCall, failure: Failure) -> Failure {
    match failure.output() {
        None => failure.with_output(call.output_so_far()),
        Some(_) => failure,
    }
}

fn let_go(grace: Duration) -> Failure {
    let message = format!("tool call aborted; the tool did not stop within {grace:?} and was let go");
    Failure::new(message).coded(ErrorInfo::ABORTED)
}

/// Why a body was never begun: it was cancelled, or else its plugin took it back.
fn never_begun(call: &ToolCall) -> Failure {
    if call.is_cancelled() {
        return Failure::aborted_before_dispatch();
    }
    let message = format!(
        "tool call aborted before dispatch: tool \"{}\" was unloaded before it could run",
        call.name()
    );
    Failure::new(message).coded(ErrorInfo::ABORTED_BEFORE_DISPATCH)
}

fn no_thread(call: &ToolCall, why: &NoThread) -> Failure {
    let NoThread { held, tools, refused } = why;
    let refused = refused.as_ref().map(|error| format!(" (the system gives no more: {error})"));
    let (name, refused) = (call.name(), refused.unwrap_or_default());
    if *held == 0 {
        return Failure::new(format!("there is no thread for tool \"{name}\"{refused}; try again later"));
    }
    let tools: Vec<String> = tools.iter().map(|tool| format!("\"{tool}\"")).collect();
    let holders = match held {
        1 => "a body that does not stop holds the only one".to_owned(),
        held => format!("{held} bodies that do not stop hold them all"),
    };
    Failure::new(format!(
        "there is no thread for tool \"{name}\": {holders}, of {}{refused}; call tools that do not block, \
         and have whoever runs this mend those that do not stop, or raise `maxBlockingThreads`",
        tools.join(", ")
    ))
}

fn unloaded(call: &ToolCall) -> Failure {
    let message = format!("tool call aborted: tool \"{}\" was unloaded while it ran", call.name());
    Failure::new(message).coded(ErrorInfo::ABORTED)
}

/// What the model reads of a body that did not come to its end.
fn broken(call: &ToolCall, refused: &Refused) -> Failure {
    match refused {
        Refused::Panicked { reason, .. } => {
            Failure::new(format!("tool \"{}\" panicked: {reason}", call.name()))
        }
        _ => unloaded(call),
    }
}

pub(crate) fn unknown(call: &ToolCall) -> ToolOutcome {
    let message = format!("unknown tool \"{}\"", bounded(call.name().to_owned()));
    ToolOutcome::failure(Failure::new(message).coded(ErrorInfo::UNKNOWN_TOOL))
}
