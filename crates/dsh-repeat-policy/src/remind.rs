//! The listeners: one counts a call and reminds, the other ends the count when the user speaks.

use std::collections::BTreeSet;
use std::sync::Arc;

use cordis::Next;
use dsh_agent::{Agent, PreStep, PreStepDecision};
use dsh_llm::{ContentBlock, Message, Role, Source};
use dsh_tools::{PostDecision, Settled, ToolCall};

use crate::NAME;
use crate::canonical::canonical;
use crate::chains::Chains;
use crate::config::Config;
use crate::pattern::Tracked;
use crate::texts;

pub(crate) struct Reminder {
    tracked: Tracked,
    thresholds: BTreeSet<u64>,
    max_chars: u64,
    chains: Chains,
}

impl Reminder {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            tracked: Tracked::new(config),
            thresholds: config.thresholds.iter().copied().collect(),
            max_chars: config.arguments_preview_chars,
            chains: Chains::default(),
        }
    }

    pub(crate) fn forget(&self, agent: &Agent) {
        self.chains.forget(agent);
    }

    /// Counts a call; gives a message if it is one repetition too many.
    fn observe(&self, call: &ToolCall) -> Option<Message> {
        let agent = call.agent().filter(|_| self.tracked.has(call.name()))?;
        let arguments = canonical(call.arguments());
        let count = self.chains.count(agent, call.name(), &arguments);
        if !self.thresholds.contains(&count) {
            return None;
        }
        let text = match self.thresholds.first() == Some(&count) {
            true => texts::GENTLE.to_owned(),
            false => texts::detailed(call.name(), count, &arguments, self.max_chars),
        };
        let source = Source::notice(NAME, &format!("{} × {count}", call.name()));
        Some(Message::new(Role::User, vec![ContentBlock::text(text)], source))
    }
}

/// The listener of `tools/post-execute`. It counts before others look, so whatever they do the call was made.
pub(crate) async fn after_call(
    reminder: &Arc<Reminder>,
    settled: &mut Settled,
    next: Next<'_, Settled, PostDecision>,
) -> PostDecision {
    let message = reminder.observe(settled.call());
    let mut decision = next.run(settled).await;
    if let Some(message) = message {
        decision.contexts_mut().insert(0, message);
    }
    decision
}

/// The listener of `agent/pre-step`. It decides nothing.
pub(crate) async fn before_step(
    reminder: &Arc<Reminder>,
    step: &mut PreStep,
    next: Next<'_, PreStep, PreStepDecision>,
) -> PreStepDecision {
    if step.messages.iter().any(|message| matches!(message.source, Source::User {})) {
        reminder.forget(&step.agent);
    }
    next.run(step).await
}
