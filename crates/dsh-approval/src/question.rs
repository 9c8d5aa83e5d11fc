//! A question that is logged and has no outcome yet.

use std::sync::Arc;

use dsh_session::{AppendError, NewEvent, OpenTurn, Session};

use crate::error::ApprovalError;
use crate::event::{ApprovalAsked, ApprovalDecided, ApprovalId};
use crate::outcome::ApprovalOutcome;
use crate::request::ApprovalRequest;

/// A question that is logged. Dropped before it is decided, it is logged as cancelled if its turn is still open.
pub(crate) struct OpenQuestion {
    session: Arc<Session>,
    turn: OpenTurn,
    id: ApprovalId,
    tool: String,
    open: bool,
}

impl OpenQuestion {
    /// Logs the question, in the turn that is open.
    pub(crate) fn ask(request: &ApprovalRequest) -> Result<Self, ApprovalError> {
        let session = request.agent.session();
        let agent = || session.id().to_owned();
        let no_turn = || ApprovalError::NoTurn { agent: request.agent.id().to_string() };
        let turn = session.open_turn().ok_or_else(no_turn)?;
        let asked = ApprovalAsked {
            id: ApprovalId::fresh(),
            tool_name: request.tool_name.clone(),
            call_id: request.call_id.clone(),
            reason: request.reason.clone(),
        };
        let event =
            NewEvent::new(&asked).map_err(|source| ApprovalError::NotLossless { agent: agent(), source })?;
        let ApprovalAsked { id, tool_name: tool, .. } = asked;
        session.append_to_turn(turn, event).map_err(|source| match source {
            AppendError::TurnEnded { .. } => no_turn(),
            source => ApprovalError::NotAsked { agent: agent(), tool: tool.clone(), source: source.into() },
        })?;
        Ok(Self { session: session.clone(), turn, id, tool, open: true })
    }

    /// Logs the outcome. Once the question's turn has ended it is cancelled instead, and not logged: what was decided
    /// outside of that turn counts nowhere.
    pub(crate) fn decided(mut self, outcome: ApprovalOutcome) -> Result<ApprovalOutcome, ApprovalError> {
        Ok(if self.log(outcome)? { outcome } else { ApprovalOutcome::Cancelled })
    }

    /// Logs the outcome, unless the question's turn has ended. Whether it did.
    fn log(&mut self, outcome: ApprovalOutcome) -> Result<bool, ApprovalError> {
        self.open = false;
        let agent = || self.session.id().to_owned();
        let event = NewEvent::new(&ApprovalDecided { id: self.id.clone(), outcome })
            .map_err(|source| ApprovalError::NotLossless { agent: agent(), source })?;
        match self.session.append_to_turn(self.turn, event) {
            Ok(_) => Ok(true),
            Err(AppendError::TurnEnded { .. }) => Ok(false),
            Err(source) => Err(ApprovalError::NotDecided {
                agent: agent(),
                tool: self.tool.clone(),
                source: source.into(),
            }),
        }
    }
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        if !self.open {
            return;
        }
        if let Err(error) = self.log(ApprovalOutcome::Cancelled) {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, id = self.id.as_str(), "a question that was given up has no outcome");
        }
    }
}
