//! The driver of agents whose loop works from turn to turn: who is woken when, and what a cancellation reaches.
//!
//! **Invariants**
//! 1. One activity at a time. An agent becomes idle between two only if nothing has woken it meanwhile.
//! 2. Listeners hear of statuses in order: `running` is told before an activity begins, `idle` after it has ended, and nobody begins
//!    another one while `idle` is being told.
//! 3. A message that wakes is never left behind: an activity ends only when, at that moment, nothing waits that it would have to take.
//! 4. The first cause of a cancellation stands.
//!
//! **Lock order** state → what waits. Nothing of others runs under the state's lock.

mod wakes;

use std::any::Any;
use std::fmt;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::task::Poll;

use cordis::{BoxFuture, Context, chain};
use dsh_llm::Message;
use dsh_session::CancelCause;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::Target;
use crate::agent::Agent;
use crate::driver::{Driver, NotIdle, Waiting, Wakeup};
use crate::inbox::InboxError;
use crate::initiator;
use crate::keys;
use crate::maintenance::Maintenance;
use crate::status::{AgentStatus, StatusChange};
use wakes::Wakes;

/// What an agent does when it is woken.
///
/// # Examples
/// ```
/// use cordis::BoxFuture;
/// use dsh_agent::{Activity, AgentLoop, Target};
///
/// /// Repeats what it is told.
/// struct Echo;
///
/// impl AgentLoop for Echo {
///     fn wake(&self, activity: Activity) -> BoxFuture<'static, ()> {
///         Box::pin(async move {
///             let mut turn = 0;
///             while !activity.is_cancelled() {
///                 turn += 1;
///                 let Ok(said) = activity.agent().inbox().claim(Target::NextTurn, turn) else { return };
///                 for message in said {
///                     println!("{}", message.text());
///                 }
///                 if !activity.go_on() {
///                     return;
///                 }
///             }
///         })
///     }
/// }
/// ```
pub trait AgentLoop: Send + Sync + 'static {
    /// Begins. This runs on the stack of whoever wakes the agent, before the send returns; what it gives is run as a task, and
    /// when that has ended, the agent is idle.
    fn wake(&self, activity: Activity) -> BoxFuture<'static, ()>;
}

/// A [`Driver`] that runs an [`AgentLoop`].
pub struct LoopDriver {
    inner: Arc<Inner>,
}

/// What an agent does from the moment when it is woken until it is idle again.
#[derive(Clone)]
pub struct Activity {
    agent: Agent,
    inner: Arc<Inner>,
}

struct Inner {
    /// Whose tasks activities are.
    tasks: Context,
    turns: Box<dyn AgentLoop>,
    state: Mutex<State>,
    idle: Notify,
}

#[derive(Default)]
struct State {
    phase: Phase,
    /// Numbers activities.
    activity: u64,
    /// Nothing begins any more.
    ended: bool,
}

#[derive(Default)]
enum Phase {
    #[default]
    Idle,
    Maintenance(Work),
    Running(Work),
    /// Has ended; `idle` is being told.
    Retiring(Wakes),
}

#[derive(Default)]
struct Work {
    cancellation: CancellationToken,
    cause: Option<CancelCause>,
    wakes: Wakes,
}

/// What was there when a message was sent, before it was put in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    Idle,
    Running,
    Cancelled,
    Other,
    /// Idle, for good.
    Ended,
}

impl LoopDriver {
    /// A driver whose activities are tasks of `tasks`, which outlives the agent.
    #[must_use]
    pub fn new(tasks: Context, turns: impl AgentLoop) -> Self {
        let (state, idle) = Default::default();
        Self { inner: Arc::new(Inner { tasks, turns: Box::new(turns), state, idle }) }
    }
}

impl Driver for LoopDriver {
    fn send(
        &self,
        agent: &Agent,
        message: Arc<Message>,
        target: Target,
        wakeup: Wakeup,
    ) -> Result<(), InboxError> {
        let before = self.inner.state.lock().seen();
        if before.0 == Seen::Ended {
            return Err(InboxError::Ended { agent: agent.id().to_string() });
        }
        // Nobody is there any more to say it in a step; it begins a turn instead.
        let late = wakeup == Wakeup::Wake && before.0 == Seen::Cancelled;
        let id = (wakeup == Wakeup::Wake).then(|| message.id.clone());
        agent.inbox().append(if late { Target::NextTurn } else { target }, message)?;
        if let Some(id) = id {
            self.inner.wake(agent, before, id);
        }
        Ok(())
    }

    fn status(&self) -> AgentStatus {
        match self.inner.state.lock().phase {
            Phase::Running(_) => AgentStatus::Running,
            Phase::Idle | Phase::Maintenance(_) | Phase::Retiring(_) => AgentStatus::Idle,
        }
    }

