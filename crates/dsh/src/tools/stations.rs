//! What is listened to: the host's and the pipeline's own events, and nothing besides.

use std::borrow::Cow;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cordis::keys::DISPATCH;
use cordis::meta::Dispatched;
use cordis::{Event as _, Next};
use dsh_approval::{ApprovalOutcome, ApprovalRequest, REQUEST};
use dsh_tools::{
    EXECUTE, OUTPUT, POST_EXECUTE, PRE_EXECUTE, PostDecision, PreDecision, RESULT, Replacement, Settled,
    ToolCall, ToolOutcome, ToolOutput,
};

use crate::tools::host::Host;
use crate::tools::trace::{Station, Tone, Trace, ended};

/// The stations of one call as far as they have been told.
pub(crate) struct Stations {
    trace: Trace,
    read: AtomicBool,
    /// Guards are being asked, and none has passed or refused the call so far.
    asking: AtomicBool,
    /// That this run of the body has begun has been told.
    called: AtomicBool,
    withdrawn: AtomicBool,
}

impl Stations {
    pub(crate) fn new(trace: Trace) -> Arc<Self> {
        Arc::new(Self {
            trace,
            read: AtomicBool::new(false),
            asking: AtomicBool::new(false),
            called: AtomicBool::new(false),
            withdrawn: AtomicBool::new(false),
        })
    }

    pub(crate) fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Whether the call was cancelled while somebody was asked.
    pub(crate) fn was_withdrawn(&self) -> bool {
        self.withdrawn.load(Ordering::Relaxed)
    }

    /// The body has begun, unless that has been told.
    fn called(&self) {
        if !self.called.swap(true, Ordering::Relaxed) {
            self.trace.mark(Station::Body, Tone::Plain, "called", None);
        }
    }

    /// The guards are done, unless that has been told.
    fn guards_ended(&self, outcome: &ToolOutcome) {
        if !self.asking.swap(false, Ordering::Relaxed) {
            return;
        }
        let what = if outcome.is_denied() { "refused" } else { "failed" };
        self.trace.mark(Station::Guards, Tone::Bad, what, None);
    }
}

/// How a station ended: in what tone, in which words, and a detail of what it gave.
type Ended<'a> = (Tone, Cow<'a, str>, Option<&'a str>);

impl Stations {
    /// Tells of a station before and after the rest of it. Calls that a body makes are part of its run.
    async fn around<A: Watched + Send, R: Send>(
        &self,
        (station, begins): (Station, &str),
        args: &mut A,
        next: Next<'_, A, R>,
        ended: for<'a> fn(&'a A, &'a R) -> Ended<'a>,
    ) -> R {
        if !args.is_watched() {
            return next.run(args).await;
        }
        self.trace.mark(station, Tone::Plain, begins, args.detail());
        let given = next.run(args).await;
        let (tone, what, detail) = ended(args, &given);
        self.trace.mark(station, tone, &what, detail);
        given
    }
}

/// What listeners are given, as far as it matters here.
trait Watched {
    fn is_watched(&self) -> bool;

    /// What there is to say when a station begins with it.
    fn detail(&self) -> Option<&str> {
        None
    }
}

impl Watched for ToolCall {
    fn is_watched(&self) -> bool {
        self.parent().is_none()
    }
}

impl Watched for Settled {
    fn is_watched(&self) -> bool {
        self.call().is_watched()
    }
}

impl Watched for ApprovalRequest {
    fn is_watched(&self) -> bool {
        true
    }

    fn detail(&self) -> Option<&str> {
        self.reason.as_deref()
    }
}

/// Registers what must be there before anybody else: the first guard of all. It lets everything pass.
pub(crate) fn watch_first(host: &Host, stations: &Arc<Stations>) -> anyhow::Result<()> {
    let watched = Arc::clone(stations);
    host.tools.get()?.guard(&host.app, move |call: &ToolCall| {
        watched.asking.store(call.is_watched(), Ordering::Relaxed);
        None
    })?;
    Ok(())
}

/// Registers the rest, when everybody else is there: what is prepended now is outermost, what is not is innermost.
pub(crate) fn watch(host: &Host, stations: &Arc<Stations>) -> anyhow::Result<()> {
    let app = &host.app;
    let state = || Arc::clone(stations);
    app.on(DISPATCH).prepend().with(state()).run(dispatched)?;
    app.on(PRE_EXECUTE).prepend().with(state()).run(pre_execute)?;
    app.on(REQUEST).prepend().with(state()).run(approval)?;
    let watched = state();
    // The last one of the nearest scope, so that all others have let the call pass.
    host.tools.get()?.guard(host.agent.context(), move |call: &ToolCall| {
        if call.is_watched() && watched.asking.swap(false, Ordering::Relaxed) {
            watched.trace.mark(Station::Guards, Tone::Good, "passed", None);
        }
        None
    })?;
    app.on(EXECUTE).prepend().with(state()).run(execute)?;
    app.on(EXECUTE).with(state()).run(body)?;
    app.on(OUTPUT).prepend().with(state()).run(|stations: &Arc<Stations>, output: &ToolOutput| {
        if output.call().is_watched() {
            stations.called();
            stations.trace.output(output.text());
        }
    })?;
    app.on(POST_EXECUTE).prepend().with(state()).run(post_execute)?;
    app.on(RESULT).with(state()).run(result)?;
    Ok(())
}

