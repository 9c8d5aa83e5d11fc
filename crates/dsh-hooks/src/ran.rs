//! What is told of a hook that has run.

use crate::dialect::Dialect;
use crate::handler::Handler;
use crate::run::HookRun;

/// A hook that has run; see [`RAN`](crate::RAN).
#[derive(Clone, Debug)]
pub struct HookRan {
    /// The session that it ran for; none without an agent.
    pub session_id: Option<String>,
    /// Whose hook it is.
    pub dialect: Dialect,
    /// Which hook of the configuration.
    pub handler: Handler,
    /// How many hooks of the configuration stand before it.
    pub index: usize,
    /// Its name in the log.
    pub handler_id: String,
    /// What it was told, on one line.
    pub payload: String,
    /// How it ran, with the answer as the bridge has understood it.
    pub run: HookRun,
}
