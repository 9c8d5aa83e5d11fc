//! The names under which the crate meets others: the registry and the events of agents.

use std::convert::Infallible;

use cordis::{Announce, Emit, Key, Serial, Waterfall};

use crate::agent::Agent;
use crate::failure::AgentFailure;
use crate::inbox::{InboxChange, InboxClaim};
use crate::registry::Agents;
use crate::request::{AgentRequest, Requested};
use crate::request_error::{Recovered, RequestError};
use crate::session_start::SessionStart;
use crate::status::StatusChange;
use crate::step::{PreStep, PreStepDecision};
use crate::turn_stopping::TurnStopping;

/// The agents that are live, and the way to new ones.
pub const AGENTS: Key<Agents> = Key::new("agents");

/// An agent is registered and can be found.
///
/// Dispatched once per agent by the registry, after `session/created` of its session; scope-filtered by the agent. A
/// listener that fails has the agent taken back: its error is the creation's, listeners after it are not told, and
/// [`DISPOSED`] follows. Cancellation plays no part.
///
/// Source: event `agent/created`.
pub const CREATED: Announce<Agent> = Announce::new("agent/created").scoped_by(|agent| Some(agent.scope()));

/// An agent is no longer registered.
///
/// Dispatched once per agent whose announcement began, after its scope has closed, so that listeners of its own context do
/// not hear it; scope-filtered by the agent, whose ancestors do. Listeners watch and change nothing; a panic of one is
/// contained. Cancellation plays no part.
///
/// Source: event `agent/disposed`.
pub const DISPOSED: Emit<Agent> = Emit::new("agent/disposed").scoped_by(|agent| Some(agent.scope()));

/// An agent's session begins, or goes on where it was left.
///
/// Dispatched by the loop once per agent, after [`CREATED`]; scope-filtered by the agent. It is the first place where
/// something may be said to the agent. Listeners cannot undo the creation; a panic of one is contained. Cancellation plays
/// no part.
///
/// Source: event `agent/session-start`.
pub const SESSION_START: Emit<SessionStart> =
    Emit::new("agent/session-start").scoped_by(|start| Some(start.agent.scope()));

/// An agent began to work, or became idle.
///
/// Dispatched by the loop only when the status is another than before, inside of the send that wakes the agent when it
/// begins; scope-filtered by the agent. Listeners watch and change nothing; a panic of one is contained. A listener that
/// cancels the agent when it begins keeps the turn from being opened.
///
/// Source: event `agent/status`.
pub const STATUS: Emit<StatusChange> =
    Emit::new("agent/status").scoped_by(|change| Some(change.agent.scope()));

/// A message waits for an agent.
///
/// Dispatched once per message after it is in the log and in the inbox; scope-filtered by the agent. Listeners watch and change
/// nothing; a panic of one is contained. Cancellation plays no part.
///
/// Source: event `agent/inbox/inserted`.
pub const INBOX_INSERTED: Emit<InboxChange> =
    Emit::new("agent/inbox/inserted").scoped_by(|change| Some(change.agent.scope()));

/// A message waits no longer, and will not be said.
///
/// Dispatched once per message after it has left the inbox, before those that came in its place are told; scope-filtered by the
/// agent. Listeners watch and change nothing; a panic of one is contained. Cancellation plays no part.
///
/// Source: event `agent/inbox/discarded`.
pub const INBOX_DISCARDED: Emit<InboxChange> =
    Emit::new("agent/inbox/discarded").scoped_by(|change| Some(change.agent.scope()));

/// A message was taken out of the inbox, to be said in a turn.
///
/// Dispatched by the loop once per message of a step, after all of them have left the inbox; scope-filtered by the agent. Listeners
/// watch and change nothing; a panic of one is contained. Cancellation plays no part.
///
/// Source: event `agent/inbox/claimed`.
pub const INBOX_CLAIMED: Emit<InboxClaim> =
    Emit::new("agent/inbox/claimed").scoped_by(|claim| Some(claim.agent.scope()));

/// Whether a step begins, and with which messages.
///
/// Dispatched by the loop once per proposed step, after the messages were taken out of the inbox and the instructions put
/// together, before `step/start` is logged; scope-filtered by the agent. A listener may reject the step, which discards the
/// messages, or enter it with others; `next` gives the decision of the rest, which is to enter with those that were taken
/// and, last, the news about the runtime context, which a listener that does not call `next` leaves out. A panic fails the
/// turn. Cancellation ends the turn once the listeners have returned, whatever they decided; a listener that waits for long
/// watches [`PreStep::cancellation`], and is dropped where it waits if it does not.
///
/// Source: event `agent/pre-step`.
pub const PRE_STEP: Waterfall<PreStep, PreStepDecision> =
    Waterfall::new("agent/pre-step").scoped_by(|step| Some(step.agent.scope()));

/// With which settings a model is asked.
///
/// Dispatched by the loop once per attempt of a step, before the request is put together; scope-filtered by the agent. `next` gives
/// the settings as they are: those of the request before without what its adapter chose, at first those of the agent. A listener
/// returns others to switch the provider, the model or the way it is asked; messages are out of its reach. An error of a listener,
/// and its panic, fail the turn. Cancellation ends the turn once the listeners have returned; one that waits for long watches
/// [`AgentRequest::cancellation`], and is dropped where it waits if it does not.
///
/// Source: event `agent/request`.
pub const REQUEST: Waterfall<AgentRequest, Requested> =
    Waterfall::new("agent/request").scoped_by(|request| Some(request.agent.scope()));

/// A model did not answer: whether the step asks again.
///
/// Dispatched by the loop when an answer ends with an error or aborted, once per attempt, after its pieces were logged;
/// scope-filtered by the agent. A listener that sees to it returns [`Recovery::Retry`](crate::Recovery::Retry) when the time has
/// come, without `next`; `next` gives the decision of the rest, which is not to. An error of a listener, and its panic, end the
/// turn in the place of the failure. Cancellation wins over a retry; a listener that waits watches
/// [`RequestError::cancellation`], and is dropped where it waits if it does not.
///
/// Source: event `agent/request-error`.
pub const REQUEST_ERROR: Waterfall<RequestError, Recovered> =
    Waterfall::new("agent/request-error").scoped_by(|error| Some(error.agent.scope()));

/// A turn is about to end by itself.
///
/// Dispatched by the loop when a step has ended the turn and nothing waits for its next step; scope-filtered by the agent. A
/// listener that says something ([`Agent::steer`], [`Agent::inject`]) has the turn go on, and the event comes again when it
/// is about to end once more. Listeners are asked one after another, and none can answer for the rest; one that fails or
/// panics fails the turn. Cancellation ends the turn once the listeners have returned; one that waits for long watches
/// [`TurnStopping::cancellation`], and is dropped where it waits if it does not.
///
/// Source: event `agent/turn-stopping`.
pub const TURN_STOPPING: Serial<TurnStopping, Infallible> =
    Serial::new("agent/turn-stopping").scoped_by(|stopping| Some(stopping.agent.scope()));

/// Work of an agent failed. A turn that was cancelled is none of that.
///
/// Dispatched by the loop before the end of the turn is logged, or when not even that could be; scope-filtered by the agent.
/// Listeners watch and change nothing; a panic of one is contained. Cancellation plays no part.
///
/// Source: event `agent/error`.
pub const ERROR: Emit<AgentFailure> =
    Emit::new("agent/error").scoped_by(|failure| Some(failure.agent.scope()));