/// The first policy is asked as soon as the arguments have been read. What the body calls comes later.
fn dispatched(stations: &Arc<Stations>, dispatched: &Dispatched) {
    if dispatched.event == PRE_EXECUTE.name() && !stations.read.swap(true, Ordering::Relaxed) {
        stations.trace.mark(Station::Arguments, Tone::Good, "read", None);
    }
}

async fn pre_execute(
    stations: &Arc<Stations>,
    call: &mut ToolCall,
    next: Next<'_, ToolCall, PreDecision>,
) -> PreDecision {
    stations
        .around((Station::PreExecute, "asked"), call, next, |_, decision| match decision {
            PreDecision::Allow => (Tone::Good, "allow".into(), None),
            PreDecision::Deny { reason } => (Tone::Bad, "deny".into(), Some(reason)),
            PreDecision::Ask { reason } => (Tone::Plain, "ask".into(), reason.as_deref()),
            PreDecision::Replace { .. } => (Tone::Plain, "other arguments: asked again".into(), None),
        })
        .await
}

async fn approval(
    stations: &Arc<Stations>,
    request: &mut ApprovalRequest,
    next: Next<'_, ApprovalRequest, ApprovalOutcome>,
) -> ApprovalOutcome {
    let ended = |_: &ApprovalRequest, outcome: &ApprovalOutcome| {
        let tone = if *outcome == ApprovalOutcome::AllowedOnce { Tone::Good } else { Tone::Bad };
        (tone, outcome.as_str().into(), None)
    };
    let mut asked = Asked { stations, is_over: false };
    let outcome = stations.around((Station::Approval, "asked"), request, next, ended).await;
    asked.is_over = true;
    outcome
}

/// Somebody is asked. Who cancels the call drops this.
struct Asked<'s> {
    stations: &'s Stations,
    is_over: bool,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        if !self.is_over && !std::thread::panicking() {
            self.stations.withdrawn.store(true, Ordering::Relaxed);
            self.stations.trace.mark(Station::Approval, Tone::Bad, ApprovalOutcome::Cancelled.as_str(), None);
        }
    }
}

async fn execute(
    stations: &Arc<Stations>,
    call: &mut ToolCall,
    next: Next<'_, ToolCall, ToolOutcome>,
) -> ToolOutcome {
    stations.around((Station::Execute, "begins"), call, next, |_, outcome| of_outcome(outcome)).await
}

async fn body(
    stations: &Arc<Stations>,
    call: &mut ToolCall,
    next: Next<'_, ToolCall, ToolOutcome>,
) -> ToolOutcome {
    if !call.is_watched() {
        return next.run(call).await;
    }
    stations.called.store(false, Ordering::Relaxed);
    let outcome = {
        let mut running = pin!(next.run(call));
        poll_fn(|ctx| {
            let polled = running.as_mut().poll(ctx);
            // Whatever keeps a call from its body does so at once; who is waited for is the body.
            if polled.is_pending() {
                stations.called();
            }
            polled
        })
        .await
    };
    let (tone, what) = if call.body_was_entered() {
        stations.called();
        ended(&outcome)
    } else {
        (Tone::Bad, "not run".to_owned())
    };
    stations.trace.mark(Station::Body, tone, &what, None);
    outcome
}

async fn post_execute(
    stations: &Arc<Stations>,
    settled: &mut Settled,
    next: Next<'_, Settled, PostDecision>,
) -> PostDecision {
    if settled.is_watched() {
        stations.guards_ended(settled.outcome());
    }
    let ended = |_: &Settled, decision: &PostDecision| {
        let (tone, what) = match decision {
            PostDecision::Accept { replace: None, .. } => (Tone::Good, "accept"),
            PostDecision::Accept { replace: Some(Replacement::Content(_)), .. } => {
                (Tone::Plain, "accept with other content")
            }
            PostDecision::Accept { replace: Some(Replacement::Value(_)), .. } => {
                (Tone::Plain, "accept with another value")
            }
            PostDecision::Block { .. } => (Tone::Bad, "block"),
        };
        (tone, what.into(), None)
    };
    stations.around((Station::PostExecute, "asked"), settled, next, ended).await
}

fn result(stations: &Arc<Stations>, settled: &Settled) {
    if !settled.is_watched() {
        return;
    }
    stations.guards_ended(settled.outcome());
    let (tone, what) = ended(settled.outcome());
    stations.trace.mark(Station::Result, tone, &what, None);
}

fn of_outcome(outcome: &ToolOutcome) -> Ended<'_> {
    let (tone, what) = ended(outcome);
    // What failed is told once, by what the model reads.
    (tone, what.into(), None)
}
