//! Who started the asynchronous work that goes on: it travels with the task, not with arguments.
//!
//! The work of an agent's loop is started by the agent; so is what the loop calls, tools and listeners included. A task that is
//! spawned from there starts without; whoever wants it to have one passes it on by [`with`].
//!
//! Source: the service `agentInitiator`.

use std::future::Future;

use thiserror::Error;

use crate::agent::Agent;

tokio::task_local! { static INITIATOR: Option<Agent>; }

/// Nobody is known to have started this work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("no agent has started this work: run it inside of `dsh_agent::initiator::with(agent, …)`")]
pub struct NoInitiator;

/// The agent that started the work that asks, if one did.
#[must_use]
pub fn current() -> Option<Agent> {
    INITIATOR.try_with(Clone::clone).ok().flatten()
}

/// The agent that started the work that asks.
///
/// # Errors
/// None did.
pub fn required() -> Result<Agent, NoInitiator> {
    current().ok_or(NoInitiator)
}

/// Runs work that an agent starts; outside of it everything is as before, however the work ends.
pub async fn with<F: Future>(agent: Agent, work: F) -> F::Output {
    INITIATOR.scope(Some(agent), work).await
}

/// Runs work that no agent starts.
pub async fn without<F: Future>(work: F) -> F::Output {
    INITIATOR.scope(None, work).await
}

/// As [`with`], for work that waits for nothing.
pub fn with_now<R>(agent: Agent, work: impl FnOnce() -> R) -> R {
    INITIATOR.sync_scope(Some(agent), work)
}

/// As [`without`], for work that waits for nothing.
pub fn without_now<R>(work: impl FnOnce() -> R) -> R {
    INITIATOR.sync_scope(None, work)
}

pub(crate) fn driven(agent: Agent, work: impl Future<Output = ()> + Send) -> impl Future<Output = ()> + Send {
    INITIATOR.scope(Some(agent), work)
}
