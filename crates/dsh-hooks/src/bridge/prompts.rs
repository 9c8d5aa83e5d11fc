//! The hooks of messages that are about to reach the model.

use std::sync::Arc;

use cordis::Next;
use dsh_agent::{PreStep, PreStepDecision};
use dsh_llm::{ContentBlock, Message};

use crate::bridge::Bridge;
use crate::bridge::firing::Cut;
use crate::bridge::moment::Moment;
use crate::bridge::turn::Turn;
use crate::point::Point;
use crate::said::Decision;

/// The listener of `agent/pre-step`.
pub(crate) async fn before_step(
    bridge: &Arc<Bridge>,
    step: &mut PreStep,
    next: Next<'_, PreStep, PreStepDecision>,
) -> PreStepDecision {
    let agent = step.agent.clone();
    let said = match bridge.ask_about(step).await {
        Ok(said) => said,
        Err(Denied) => return PreStepDecision::Reject,
    };
    let mut decision = next.run(step).await;
    if let PreStepDecision::Enter { messages } = &mut decision {
        let notice = bridge.stops.take_notice(&agent);
        messages.extend(notice.into_iter().chain(said).map(Arc::new));
    }
    decision
}

/// The messages are not to reach the model.
struct Denied;

impl Bridge {
    /// What the hooks say to the model about the messages, if they let them pass.
    async fn ask_about(&self, step: &PreStep) -> Result<Option<Message>, Denied> {
        if step.messages.is_empty() {
            return Ok(None);
        }
        let hooks = self.hooks(Point::UserPromptSubmit, "");
        if hooks.is_empty() {
            return Ok(None);
        }
        let prompt: String =
            step.messages.iter().flat_map(|message| &message.content).filter_map(text).collect();
        let moment = Moment::UserPromptSubmit { prompt: &prompt };
        let turn = Turn::numbered(&step.agent, step.turn);
        let place = self.place_of(Some(&step.agent));
        let fired = self.fire(&hooks, &place, turn.as_ref(), moment, &step.cancellation).await;
        match fired.merged.decision {
            Some(Decision::Deny) => Err(Denied),
            // A step that was cancelled reaches no model.
            _ if fired.cut == Some(Cut::Unloaded) && !step.cancellation.is_cancelled() => {
                let (plugin, agent) = (self.plugin(), step.agent.id());
                tracing::warn!(
                    "{plugin}: a message to agent \"{agent}\" is refused, since the plugin was unloaded before its \
                     UserPromptSubmit hooks had answered: send it again"
                );
                Err(Denied)
            }
            Some(Decision::Ask | Decision::Allow) | None => {
                Ok(self.context_message(fired.merged.additional_contexts))
            }
        }
    }
}

fn text(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::Text { text } => Some(text),
        _ => None,
    }
}
