//! Approvals answered by programs: a channel of pending questions, and one answer for each.
//!
//! A program attaches to [`CHANNEL`] and is given every question that wants an answer. As long as nobody is attached the
//! plugin leaves all questions to other answerers.
//!
//! Read `keys`, `question` (what a program is shown), `channel` (how it answers), `questions` (how it is told), then `state`
//! (what both work on) and `asking` (the way of a question).
//!
//! **Architecture Invariant:** a question is taken out of the state by whoever ends it, under one lock. So it ends once,
//! however many programs answer it at the same time.

mod asking;
mod channel;
mod error;
pub mod keys;
mod question;
mod questions;
mod state;

use std::sync::Arc;

use cordis::{BoxError, Context, Plugin, define};
use dsh_approval::REQUEST;

pub use channel::ApprovalChannel;
pub use error::AnswerError;
pub use keys::CHANNEL;
pub use question::{Decision, Question, QuestionId};
pub use questions::Questions;
pub use state::REMEMBERED;

cordis::catalog!(plugin);

/// Provides [`CHANNEL`] and asks who is attached to it.
///
/// Mounted on an agent's context it is asked for that agent alone. When it unloads, questions that are open can still be
/// answered for as long as the teardown of a listener may take; after that they are left to other answerers.
pub fn plugin() -> impl Plugin<Config = ()> {
    define("approval-channel").provides(CHANNEL).run(apply)
}

async fn apply(ctx: &Context, (): (), _config: &()) -> Result<(), BoxError> {
    let channel = Arc::new(ApprovalChannel::new());
    let closing = channel.clone();
    // Registered first, so it is undone last: after the listener has gone.
    ctx.effect("close the channel", async move || closing.close())?;
    ctx.on(REQUEST).with(channel.clone()).run(asking::answer)?;
    ctx.provide(CHANNEL, channel)?;
    Ok(())
}
