//! One agent among the live ones.

use std::fmt;
use std::sync::Arc;

use cordis::{BoxError, Inactive};
use parking_lot::Mutex;
use thiserror::Error;

use super::Shared;
use crate::agent::Agent;
use crate::keys::{CREATED, DISPOSED};

/// An agent that was put among the live ones. It stays there until it is detached, also when this is dropped.
pub struct Entered {
    shared: Arc<Shared>,
    agent: Agent,
    number: u64,
    told: Mutex<Told>,
}

/// How far others have been told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    Nothing,
    /// It is being told to be there, and to leave once it has been, if so.
    Coming {
        leaves: bool,
    },
    There,
    Gone,
}

/// The id of an agent is live already.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("an agent `{agent}` is live already: choose another id, or end that one first")]
pub struct EnterError {
    /// The id.
    pub agent: String,
}

/// Why an agent was not registered. Nothing of it is left.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// The id is live already.
    #[error(transparent)]
    Exists(#[from] EnterError),
    /// The context is inactive.
    #[error(transparent)]
    Inactive(#[from] Inactive),
    /// A listener of [`CREATED`] refused it.
    #[error("agent `{agent}` was refused")]
    Refused {
        /// The agent.
        agent: String,
        /// Why.
        #[source]
        source: BoxError,
    },
}

impl Entered {
    pub(super) fn new(shared: Arc<Shared>, agent: Agent, number: u64) -> Self {
        Self { shared, agent, number, told: Mutex::new(Told::Nothing) }
    }

    /// Tells that the agent is there. Only the first call does.
    ///
    /// # Errors
    /// That of a listener of [`CREATED`]. The agent is to be detached then.
    pub fn announce(&self) -> Result<(), BoxError> {
        {
            let mut told = self.told.lock();
            if *told != Told::Nothing {
                return Ok(());
            }
            *told = Told::Coming { leaves: false };
        }
        let announced = self.agent.root().announce(CREATED, &self.agent);
        let leaves = {
            let mut told = self.told.lock();
            let leaves = *told == Told::Coming { leaves: true };
            *told = Told::There;
            leaves
        };
        if leaves {
            self.detach();
        }
        announced
    }

    /// Takes the agent out of the live ones, and tells that it is gone if anybody was told that it is there. Only the first call
    /// does. While the agent is being announced this is put off: it returns at once, and the agent leaves when all have heard.
    pub fn detach(&self) {
        let announced = {
            let mut told = self.told.lock();
            match *told {
                Told::Coming { .. } => {
                    *told = Told::Coming { leaves: true };
                    return;
                }
                Told::Gone => return,
                Told::Nothing | Told::There => {}
            }
            std::mem::replace(&mut *told, Told::Gone) == Told::There
        };
        let gone = self.shared.live.lock().leave(self.agent.id(), self.number);
        drop(gone);
        if announced {
            self.agent.root().emit(DISPOSED, &self.agent);
        }
    }

    /// Whether the agent is still among the live ones, and was not asked to leave.
    #[must_use]
    pub fn is_live(&self) -> bool {
        matches!(*self.told.lock(), Told::Nothing | Told::Coming { leaves: false } | Told::There)
    }
}

impl fmt::Debug for Entered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entered").field("agent", &self.agent).finish_non_exhaustive()
    }
}
