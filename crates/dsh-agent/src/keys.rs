//! The names under which the crate meets others: the registry and the events of agents.

use cordis::{Announce, Emit, Key, Waterfall};

use crate::agent::Agent;
use crate::registry::AgentRegistry;
use crate::status::StatusChange;
use crate::step::{PreStep, PreStepDecision};

/// The agents that are live.
pub const AGENTS: Key<dyn AgentRegistry> = Key::new("agents");

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

/// An agent began to work, or became idle.
///
/// Dispatched by the loop only when the status is another than before, inside of the send that wakes the agent when it
/// begins; scope-filtered by the agent. Listeners watch and change nothing; a panic of one is contained. A listener that
/// cancels the agent when it begins keeps the turn from being opened.
///
/// Source: event `agent/status`.
pub const STATUS: Emit<StatusChange> =
    Emit::new("agent/status").scoped_by(|change| Some(change.agent.scope()));

/// Whether a step begins, and with which messages.
///
/// Dispatched by the loop once per proposed step, after the messages were taken out of the inbox and the instructions put
/// together, before `step/start` is logged; scope-filtered by the agent. A listener may reject the step, which discards the
/// messages, or enter it with others; `next` gives the decision of the rest, which is to enter with those that were taken
/// and, last, the news about the runtime context, which a listener that does not call `next` leaves out. A panic fails the
/// turn. Cancellation ends the turn once the listeners have returned, whatever they decided; a listener that waits for long
/// watches [`PreStep::cancellation`].
///
/// Source: event `agent/pre-step`.
pub const PRE_STEP: Waterfall<PreStep, PreStepDecision> =
    Waterfall::new("agent/pre-step").scoped_by(|step| Some(step.agent.scope()));