    fn cancel(&self, agent: &Agent, cause: CancelCause, waiting: Waiting) -> Result<(), InboxError> {
        let cleared = match waiting {
            Waiting::Clear => agent.inbox().clear(),
            Waiting::Keep => Ok(()),
        };
        let is_cleared = waiting == Waiting::Clear && cleared.is_ok();
        let cancelled = self.inner.state.lock().cancel(cause, waiting, is_cleared);
        if let Some(token) = cancelled {
            token.cancel();
        }
        cleared
    }

    fn end(&self, agent: &Agent) -> BoxFuture<'static, ()> {
        self.inner.state.lock().ended = true;
        if let Err(error) = self.cancel(agent, CancelCause::Disposed {}, Waiting::Clear) {
            tracing::warn!("what waits for agent `{}` stays in its log: {}", agent.id(), chain(&error));
        }
        self.when_idle()
    }

    fn when_idle(&self) -> BoxFuture<'static, ()> {
        let inner = Arc::clone(&self.inner);
        Box::pin(async move {
            loop {
                let told = inner.idle.notified();
                tokio::pin!(told);
                told.as_mut().enable();
                if matches!(inner.state.lock().phase, Phase::Idle) {
                    return;
                }
                told.await;
            }
        })
    }

    fn maintain(&self, agent: &Agent) -> Result<Maintenance, NotIdle> {
        let cancellation = {
            let mut state = self.inner.state.lock();
            if !matches!(state.phase, Phase::Idle) || state.ended {
                return Err(NotIdle { agent: agent.id().to_string() });
            }
            let work = Work::default();
            let cancellation = work.cancellation.clone();
            state.phase = Phase::Maintenance(work);
            cancellation
        };
        let (inner, agent) = (Arc::clone(&self.inner), agent.clone());
        Ok(Maintenance::new(cancellation, move || {
            if inner.settle(&agent) {
                inner.begin(&agent);
            }
        }))
    }
}

impl Inner {
    fn wake(self: &Arc<Self>, agent: &Agent, (before, activity): (Seen, u64), id: String) {
        let begins = {
            let mut state = self.state.lock();
            if state.ended {
                return;
            }
            let same = state.activity == activity;
            match &mut state.phase {
                // If something else has happened since, it may have been said already.
                Phase::Idle if (same && before == Seen::Idle) || !agent.inbox().is_empty() => {
                    state.run();
                    true
                }
                Phase::Idle => false,
                Phase::Running(work) => {
                    let cancelled =
                        if same { before == Seen::Cancelled } else { work.cancellation.is_cancelled() };
                    work.wakes.note(id, cancelled);
                    false
                }
                Phase::Maintenance(Work { wakes, .. }) | Phase::Retiring(wakes) => {
                    wakes.note(id, true);
                    false
                }
            }
        };
        if begins {
            self.begin(agent);
        }
    }

    /// Begins an activity, whose phase is set already.
    fn begin(self: &Arc<Self>, agent: &Agent) {
        let over = Retire { inner: Arc::clone(self), agent: agent.clone(), done: false };
        let mut work = self.start(agent);
        let driven = async move {
            loop {
                let panicked = caught(&mut work).await;
                let is_woken = over.inner.retire(&over.agent);
                if let Some(panic) = panicked {
                    let (inner, agent) = over.come_to_end();
                    // What has woken the agent meanwhile is not what broke its loop.
                    if is_woken {
                        inner.begin(&agent);
                    }
                    // The task is reported as one that panicked.
                    resume_unwind(panic);
                }
                if !is_woken {
                    break;
                }
                work = over.inner.start(&over.agent);
            }
            over.come_to_end();
        };
        // Where the loop's plugin is gone, what would have run is dropped, and retires so.
        let _ = self.tasks.spawn(format!("agent {}", agent.id()), initiator::driven(agent.clone(), driven));
    }

    fn start(self: &Arc<Self>, agent: &Agent) -> BoxFuture<'static, ()> {
        self.tell(agent, AgentStatus::Running);
        let activity = Activity { agent: agent.clone(), inner: Arc::clone(self) };
        initiator::with_now(agent.clone(), || self.turns.wake(activity))
    }

    /// Ends an activity. True if the next one begins, whose phase is set then.
    fn retire(&self, agent: &Agent) -> bool {
        self.state.lock().retire();
        self.tell(agent, AgentStatus::Idle);
        self.settle(agent)
    }

    /// Nothing goes on any more, unless something has woken the agent meanwhile and still waits.
    fn settle(&self, agent: &Agent) -> bool {
        {
            let mut state = self.state.lock();
            if !state.ended && state.phase.is_woken(agent) {
                state.run();
                return true;
            }
            state.phase = Phase::Idle;
        }
        self.idle.notify_waiters();
        false
    }

    fn tell(&self, agent: &Agent, status: AgentStatus) {
        agent.root().emit(keys::STATUS, &StatusChange { agent: agent.clone(), status });
    }
}

