//! Agents: who they are, how they are spoken to, and the events of their lives.
//!
//! The crate has types and keys only. A loop makes agents, keeps the registry and dispatches the events; plugins that listen
//! or speak to agents need nothing but this crate.
//!
//! Read `agent` with `id` and `options` (what an agent is), `inbox` (how it is spoken to), `registry` (which agents there
//! are), `session_start`, `step`, `request_error`, `turn_stopping` and `status` (what its events carry), then `keys`.
//!
//! **Architecture Invariant:** an agent's id is its session's id. There is no second name for either.

mod agent;
mod id;
mod inbox;
pub mod keys;
mod options;
mod registry;
mod request_error;
mod session_start;
mod status;
mod step;
mod subject;
#[cfg(feature = "testing")]
pub mod testing;
mod turn_stopping;

pub use agent::{Agent, AgentParts, WeakAgent};
pub use dsh_session::InboxTarget as Target;
pub use id::AgentId;
pub use inbox::{Inbox, InboxError, Wakeup};
pub use keys::{AGENTS, CREATED, DISPOSED, PRE_STEP, REQUEST_ERROR, SESSION_START, STATUS, TURN_STOPPING};
pub use options::{AgentOptions, BadMaxTokens, MaxTokens};
pub use registry::AgentRegistry;
pub use request_error::{Recovered, Recovery, RequestError};
pub use session_start::{SessionSource, SessionStart};
pub use status::{AgentStatus, StatusChange};
pub use step::{PreStep, PreStepDecision};
pub use turn_stopping::TurnStopping;
