//! The turns of an agent, one after another, from the message that wakes it to the moment when nothing waits.
//!
//! **Invariants**
//! 1. A turn that was begun in the log is ended in the log, whatever happens in it, as long as the log takes events.
//! 2. A number is used by one turn. It is used when the log has taken the beginning.
//! 3. What waits is taken for a turn only once the turn is in the log.
//! 4. A turn that is cancelled ends, whoever is being asked meanwhile.

use std::sync::Arc;
use std::time::Duration;

use cordis::BoxFuture;
use dsh_agent::{Activity, Agent, AgentFailure, AgentLoop, ERROR, Target};
use dsh_llm::Message;
use dsh_session::{CancelCause, NewEvent, Payload, Session, TurnEnd, TurnEndReason, TurnStart};
use parking_lot::Mutex;

use crate::fail::{Fail, Failed};
use crate::memory::Memory;
use crate::parts::Parts;

/// How long whoever is asked may go on after the turn was cancelled. They are told of it, and may have something to finish: a hook waits
/// for the end of a program that has to be killed. It is less than the end of an agent may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The loop of one agent.
pub(crate) struct Turns {
    parts: Arc<Parts>,
    memory: Arc<Mutex<Memory>>,
}

/// One activity of an agent.
pub(crate) struct Run {
    pub(crate) parts: Arc<Parts>,
    pub(crate) activity: Activity,
    pub(crate) memory: Arc<Mutex<Memory>>,
    pub(crate) turn: u64,
    /// The step that was begun last, from 1; 0 before the first of a turn.
    pub(crate) step: u64,
}

/// What a turn begins with: the messages that were taken out of the inbox.
type Claimed = Result<Vec<Arc<Message>>, Fail>;

/// How a turn came to its end.
pub(crate) struct Ended {
    pub(crate) reason: TurnEndReason,
    /// Whether another turn follows if something waits.
    pub(crate) goes_on: bool,
}

impl Turns {
    pub(crate) fn new(parts: Arc<Parts>, session: &Session) -> Self {
        Self { parts, memory: Arc::new(Mutex::new(Memory::of(session))) }
    }
}

impl AgentLoop for Turns {
    /// The turn is begun, and the message that woke the agent taken, before the sender goes on.
    fn wake(&self, activity: Activity) -> BoxFuture<'static, ()> {
        let (parts, memory) = (Arc::clone(&self.parts), Arc::clone(&self.memory));
        let mut run = Run { parts, activity, memory, turn: 0, step: 0 };
        let begun = run.begin();
        Box::pin(async move {
            if let Some(claimed) = begun {
                run.turns(claimed).await;
            }
        })
    }
}

impl Run {
    pub(crate) fn agent(&self) -> &Agent {
        self.activity.agent()
    }

    pub(crate) fn session(&self) -> &Arc<Session> {
        self.agent().session()
    }

    /// Begins a turn in the log, and takes what it begins with. None if it is cancelled, or the log does not take it.
    fn begin(&mut self) -> Option<Claimed> {
        self.step = 0;
        let last = self.memory.lock().last_turn;
        self.turn = last + 1;
        if self.activity.is_cancelled() {
            return None;
        }
        if let Err(Fail::Failed(failed)) = self.log(&TurnStart { turn: self.turn }) {
            self.tell(last, failed);
            return None;
        }
        self.memory.lock().last_turn = self.turn;
        Some(self.go_on().and_then(|()| self.claim(Target::NextTurn)))
    }

    async fn turns(&mut self, mut claimed: Claimed) {
        while self.turn(claimed).await && self.activity.go_on() {
            match self.begin() {
                Some(next) => claimed = next,
                None => return,
            }
        }
    }

    /// A turn to its end in the log. Whether another one follows if something waits.
    async fn turn(&mut self, claimed: Claimed) -> bool {
        let ended = match claimed {
            Ok(claimed) => self.steps(claimed).await,
            Err(fail) => Err(fail),
        };
        let Ended { reason, goes_on } = ended.unwrap_or_else(|fail| self.failed(fail));
        match self.log(&TurnEnd { turn: self.turn, reason }) {
            Err(Fail::Failed(failed)) => {
                self.tell(self.turn, failed);
                false
            }
            Ok(()) | Err(Fail::Cancelled) => goes_on,
        }
    }

    /// Whatever fails in a turn that is cancelled is part of that.
    fn failed(&self, fail: Fail) -> Ended {
        let reason = match (self.activity.cause(), fail) {
            (Some(reason), _) => TurnEndReason::Aborted { reason },
            (None, Fail::Cancelled) => TurnEndReason::Aborted { reason: CancelCause::Disposed {} },
            (None, Fail::Failed(failed)) => {
                let error = failed.facts.clone();
                self.tell(self.turn, failed);
                TurnEndReason::Error { error }
            }
        };
        Ended { reason, goes_on: false }
    }

    fn tell(&self, turn: u64, failed: Failed) {
        let failure =
            AgentFailure { agent: self.agent().clone(), turn, step: self.step, error: failed.error };
        self.parts.ctx.root().emit(ERROR, &failure);
    }

    /// Takes out of the inbox what is said next.
    pub(crate) fn claim(&self, target: Target) -> Claimed {
        Ok(self.agent().inbox().claim(target, self.turn)?)
    }

    /// Fails if the turn was cancelled.
    pub(crate) fn go_on(&self) -> Result<(), Fail> {
        if self.activity.is_cancelled() { Err(Fail::Cancelled) } else { Ok(()) }
    }

    /// What those give who are asked. In a turn that was cancelled, who does not come to an end is given up.
    pub(crate) async fn asked<R>(&self, asked: impl Future<Output = R>) -> Result<R, Fail> {
        let cancellation = self.activity.cancellation();
        let given_up = async {
            cancellation.cancelled().await;
            tokio::time::sleep(PATIENCE).await;
        };
        tokio::select! {
            biased;
            given = asked => Ok(given),
            () = given_up => Err(Fail::Cancelled),
        }
    }

    /// Adds to the log what is not part of the conversation.
    pub(crate) fn log<P: Payload>(&self, data: &P) -> Result<(), Fail> {
        self.session().append(NewEvent::new(data)?)?;
        Ok(())
    }
}