impl State {
    fn seen(&self) -> (Seen, u64) {
        let seen = match &self.phase {
            Phase::Idle if self.ended => Seen::Ended,
            Phase::Idle => Seen::Idle,
            Phase::Maintenance(work) | Phase::Running(work) if work.cancellation.is_cancelled() => {
                Seen::Cancelled
            }
            Phase::Running(_) => Seen::Running,
            Phase::Maintenance(_) | Phase::Retiring(_) => Seen::Other,
        };
        (seen, self.activity)
    }

    fn run(&mut self) {
        self.activity += 1;
        self.phase = Phase::Running(Work::default());
    }

    fn retire(&mut self) {
        if let Phase::Running(work) = &mut self.phase {
            self.phase = Phase::Retiring(std::mem::take(&mut work.wakes));
        }
    }

    /// Takes the cause of a cancellation, and gives what is to be cancelled.
    fn cancel(
        &mut self,
        cause: CancelCause,
        waiting: Waiting,
        is_cleared: bool,
    ) -> Option<CancellationToken> {
        let (wakes, token) = match &mut self.phase {
            Phase::Idle => return None,
            Phase::Retiring(wakes) => (wakes, None),
            Phase::Maintenance(work) | Phase::Running(work) => {
                work.cause.get_or_insert(cause);
                (&mut work.wakes, Some(work.cancellation.clone()))
            }
        };
        wakes.cancelled(waiting, is_cleared);
        token
    }
}

impl Phase {
    fn is_woken(&self, agent: &Agent) -> bool {
        match self {
            Self::Idle => false,
            Self::Maintenance(Work { wakes, .. })
            | Self::Running(Work { wakes, .. })
            | Self::Retiring(wakes) => wakes.begin(agent),
        }
    }
}

impl Activity {
    /// The agent.
    #[must_use]
    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Cancelled when the agent is; another one from turn to turn.
    #[must_use]
    pub fn cancellation(&self) -> CancellationToken {
        match &self.inner.state.lock().phase {
            Phase::Running(work) => work.cancellation.clone(),
            _ => CancellationToken::new(),
        }
    }

    /// Whether it is cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        matches!(&self.inner.state.lock().phase, Phase::Running(work) if work.cancellation.is_cancelled())
    }

    /// Why it was cancelled; none if it was not.
    #[must_use]
    pub fn cause(&self) -> Option<CancelCause> {
        match &self.inner.state.lock().phase {
            Phase::Running(work) => work.cause.clone(),
            _ => None,
        }
    }

    /// Whether there is another turn: if something waits. Then it has a token of its own, and nobody has cancelled it yet. If
    /// nothing waits the activity is over with this answer: whatever comes now begins the next one.
    #[must_use]
    pub fn go_on(&self) -> bool {
        let mut state = self.inner.state.lock();
        if !matches!(state.phase, Phase::Running(_)) {
            return false;
        }
        if state.ended || self.agent.inbox().is_empty() {
            state.retire();
            return false;
        }
        state.phase = Phase::Running(Work::default());
        true
    }
}

/// Waits for the end of an activity; gives what it panicked with, if it did.
async fn caught(work: &mut BoxFuture<'static, ()>) -> Option<Box<dyn Any + Send>> {
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx))) {
        Ok(polled) => polled.map(|()| None),
        Err(panic) => Poll::Ready(Some(panic)),
    })
    .await
}

/// Ends an activity that did not come to its end: its task was dropped, or its loop panicked when it was woken.
struct Retire {
    inner: Arc<Inner>,
    agent: Agent,
    done: bool,
}

impl Retire {
    /// The activity has ended, and that was told.
    fn come_to_end(mut self) -> (Arc<Inner>, Agent) {
        self.done = true;
        (Arc::clone(&self.inner), self.agent.clone())
    }
}

impl Drop for Retire {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        let told = matches!(self.inner.state.lock().phase, Phase::Idle);
        if !told {
            self.inner.state.lock().retire();
            self.inner.tell(&self.agent, AgentStatus::Idle);
            self.inner.state.lock().phase = Phase::Idle;
            self.inner.idle.notify_waiters();
        }
    }
}

impl fmt::Debug for LoopDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoopDriver").field("status", &self.status()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Activity").field("agent", &self.agent).finish_non_exhaustive()
    }
}
