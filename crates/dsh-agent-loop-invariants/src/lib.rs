//! The rules that agent loops keep, and a plugin that tells at once when one is broken.
//!
//! What a model is asked can be read from the log: a loop that is right makes its requests of nothing else, and needs no checker.
//! Mounted next to one that is being written, the plugin refuses a request that the log does not say, and reports events of agents
//! that are out of place. The order of what a log holds is another checker's matter, `session-invariants`.
//!
//! Read `violation` (what there is to break), `request` (what a log says of a request), `lives` (what was told of an agent),
//! then `watch` (the listeners).
//!
//! **Architecture Invariant:** a request is compared with the session, never with what was seen of the loop. Whoever makes requests
//! of a log in the same way passes.
//!
//! **Architecture Invariant:** nothing of an agent is kept alive, or longer than the agent.
//!
//! # Examples
//! ```
//! use cordis::App;
//! use dsh_agent_loop_invariants::Violation;
//! use dsh_llm::{CallConfig, LLM, ModelRequest, StreamError};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let app = App::new()?;
//! app.plugin(dsh_llm::plugin(), ())?.ready().await?;
//! app.plugin(dsh_agent_loop_invariants::plugin(), ())?.ready().await?;
//!
//! let mut request = ModelRequest::new(CallConfig::new("acme", "m"), []).built_by_loop();
//! request.session_id = Some("s-1".to_owned());
//! let llm = app.get(LLM).ok_or("no models")?;
//! let Some(Err(StreamError::Raised(error))) = llm.get()?.stream(request).next().await else { panic!() };
//! let not_live = Violation::NotLive { session: "s-1".to_owned() };
//! assert_eq!(error.downcast_ref::<Violation>(), Some(&not_live));
//! # Ok(())
//! # }
//! ```

mod lives;
mod request;
#[cfg(feature = "testing")]
pub mod testing;
mod violation;
mod watch;

use std::sync::Arc;

use cordis::{BoxError, Context, Plugin, define};

pub use request::check_request;
pub use violation::Violation;

use watch::{Tell, Watch};

cordis::catalog!(plugin);

/// Checks the loops of every agent, or that of the agent whose context the plugin is mounted on.
///
/// A request that says that a loop built it must be what its session says ([`check_request`]), and the session be live. One that
/// is not goes no further: its stream ends with the [`Violation`]. Other requests are not looked at. The plugin sees a request
/// before all listeners of `llm/stream` that were there when it was mounted; those that come later and
/// [prepend](cordis::On::prepend) themselves may have changed it.
///
/// Of an agent's events, a status that is the one before, a message that is taken outside of the open turn, and an agent that
/// is gone without having come are reported ([`keys::ERROR`](cordis::keys::ERROR)) and told all the same; an agent that comes
/// twice is refused. What was told of an agent before the plugin was mounted is not known: mount it before the agents. An
/// agent that was refused by a listener that had prepended itself later seems not to have come.
///
/// Source: the reference's checker of `agent-loop`.
pub fn plugin() -> impl Plugin<Config = ()> {
    define("agent-loop-invariants")
        .run(async |ctx: &Context, (): (), _config: &()| start(ctx, Arc::new(|_| {})))
}

/// No service is a need: what is provided when something is judged counts, and one that is replaced is no reason to forget.
fn start(ctx: &Context, tell: Tell) -> Result<(), BoxError> {
    watch::mount(&Arc::new(Watch::new(ctx, tell)))
}
