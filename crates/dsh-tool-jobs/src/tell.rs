//! How an agent is told that a job of it has ended: the listeners.

use std::sync::Arc;

use cordis::{Context, Next, chain};
use dsh_agent::{Agent, PreStep, PreStepDecision, StatusChange};
use dsh_jobs::JobDone;
use dsh_llm::Source;

use crate::config::{CompletionDelivery, Config};
use crate::notice::notice;
use crate::wakes::Wakes;

pub(crate) struct Teller {
    ctx: Context,
    delivery: CompletionDelivery,
    most_wakes: u64,
    wakes: Wakes,
}

impl Teller {
    pub(crate) fn new(ctx: &Context, config: &Config) -> Self {
        Self {
            ctx: ctx.clone(),
            delivery: config.completion_delivery,
            most_wakes: config.max_consecutive_wakes,
            wakes: Wakes::default(),
        }
    }
}

/// The listener of `jobs/done`: what its owner does not know yet it is told.
pub(crate) fn ended(teller: &Arc<Teller>, done: &JobDone) {
    let Some(owner) = done.owner.as_ref().filter(|_| !done.job.reported) else { return };
    let message = Arc::new(notice(&done.job));
    let wake = match teller.delivery {
        CompletionDelivery::Wakeup => teller.wakes.begin(owner, teller.most_wakes),
        CompletionDelivery::Quiet => None,
    };
    let sent = match wake {
        Some(wake) => owner.followup(message).map(|()| wake.keep()),
        None => owner.inject(message),
    };
    if let Err(error) = sent {
        let why = chain(&error);
        teller.ctx.report("jobs/done", format!("the end of job {} was not told: {why}", done.job.id));
    }
}

/// The listener of `agent/status`.
pub(crate) fn status(teller: &Arc<Teller>, change: &StatusChange) {
    teller.wakes.status(change);
}

/// The listener of `agent/disposed`.
pub(crate) fn disposed(teller: &Arc<Teller>, agent: &Agent) {
    teller.wakes.forget(agent);
}

/// The listener of `agent/pre-step`. It decides nothing.
pub(crate) async fn before_step(
    teller: &Arc<Teller>,
    step: &mut PreStep,
    next: Next<'_, PreStep, PreStepDecision>,
) -> PreStepDecision {
    if step.messages.iter().any(|message| matches!(message.source, Source::User {})) {
        teller.wakes.user_spoke(&step.agent);
    }
    next.run(step).await
}
