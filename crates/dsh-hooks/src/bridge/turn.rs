//! The turn in which hooks run, and what the log holds of them there.

use std::error::Error;
use std::sync::Arc;

use dsh_agent::Agent;
use dsh_session::{AppendError, NewEvent, OpenTurn, Payload, Session};

use crate::record::{HookInvoked, HookResult};

/// An open turn of a session, in which hooks run.
pub(crate) struct Turn {
    session: Arc<Session>,
    open: OpenTurn,
    number: u64,
}

impl Turn {
    /// The turn that is open, if one is that has a number.
    pub(crate) fn open_of(agent: &Agent) -> Option<Self> {
        let session = agent.session().clone();
        let open = session.open_turn()?;
        Some(Self { session, open, number: open.number? })
    }

    /// The turn of this number, if it is open.
    pub(crate) fn numbered(agent: &Agent, number: u64) -> Option<Self> {
        Self::open_of(agent).filter(|turn| turn.number == number)
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn invoked(&self, invoked: &HookInvoked) {
        self.log(invoked);
    }

    pub(crate) fn ended(&self, result: &HookResult) {
        self.log(result);
    }

    /// A log that does not take it stays without: that is no reason to fail what the hooks are about.
    fn log<P: Payload>(&self, data: &P) {
        let appended = NewEvent::new(data).map_err(|error| Box::new(error) as Box<dyn Error>).and_then(
            |event| match self.session.append_to_turn(self.open, event) {
                // A record belongs into the turn, and that has ended meanwhile.
                Ok(_) | Err(AppendError::TurnEnded { .. }) => Ok(()),
                Err(error) => Err(error.into()),
            },
        );
        if let Err(error) = appended {
            let session = self.session.id();
            tracing::warn!(error = &*error, session, "a hook is not logged as `{}`", P::TYPE);
        }
    }
}
