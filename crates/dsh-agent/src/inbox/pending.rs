//! What waits for an agent, as its log says.

use std::sync::Arc;

use dsh_llm::Message;
use dsh_session::{InboxSpliced, Payload, Session};
use thiserror::Error;

use crate::Target;

/// What waits for an agent, in order; a message waits at most once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pending {
    next_turn: Vec<Arc<Message>>,
    next_step: Vec<Arc<Message>>,
}

/// A log holds a change of what waits that cannot have happened.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "event {seq} in the log of session `{session}` changes what waits for the agent in a way that cannot be: {reason}"
)]
pub struct BadSplice {
    /// The session.
    pub session: String,
    /// The event's number.
    pub seq: u64,
    /// What is wrong.
    pub reason: String,
}

impl Pending {
    /// What waits by the log of a session, as far as it is the session's own: what waited for the session that it was forked
    /// from waits for that one.
    ///
    /// # Errors
    /// The log holds a change that cannot have happened.
    pub fn restored(session: &Session) -> Result<Self, BadSplice> {
        let mut pending = Self::default();
        let own = usize::try_from(session.header().seed_length.unwrap_or(0)).unwrap_or(usize::MAX);
        for event in session.events().from(own).filter(|event| event.kind() == InboxSpliced::TYPE) {
            let bad = |reason| BadSplice { session: session.id().to_owned(), seq: event.seq(), reason };
            let splice = event.payload::<InboxSpliced>().map_err(|error| bad(error.to_string()))?;
            let Some(splice) = splice else { continue };
            pending.replay(splice).map_err(bad)?;
        }
        Ok(pending)
    }

    fn replay(&mut self, splice: InboxSpliced) -> Result<(), String> {
        let InboxSpliced { target, start, removed_count, inserted, .. } = splice;
        let (start, removed) = (to_usize(start), to_usize(removed_count.unwrap_or(0)));
        let inserted: Vec<_> = inserted.into_iter().map(Arc::new).collect();
        self.check(target, start, removed, &inserted)?;
        self.apply(target, start, removed, inserted);
        Ok(())
    }

    /// Whether a list can be changed like this.
    pub(super) fn check(
        &self,
        target: Target,
        start: usize,
        removed: usize,
        inserted: &[Arc<Message>],
    ) -> Result<(), String> {
        let len = self.list(target).len();
        if start > len || removed > len - start {
            return Err(format!("it takes {removed} from place {start} of {len}"));
        }
        match self.twice(target, start, removed, inserted) {
            Some(id) => Err(format!("message `{id}` would wait twice")),
            None => Ok(()),
        }
    }

    /// A message that would wait twice.
    pub(super) fn twice<'m>(
        &self,
        target: Target,
        start: usize,
        removed: usize,
        inserted: &'m [Arc<Message>],
    ) -> Option<&'m str> {
        let stays = |list: Target, place: usize| {
            list != target || place < start || place >= start.saturating_add(removed)
        };
        let waits = |id: &str| {
            [Target::NextTurn, Target::NextStep].into_iter().any(|list| {
                let mut places = self.list(list).iter().enumerate();
                places.any(|(place, message)| message.id == id && stays(list, place))
            })
        };
        let mut places = inserted.iter().enumerate();
        let twice = places.find(|(place, message)| {
            waits(&message.id) || inserted[..*place].iter().any(|before| before.id == message.id)
        });
        twice.map(|(_, message)| message.id.as_str())
    }

    /// Changes a list, and gives what is taken out.
    pub(super) fn apply(
        &mut self,
        target: Target,
        start: usize,
        removed: usize,
        inserted: Vec<Arc<Message>>,
    ) -> Vec<Arc<Message>> {
        self.list_mut(target).splice(start..start + removed, inserted).collect()
    }

    /// What waits for one moment.
    #[must_use]
    pub fn list(&self, target: Target) -> &[Arc<Message>] {
        match target {
            Target::NextTurn => &self.next_turn,
            Target::NextStep => &self.next_step,
        }
    }

    fn list_mut(&mut self, target: Target) -> &mut Vec<Arc<Message>> {
        match target {
            Target::NextTurn => &mut self.next_turn,
            Target::NextStep => &mut self.next_step,
        }
    }

    /// Where a message waits.
    pub(super) fn place(&self, id: &str) -> Option<(Target, usize)> {
        [Target::NextTurn, Target::NextStep].into_iter().find_map(|target| {
            let place = self.list(target).iter().position(|message| message.id == id);
            place.map(|place| (target, place))
        })
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.next_turn.is_empty() && self.next_step.is_empty()
    }
}

fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
