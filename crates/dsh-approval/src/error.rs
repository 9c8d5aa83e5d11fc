//! Why a question could not be asked, and why a policy was not changed.

use dsh_agent::InboxError;
use dsh_session::{AppendError, NotLossless};
use thiserror::Error;

/// Why there is no outcome. Whoever asked must not act.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ApprovalError {
    /// The agent is in no turn. Nothing was logged.
    #[error(
        "agent `{agent}` has no open turn: `approval/asked` and `approval/decided` belong into one, \
         so ask from within the turn that needs the decision"
    )]
    NoTurn {
        /// The agent.
        agent: String,
    },
    /// The question was not logged, so nobody was asked.
    #[error("the log of agent `{agent}` did not take the question about tool `{tool}`: nobody was asked")]
    NotAsked {
        /// The agent.
        agent: String,
        /// The tool.
        tool: String,
        /// Why.
        #[source]
        source: Box<AppendError>,
    },
    /// The outcome was not logged, so it does not count.
    #[error(
        "the log of agent `{agent}` did not take the outcome for tool `{tool}`: the action is not allowed"
    )]
    NotDecided {
        /// The agent.
        agent: String,
        /// The tool.
        tool: String,
        /// Why.
        #[source]
        source: Box<AppendError>,
    },
    /// The question cannot be written as JSON.
    #[error("the question of agent `{agent}` cannot be kept in its log")]
    NotLossless {
        /// The agent.
        agent: String,
        /// Why.
        #[source]
        source: NotLossless,
    },
}

/// Why a policy was not changed as asked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// The log did not take it: the policy is what it was.
    #[error("the log of session `{session}` did not take the approval policy: it is what it was")]
    NotSet {
        /// The session.
        session: String,
        /// Why.
        #[source]
        source: Box<AppendError>,
    },
    /// The change cannot be written as JSON.
    #[error("the approval policy cannot be kept in the log of session `{session}`")]
    NotLossless {
        /// The session.
        session: String,
        /// Why.
        #[source]
        source: NotLossless,
    },
    /// The policy holds, but the model was not told.
    #[error("the approval policy of agent `{agent}` is set, but its model could not be told")]
    NotTold {
        /// The agent.
        agent: String,
        /// Why.
        #[source]
        source: Box<InboxError>,
    },
}
