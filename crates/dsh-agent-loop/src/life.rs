//! The life of one agent, from its making to its end.
//!
//! **Invariants**
//! 1. What is told to others is held here from before they are told, so the end takes it back.
//! 2. Once the end has begun, nothing is told any more.

use std::sync::Arc;

use cordis::Effect;
use dsh_agent::{Agent, Entered};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// The life of one agent, shared by those who may end it.
pub(crate) struct Life {
    /// Cancelled when the end begins.
    ending: CancellationToken,
    stage: Mutex<Stage>,
}

#[derive(Default)]
struct Stage {
    ends: bool,
    agent: Option<Agent>,
    entered: Option<Arc<Entered>>,
    session: Option<Effect>,
}

/// The end has begun.
pub(crate) struct Ends;

impl Life {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { ending: CancellationToken::new(), stage: Mutex::default() })
    }

    /// Cancelled when the end begins.
    pub(crate) fn ending(&self) -> &CancellationToken {
        &self.ending
    }

    /// Fails once the end has begun.
    pub(crate) fn check(&self) -> Result<(), Ends> {
        if self.stage.lock().ends { Err(Ends) } else { Ok(()) }
    }

    pub(crate) fn is_agent(&self, agent: Agent) -> Result<(), Ends> {
        let mut stage = self.stage.lock();
        if !stage.ends {
            stage.agent = Some(agent);
            return Ok(());
        }
        // The agent is dropped where no lock is held.
        drop(stage);
        Err(Ends)
    }

    /// The agent is among the live ones.
    pub(crate) fn has_entered(&self, entered: &Arc<Entered>) -> Result<(), Ends> {
        let held = {
            let mut stage = self.stage.lock();
            if !stage.ends {
                stage.entered = Some(Arc::clone(entered));
            }
            !stage.ends
        };
        if held {
            return Ok(());
        }
        entered.detach();
        Err(Ends)
    }

    /// The session is in the store.
    pub(crate) fn has_session(&self, session: Effect) -> Result<(), Ends> {
        let late = {
            let mut stage = self.stage.lock();
            if stage.ends { Some(session) } else { stage.session.replace(session) }
        };
        match late {
            None => Ok(()),
            Some(session) => {
                session.cancel();
                Err(Ends)
            }
        }
    }

    /// Ends it: what the agent does is cancelled and awaited, its scope unwinds, then it leaves the live ones and its session
    /// the store.
    pub(crate) async fn end(self: Arc<Self>) {
        self.ending.cancel();
        let agent = {
            let mut stage = self.stage.lock();
            stage.ends = true;
            stage.agent.clone()
        };
        let rest = Rest(&self);
        if let Some(agent) = agent {
            agent.end().await;
            agent.context().fiber().dispose().await;
        }
        let Taken { entered, session, .. } = rest.0.take();
        if let Some(entered) = entered {
            entered.detach();
        }
        if let Some(session) = session {
            session.dispose().await;
        }
    }

    fn take(&self) -> Taken {
        let mut stage = self.stage.lock();
        Taken { agent: stage.agent.take(), entered: stage.entered.take(), session: stage.session.take() }
    }
}

/// What there was of a life. It is dropped where no lock is held, since that may run the code of others.
struct Taken {
    agent: Option<Agent>,
    entered: Option<Arc<Entered>>,
    session: Option<Effect>,
}

/// What the agent registered and what others were told is taken back also if the end is given up half way, because something
/// does not stop.
struct Rest<'l>(&'l Life);

impl Drop for Rest<'_> {
    fn drop(&mut self) {
        let Taken { agent, entered, session } = self.0.take();
        if let Some(agent) = agent {
            agent.context().fiber().cancel();
        }
        if let Some(entered) = entered {
            entered.detach();
        }
        if let Some(session) = session {
            session.cancel();
        }
    }
}
