//! What waits for an agent, and how it is changed.
//!
//! **Invariants**
//! 1. The log has a change before it is made, so an observer of the log sees what was there before.
//! 2. A change that the log does not take is not made, and nobody is told of it.
//! 3. Changes are one at a time: who changes has the session's turn to append. No lock is held while observers run.

mod error;
mod pending;

use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use dsh_llm::{Message, Role};
use dsh_session::{AppendError, InboxSpliced, NewEvent};

use crate::Target;
use crate::agent::Agent;
use crate::keys::{INBOX_CLAIMED, INBOX_DISCARDED, INBOX_INSERTED};

pub use error::InboxError;
pub use pending::{BadSplice, Pending};

/// What waits for an agent: see [`Agent::inbox`].
///
/// There are two lists: messages that begin a turn of their own, one turn each, and messages that are said before the next step,
/// all at once. Every change is in the session's log before it is made.
#[derive(Clone, Copy, Debug)]
pub struct Inbox<'a> {
    pub(crate) agent: &'a Agent,
}

/// A message came into an inbox, or left it without being said.
#[derive(Clone, Debug, PartialEq)]
pub struct InboxChange {
    /// The agent.
    pub agent: Agent,
    /// The message.
    pub message: Arc<Message>,
}

/// A message was taken out of an inbox to be said.
#[derive(Clone, Debug, PartialEq)]
pub struct InboxClaim {
    /// The agent.
    pub agent: Agent,
    /// The message.
    pub message: Arc<Message>,
    /// The number of the turn, from 1.
    pub turn: u64,
}

/// Why messages are taken out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taken {
    Claimed,
    Canceled,
}

