//! Approval: an action of an agent that needs a yes asks for it once, and fails closed without one.
//!
//! Whoever is about to act asks [`Approvals::request`]. The policy of the session is looked at first, then the answerers,
//! which are the listeners of [`REQUEST`]; question and outcome are a pair of events in the session's log. Only
//! [`ApprovalOutcome::AllowedOnce`] allows, and it allows exactly the action that asked.
//!
//! Read `outcome` and `policy` (the vocabulary), `request`, `event` (what the log holds), `approvals` with `question` (the
//! way of a question, from top to bottom), then `switch` (how a policy changes).
//!
//! **Architecture Invariant:** the policy `never` is looked at before any answerer. No listener, however it is registered,
//! can answer a question that must not be asked.
//!
//! **Architecture Invariant:** nothing is remembered. There is no standing permission here: what relaxes more than one
//! action is a change of the policy.

mod approvals;
mod config;
mod error;
mod event;
pub mod keys;
mod outcome;
mod policy;
mod prompt;
mod question;
mod request;
mod switch;

use std::sync::Arc;

use cordis::{BoxError, Context, Plugin, define};

pub use approvals::Approvals;
pub use config::Config;
pub use error::{ApprovalError, PolicyError};
pub use event::{ApprovalAsked, ApprovalDecided, ApprovalId, ApprovalPolicySet, PolicySource};
pub use keys::{APPROVAL, REQUEST};
pub use outcome::ApprovalOutcome;
pub use policy::{ApprovalPolicy, UnknownPolicy, override_of, policy_text};
pub use request::ApprovalRequest;

cordis::catalog!(plugin);

/// Provides [`APPROVAL`].
pub fn plugin() -> impl Plugin<Config = Config> {
    define("approval").provides(APPROVAL).run(apply)
}

async fn apply(ctx: &Context, (): (), config: &Config) -> Result<(), BoxError> {
    let approvals = Approvals::new(config.policy);
    ctx.provide(APPROVAL, Arc::new(approvals))?;
    // Waits for a prompt; the service itself needs none.
    ctx.plugin(prompt::plugin(), approvals)?;
    Ok(())
}
