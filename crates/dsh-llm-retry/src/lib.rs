//! Requests to models that failed for a passing reason are made again.
//!
//! The plugin decides nothing by itself: how often, for which failures and after which wait is the [`RetryPolicy`] of the
//! provider that was asked, and comes with the failure. Of it and of what the step's log says of retries before, one listener
//! of [`REQUEST_ERROR`] makes the next retry, logs it, waits, logs that it begins, and has the step ask again.
//!
//! Read `record` (what the log holds), `policy_key` and `history` (what is counted), then `retry` (what happens around a
//! failure) and `chance`.
//!
//! **Architecture Invariant:** the count is in the log and nowhere else. A plugin that was reloaded in the middle of a step goes
//! on where the log is.
//!
//! **Architecture Invariant:** nothing is waited for that is not in the log before. Whoever reads a log sees why it stands still.
//!
//! # Order
//! A failure under a policy with a number of retries is answered here, without asking listeners that are mounted later; when it
//! may not be retried, or not any more, they are asked. Under a policy without end they are asked first.
//!
//! [`RetryPolicy`]: dsh_llm::RetryPolicy

mod chance;
mod config;
mod history;
#[cfg(feature = "invariants")]
pub mod invariants;
mod policy_key;
mod record;
mod retry;

use cordis::{BoxError, Context, Plugin, define};
use dsh_agent::REQUEST_ERROR;

pub use config::Config;
pub use policy_key::policy_key;
pub use record::{LlmRetry, LlmRetryStarted, RetryMode};

use retry::Retries;

cordis::catalog!(plugin);

/// Makes requests again that failed for a passing reason.
///
/// Mounted on an agent's context it does so for that agent alone. Cancellation of the turn ends a wait at once, and the turn
/// with it; unloading of the plugin ends it as well, and the listeners that are left decide.
///
/// Source: the reference's plugin `llm-retry`.
pub fn plugin() -> impl Plugin<Config = Config> {
    define("llm-retry").run(apply)
}

async fn apply(ctx: &Context, (): (), _config: &Config) -> Result<(), BoxError> {
    ctx.on(REQUEST_ERROR).with(Retries::new(ctx.clone())).run(retry::recover)?;
    Ok(())
}
