//! What happens before a step: the last one is announced, the one after it refused.

use std::cmp::Ordering;
use std::sync::Arc;

use cordis::Next;
use dsh_agent::{PreStep, PreStepDecision, Target};

use crate::{REACHED, text};

pub(crate) struct Limit {
    pub(crate) max_steps: u64,
}

/// The listener of `agent/pre-step`.
pub(crate) async fn before_step(
    limit: &Limit,
    step: &mut PreStep,
    next: Next<'_, PreStep, PreStepDecision>,
) -> PreStepDecision {
    match step.step.cmp(&limit.max_steps) {
        Ordering::Less => next.run(step).await,
        Ordering::Equal => limit.announce(step, next).await,
        Ordering::Greater => limit.refuse(step),
    }
}

impl Limit {
    async fn announce(
        &self,
        step: &mut PreStep,
        next: Next<'_, PreStep, PreStepDecision>,
    ) -> PreStepDecision {
        // Later steps often begin without a message: the model waits for what its tools gave.
        let needs_message = step.step == 1 || !step.messages.is_empty();
        let mut decision = next.run(step).await;
        if let PreStepDecision::Enter { messages } = &mut decision {
            // A step that would not begin because nothing is said in it must not begin for this.
            if !(needs_message && messages.is_empty()) {
                messages.push(Arc::new(text::last_step(self.max_steps)));
            }
        }
        decision
    }

    fn refuse(&self, step: &mut PreStep) -> PreStepDecision {
        let PreStep { agent, turn, messages, cancellation, .. } = step;
        if cancellation.is_cancelled() {
            return PreStepDecision::Reject;
        }
        tracing::warn!(
            target: REACHED,
            agent = %agent.id(),
            turn = *turn,
            max_steps = self.max_steps,
            "a turn ends at its limit of steps: raise `maxSteps` of step-limit-policy, or send a message to have the agent go on"
        );
        // They were taken for this step, and will not be said in it.
        if let Err(error) = agent.inbox().splice(Target::NextStep, 0..0, std::mem::take(messages)) {
            tracing::warn!(
                agent = %agent.id(),
                turn = *turn,
                error = &error as &dyn std::error::Error,
                "what was to be said in the step that the limit refused is lost: send it again"
            );
        }
        PreStepDecision::Reject
    }
}
