//! A turn of an agent has at most so many steps.
//!
//! A model that calls tools is asked again, and nothing ends that but the model. With this policy a turn has a limit of steps:
//! the model is told when it is asked for the last time, so that it can answer instead of calling one more tool, and if
//! it does not, the turn ends as `blocked` before another step begins. Nothing is cut off: what the last step's tools did
//! is in the log, and whoever says something next has the agent go on from there, with a whole turn of steps.
//!
//! Read `config`, `text` (what the model is told), then `limit` (what happens before a step).
//!
//! **Architecture Invariant:** nothing is kept. The number of a step says all that there is to count, so a policy that is
//! reloaded, or given another limit, in the middle of a turn holds from the next step on.
//!
//! **Architecture Invariant:** no message is lost. What was to be said in the step that is refused waits again, in front of what
//! came in meanwhile, and nobody is woken for it: a limit that woke the agent would be none.
//!
//! # Order
//! The policy stands in front of the other listeners of `agent/pre-step`, whenever they are mounted: none of them is asked about a
//! step that is refused, and what they decide about the others stands. Where several limits hold, the lowest counts.
//!
//! # Examples
//! ```
//! use std::num::NonZeroU64;
//!
//! use cordis::App;
//! use dsh_agent::testing::agent;
//! use dsh_agent::{PRE_STEP, PreStep, PreStepDecision};
//! use dsh_session::Session;
//! use dsh_step_limit_policy::Config;
//! use tokio_util::sync::CancellationToken;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let app = App::new()?;
//! let (ada, _inbox) = agent(&app, Session::detached("ada"))?;
//! let config = Config { max_steps: NonZeroU64::new(2).ok_or("a limit is not 0")? };
//! ada.context().plugin(dsh_step_limit_policy::plugin(), config)?.ready().await?;
//!
//! // What a loop asks before each step of a turn, here without messages: the model waits for what its tools gave.
//! let proposed = async |(): &(), step: &mut PreStep| PreStepDecision::Enter { messages: step.messages.clone() };
//! let mut decisions = Vec::new();
//! for step in 1..=3 {
//!     let cancellation = CancellationToken::new();
//!     let mut step = PreStep { agent: ada.clone(), messages: Vec::new(), turn: 1, step, cancellation };
//!     decisions.push(app.waterfall(PRE_STEP, &mut step, &(), proposed).await?);
//! }
//! let [first, PreStepDecision::Enter { messages: last }, third] = decisions.as_slice() else { panic!() };
//! assert_eq!(*first, PreStepDecision::Enter { messages: vec![] });
//! assert!(last[0].text().starts_with("This is the last step of this turn"));
//! assert_eq!(*third, PreStepDecision::Reject);
//! # Ok(())
//! # }
//! ```

mod config;
mod limit;
mod text;

use cordis::{BoxError, Context, Plugin, define};
use dsh_agent::PRE_STEP;

pub use config::Config;

use limit::Limit;

cordis::catalog!(plugin);

/// The plugin's name, which is also that of the source of its messages.
pub(crate) const NAME: &str = "step-limit-policy";

/// The target of the warning that a turn ends at its limit, for programs that say so in their own words.
pub const REACHED: &str = "dsh_step_limit_policy::reached";

/// Limits the steps of each turn of every agent, or of the agent whose context it is mounted on.
///
/// The last step that there may be begins with a message that says so, whose source is a notice of this plugin. The step
/// after it is refused: the turn ends as `blocked`, and a warning is traced that names the agent, the turn and the limit.
/// Messages that were taken for that step wait for the next step again, in front of what waits there, until something wakes
/// the agent; so does what a listener of `agent/turn-stopping` said to have a turn go on that is at its limit. A turn that is
/// cancelled is left alone: what was taken for its step stays taken.
pub fn plugin() -> impl Plugin<Config = Config> {
    define(NAME).run(apply)
}

async fn apply(ctx: &Context, (): (), config: &Config) -> Result<(), BoxError> {
    ctx.on(PRE_STEP).prepend().with(Limit { max_steps: config.max_steps.get() }).run(limit::before_step)?;
    Ok(())
}
