//! Agents: who they are, how they are spoken to, and the events of their lives.
//!
//! An [`Agent`] has a session, a scope whose registrations are for it alone and go with it, an inbox, and a [`Driver`] that does
//! its work. The registry, [`Agents`], knows the live ones and hands requests for new ones to whatever makes them: a loop, which is a
//! plugin like any other and can be replaced. Plugins that listen, or speak to agents, need nothing but this crate.
//!
//! Read `agent` with `id` and `options` (what an agent is), `inbox` (what waits for it, and how it is changed), `driver`,
//! `loop_driver` and `maintenance` (who is woken when), `registry` (which agents there are, and how they are asked for),
//! `session_start`, `step`, `request`, `request_error`, `turn_stopping`, `status` and `failure` (what its events carry), `consumed`
//! (what became of what was asked for) and `initiator` (who started what goes on), then `keys`.
//!
//! **Architecture Invariant:** an agent's id is its session's id. There is no second name for either.
//!
//! **Architecture Invariant:** what waits for an agent is in its log before it waits. A log gives the inbox back.

mod agent;
mod consumed;
mod driver;
mod failure;
mod id;
mod inbox;
pub mod initiator;
pub mod keys;
mod loop_driver;
mod maintenance;
mod options;
mod registry;
mod request;
mod request_error;
mod session_start;
mod status;
mod step;
mod subject;
#[cfg(feature = "testing")]
pub mod testing;
mod turn_stopping;

use std::sync::Arc;

use cordis::{BoxError, Context, Plugin, define};

pub use agent::{Agent, AgentParts, WeakAgent};
pub use consumed::{ConsumedWork, consumed_work};
pub use driver::{Driver, NotIdle, Waiting, Wakeup};
pub use dsh_session::InboxTarget as Target;
pub use failure::AgentFailure;
pub use id::AgentId;
pub use inbox::{BadSplice, Inbox, InboxChange, InboxClaim, InboxError, Pending};
pub use keys::{
    AGENTS, CREATED, DISPOSED, ERROR, INBOX_CLAIMED, INBOX_DISCARDED, INBOX_INSERTED, PRE_STEP, REQUEST,
    REQUEST_ERROR, SESSION_START, STATUS, TURN_STOPPING,
};
pub use loop_driver::{Activity, AgentLoop, LoopDriver};
pub use maintenance::Maintenance;
pub use options::{AgentOptions, BadMaxTokens, MaxTokens};
pub use registry::{
    AgentError, AgentFactory, AgentHandle, Agents, Commit, CreateAgent, EnterError, Entered, FactoryError,
    RegisterError, ResumeAgent, Setup,
};
pub use request::{AgentRequest, Requested};
pub use request_error::{Recovered, Recovery, RequestError};
pub use session_start::{SessionSource, SessionStart};
pub use status::{AgentStatus, StatusChange};
pub use step::{PreStep, PreStepDecision};
pub use turn_stopping::TurnStopping;

cordis::catalog!(plugin);

/// Provides [`AGENTS`].
pub fn plugin() -> impl Plugin<Config = ()> {
    define("agent").provides(AGENTS).run(apply)
}

async fn apply(ctx: &Context, (): (), (): &()) -> Result<(), BoxError> {
    ctx.provide(AGENTS, Arc::new(Agents::default()))?;
    Ok(())
}