impl Inbox<'_> {
    /// What waits now.
    #[must_use]
    pub fn pending(&self) -> Pending {
        self.agent.pending().lock().clone()
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.agent.pending().lock().is_empty()
    }

    /// Whether a message waits.
    pub(crate) fn waits(&self, id: &str) -> bool {
        self.agent.pending().lock().place(id).is_some()
    }

    /// How many messages wait for one moment.
    #[must_use]
    pub fn waits_for(&self, target: Target) -> usize {
        self.agent.pending().lock().list(target).len()
    }

    /// Adds a message at the end of a list. Nobody is woken; see [`Agent::send`].
    ///
    /// # Errors
    /// See [`InboxError`].
    pub fn append(&self, target: Target, message: Arc<Message>) -> Result<(), InboxError> {
        self.change(|pending| Some((target, pending.list(target).len(), 0)), vec![message], Taken::Canceled)?;
        Ok(())
    }

    /// Adds a message at the beginning of a list. Nobody is woken.
    ///
    /// # Errors
    /// See [`InboxError`].
    pub fn prepend(&self, target: Target, message: Arc<Message>) -> Result<(), InboxError> {
        self.change(|_| Some((target, 0, 0)), vec![message], Taken::Canceled)?;
        Ok(())
    }

    /// Puts a message in the place of the one with this id, whichever list it waits in; it may have another id. Whether
    /// there was one is what it gives.
    ///
    /// # Errors
    /// See [`InboxError`].
    pub fn replace(&self, id: &str, message: Arc<Message>) -> Result<bool, InboxError> {
        let place = |pending: &Pending| pending.place(id).map(|(target, place)| (target, place, 1));
        Ok(self.change(place, vec![message], Taken::Canceled)?.is_some())
    }

    /// Takes the message with this id out. Whether there was one is what it gives.
    ///
    /// # Errors
    /// See [`InboxError`].
    pub fn remove(&self, id: &str) -> Result<bool, InboxError> {
        let place = |pending: &Pending| pending.place(id).map(|(target, place)| (target, place, 1));
        Ok(self.change(place, Vec::new(), Taken::Canceled)?.is_some())
    }

    /// Takes everything out: first what waits for the next step, then what waits for a turn.
    ///
    /// # Errors
    /// See [`InboxError`]; the first list may be empty then and the other not.
    pub fn clear(&self) -> Result<(), InboxError> {
        for target in [Target::NextStep, Target::NextTurn] {
            // An observer of the log, who may add nothing, can ask for this too.
            if self.waits_for(target) == 0 {
                continue;
            }
            let all = |pending: &Pending| Some((target, 0, pending.list(target).len()));
            self.change(all, Vec::new(), Taken::Canceled)?;
        }
        Ok(())
    }

    /// Takes the messages at these places out of a list, puts others in, and gives what was taken out. Places beyond the end
    /// mean the end. Nothing is logged where nothing changes.
    ///
    /// # Errors
    /// See [`InboxError`].
    pub fn splice(
        &self,
        target: Target,
        places: impl RangeBounds<usize>,
        messages: Vec<Arc<Message>>,
    ) -> Result<Vec<Arc<Message>>, InboxError> {
        let start = match places.start_bound() {
            Bound::Included(start) => *start,
            Bound::Excluded(before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match places.end_bound() {
            Bound::Included(last) => last.saturating_add(1),
            Bound::Excluded(end) => *end,
            Bound::Unbounded => usize::MAX,
        };
        let clamped = |pending: &Pending| {
            let len = pending.list(target).len();
            let start = start.min(len);
            Some((target, start, end.min(len).saturating_sub(start)))
        };
        Ok(self.change(clamped, messages, Taken::Canceled)?.unwrap_or_default())
    }

    /// Takes out what is said next, for a loop: everything that waits for a step and, at the beginning of a turn, one message
    /// that waits for a turn, which is the last.
    ///
    /// # Errors
    /// See [`InboxError`]; what waited for a step may have been taken then, and is not said.
    pub fn claim(&self, target: Target, turn: u64) -> Result<Vec<Arc<Message>>, InboxError> {
        let all = |pending: &Pending| Some((Target::NextStep, 0, pending.list(Target::NextStep).len()));
        let first =
            |pending: &Pending| Some((Target::NextTurn, 0, pending.list(Target::NextTurn).len().min(1)));
        let session = self.agent.session();
        let claimed = session.exclusively(|| {
            let mut claimed = self.spliced(all, Vec::new(), Taken::Claimed)?.unwrap_or_default();
            if target == Target::NextTurn {
                claimed.extend(self.spliced(first, Vec::new(), Taken::Claimed)?.into_iter().flatten());
            }
            Ok::<_, InboxError>(claimed)
        });
        let claimed = claimed.map_err(|source| self.not_appended(source))??;
        for message in &claimed {
            let claim = InboxClaim { agent: self.agent.clone(), message: message.clone(), turn };
            self.agent.root().emit(INBOX_CLAIMED, &claim);
        }
        Ok(claimed)
    }

    /// Changes a list at the place that `place` gives, tells of it, and gives what was taken out; none where there is no place.
    fn change(
        &self,
        place: impl FnOnce(&Pending) -> Option<(Target, usize, usize)>,
        inserted: Vec<Arc<Message>>,
        taken: Taken,
    ) -> Result<Option<Vec<Arc<Message>>>, InboxError> {
        for message in &inserted {
            self.check(message)?;
        }
        let new = inserted.clone();
        let changed = self.agent.session().exclusively(|| self.spliced(place, new, taken));
        let changed = changed.map_err(|source| self.not_appended(source))??;
        let Some(removed) = changed else { return Ok(None) };
        let told =
            |message: &Arc<Message>| InboxChange { agent: self.agent.clone(), message: message.clone() };
        removed.iter().for_each(|message| self.agent.root().emit(INBOX_DISCARDED, &told(message)));
        inserted.iter().for_each(|message| self.agent.root().emit(INBOX_INSERTED, &told(message)));
        Ok(Some(removed))
    }

    /// As [`change`](Self::change), without telling, where nobody else appends to the session.
    fn spliced(
        &self,
        place: impl FnOnce(&Pending) -> Option<(Target, usize, usize)>,
        inserted: Vec<Arc<Message>>,
        taken: Taken,
    ) -> Result<Option<Vec<Arc<Message>>>, InboxError> {
        let (target, start, removed) = {
            let pending = self.agent.pending().lock();
            let Some((target, start, removed)) = place(&pending) else { return Ok(None) };
            if let Some(id) = pending.twice(target, start, removed, &inserted) {
                return Err(InboxError::Pending {
                    agent: self.agent.id().to_string(),
                    message: id.to_owned(),
                });
            }
            (target, start, removed)
        };
        if removed == 0 && inserted.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let canceled = removed > 0 && taken == Taken::Canceled;
        let event = NewEvent::new(&InboxSpliced {
            target,
            start: start as u64,
            removed_count: (removed > 0).then_some(removed as u64),
            inserted: inserted.iter().map(|message| Message::clone(message)).collect(),
            outcome: canceled.then(|| "canceled".to_owned()),
        });
        let agent = || self.agent.id().to_string();
        let event = event.map_err(|source| InboxError::NotLossless { agent: agent(), source })?;
        self.agent.session().append(event).map_err(|source| self.not_appended(source))?;
        Ok(Some(self.agent.pending().lock().apply(target, start, removed, inserted)))
    }

    fn check(&self, message: &Message) -> Result<(), InboxError> {
        let agent = || self.agent.id().to_string();
        if message.role != Role::User {
            return Err(InboxError::NotUser { agent: agent(), message: message.id.clone() });
        }
        if self.agent.scope().is_closed() {
            return Err(InboxError::Ended { agent: agent() });
        }
        message.check().map_err(|source| InboxError::Invalid { agent: agent(), source })
    }

    fn not_appended(&self, source: AppendError) -> InboxError {
        InboxError::Append { agent: self.agent.id().to_string(), source }
    }
}
