//! The names under which the crate meets others.

use cordis::{Emit, Key};

use crate::configured::ConfigStartFailed;
use crate::service::AgentLoops;

/// The loop itself.
///
/// Source: service `agentLoop`.
pub const AGENT_LOOP: Key<AgentLoops> = Key::new("agentLoop");

/// An agent of the configuration did not start.
///
/// Dispatched once per agent, after a warning; unscoped. Not told of those that did not start because the loop is going. Listeners
/// watch and change nothing; a panic of one is contained. Cancellation plays no part.
///
/// Source: event `agent-loop/config-start-failed`.
pub const CONFIG_START_FAILED: Emit<ConfigStartFailed> = Emit::new("agent-loop/config-start-failed");
