//! A question that is logged and has no outcome yet.

use std::sync::Arc;

use dsh_session::{Event, NewEvent, Payload, Session, TurnEnd, TurnStart};

use crate::error::ApprovalError;
use crate::event::{ApprovalAsked, ApprovalDecided, ApprovalId};
use crate::outcome::ApprovalOutcome;
use crate::request::ApprovalRequest;

/// A turn, by the number of the event that began it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn(u64);

/// A question that is logged. Dropped before it is decided, it is logged as cancelled if its turn is still open.
pub(crate) struct OpenQuestion {
    session: Arc<Session>,
    turn: Turn,
    id: ApprovalId,
    tool: String,
    open: bool,
}

impl Turn {
    /// The turn that is open, if one is.
    pub(crate) fn open_in(session: &Session) -> Option<Self> {
        Self::of(session.events().iter().rev())
    }

    /// The turn that the event with this number lies in, if it lies in one.
    fn at(session: &Session, seq: u64) -> Option<Self> {
        Self::of(session.events().iter().rev().skip_while(|event| event.seq() > seq))
    }

    /// The turn that is open behind these events, the newest first: the last boundary is its beginning.
    fn of(mut newest_first: impl Iterator<Item = Arc<Event>>) -> Option<Self> {
        let boundary = |event: Arc<Event>| match event.kind() {
            TurnStart::TYPE => Some(Some(Self(event.seq()))),
            TurnEnd::TYPE => Some(None),
            _ => None,
        };
        newest_first.find_map(boundary).flatten()
    }
}

impl OpenQuestion {
    /// Logs the question, in the turn that is open.
    pub(crate) fn ask(request: &ApprovalRequest) -> Result<Self, ApprovalError> {
        let session = request.agent.session();
        let agent = || session.id().to_owned();
        let turn = Turn::open_in(session)
            .ok_or_else(|| ApprovalError::NoTurn { agent: request.agent.id().to_string() })?;
        let asked = ApprovalAsked {
            id: ApprovalId::fresh(),
            tool_name: request.tool_name.clone(),
            call_id: request.call_id.clone(),
            reason: request.reason.clone(),
        };
        let event =
            NewEvent::new(&asked).map_err(|source| ApprovalError::NotLossless { agent: agent(), source })?;
        let ApprovalAsked { id, tool_name: tool, .. } = asked;
        session.append(event).map_err(|source| ApprovalError::NotAsked {
            agent: agent(),
            tool: tool.clone(),
            source: source.into(),
        })?;
        Ok(Self { session: session.clone(), turn, id, tool, open: true })
    }

    /// Logs the outcome. Once the question's turn has ended it is cancelled instead, and not logged: what was decided
    /// outside of that turn counts nowhere.
    pub(crate) fn decided(mut self, outcome: ApprovalOutcome) -> Result<ApprovalOutcome, ApprovalError> {
        if !self.is_in_its_turn() {
            self.open = false;
            return Ok(ApprovalOutcome::Cancelled);
        }
        let seq = self.log(outcome)?;
        // Another thread may have ended the turn in between.
        let is_in_turn = Turn::at(&self.session, seq) == Some(self.turn);
        Ok(if is_in_turn { outcome } else { ApprovalOutcome::Cancelled })
    }

    fn is_in_its_turn(&self) -> bool {
        Turn::open_in(&self.session) == Some(self.turn)
    }

    /// Gives the number of the event.
    fn log(&mut self, outcome: ApprovalOutcome) -> Result<u64, ApprovalError> {
        self.open = false;
        let agent = || self.session.id().to_owned();
        let event = NewEvent::new(&ApprovalDecided { id: self.id.clone(), outcome })
            .map_err(|source| ApprovalError::NotLossless { agent: agent(), source })?;
        let logged = self.session.append(event).map_err(|source| ApprovalError::NotDecided {
            agent: agent(),
            tool: self.tool.clone(),
            source: source.into(),
        })?;
        Ok(logged.seq())
    }
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        if !self.open || !self.is_in_its_turn() {
            return;
        }
        if let Err(error) = self.log(ApprovalOutcome::Cancelled) {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, id = self.id.as_str(), "a question that was given up has no outcome");
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

    use dsh_session::{NewEvent, Session, TurnEnd, TurnEndReason, TurnStart};

    use super::Turn;

    #[test]
    fn an_event_lies_in_the_turn_that_was_open_when_it_was_logged() {
        let session = Session::detached("s-1");
        let log = |event: NewEvent| session.append(event).unwrap().seq();
        let start = |turn| log(NewEvent::new(&TurnStart { turn }).unwrap());
        let end = |turn| log(NewEvent::new(&TurnEnd { turn, reason: TurnEndReason::Completed {} }).unwrap());
        let other = || log(NewEvent::raw("approval/decided", "{}").unwrap());
        let before = other();
        let (first, inside) = (start(1), other());
        let _ = end(1);
        let between = other();
        // The number of a turn may come again, as in a log that a program broke.
        let (second, inside_second) = (start(1), other());
        let _ = end(1);
        let turns = [before, inside, between, inside_second].map(|seq| Turn::at(&session, seq));
        assert_eq!(turns, [None, Some(Turn(first)), None, Some(Turn(second))]);
        assert_eq!(Turn::open_in(&session), None);
    }
}
