//! The hooks of tool calls.

use std::sync::Arc;

use cordis::Next;
use dsh_llm::ContentBlock;
use dsh_tools::{PostDecision, PreDecision, Replacement, Settled, ToolCall};
use serde_json::Value;

use crate::bridge::Bridge;
use crate::bridge::answered::{Standing, recall, remember};
use crate::bridge::firing::Cut;
use crate::bridge::moment::{Moment, ToolUse};
use crate::bridge::turn::Turn;
use crate::point::Point;
use crate::said::Decision;

/// The listener of `tools/pre-execute`.
pub(crate) async fn before_call(
    bridge: &Arc<Bridge>,
    call: &mut ToolCall,
    next: Next<'_, ToolCall, PreDecision>,
) -> PreDecision {
    let verdict = match recall(bridge.id, call) {
        Some(standing) => Verdict::Stands(standing),
        None => bridge.judge(call).await,
    };
    match verdict {
        Verdict::Denied { reason } => PreDecision::Deny { reason },
        Verdict::Stands(Standing::Asked { reason }) => {
            let theirs = next.run(call).await;
            and_asked(reason, theirs)
        }
        Verdict::Stands(Standing::Allowed) => next.run(call).await,
        Verdict::Rewritten { arguments, standing } => {
            remember(bridge.id, call, Value::Object(arguments.clone()), standing);
            PreDecision::Replace { arguments }
        }
    }
}

/// The listener of `tools/post-execute`.
pub(crate) async fn after_call(
    bridge: &Arc<Bridge>,
    settled: &mut Settled,
    next: Next<'_, Settled, PostDecision>,
) -> PostDecision {
    let call = settled.call();
    let hooks = bridge.hooks(Point::PostToolUse, call.name());
    if hooks.is_empty() {
        return next.run(settled).await;
    }
    let response = settled.outcome().text();
    let moment = Moment::PostToolUse { tool: tool_use(call), response: &response };
    let (turn, place) = (call.agent().and_then(Turn::open_of), bridge.place_of(call.agent()));
    let fired = bridge.fire(&hooks, &place, turn.as_ref(), moment, call.cancellation()).await;
    let merged = fired.merged;
    let context = bridge.context_message(merged.additional_contexts);
    // One that its caller gave up stays aborted, without what it has written.
    let is_aborted = fired.cut == Some(Cut::Cancelled) && call.is_cancelled_by_caller();
    let withheld =
        fired.cut.filter(|_| !is_aborted || call.body_was_entered()).map(|cut| bridge.withheld(cut));
    let feedback = match merged.decision {
        Some(Decision::Deny) => {
            Some(merged.reason.unwrap_or_else(|| "blocked by PostToolUse hook".to_owned()))
        }
        Some(Decision::Ask | Decision::Allow) | None => withheld.clone().filter(|_| !is_aborted),
    };
    if let Some(feedback) = feedback {
        let feedback = vec![ContentBlock::text(feedback)];
        return PostDecision::Block { feedback, contexts: context.into_iter().collect() };
    }
    let mut decision = next.run(settled).await;
    decision.contexts_mut().splice(0..0, context);
    if let (PostDecision::Accept { replace, .. }, Some(withheld)) = (&mut decision, withheld) {
        *replace = Some(Replacement::Content(vec![ContentBlock::text(withheld)]));
    }
    decision
}

/// What hooks say about a call.
enum Verdict {
    Denied {
        reason: String,
    },
    Stands(Standing),
    /// It is to be judged anew with other arguments, and this stands about those.
    Rewritten {
        arguments: serde_json::Map<String, Value>,
        standing: Standing,
    },
}

impl Bridge {
    async fn judge(&self, call: &ToolCall) -> Verdict {
        let hooks = self.hooks(Point::PreToolUse, call.name());
        if hooks.is_empty() {
            return Verdict::Stands(Standing::Allowed);
        }
        let moment = Moment::PreToolUse(tool_use(call));
        let (turn, place) = (call.agent().and_then(Turn::open_of), self.place_of(call.agent()));
        let fired = self.fire(&hooks, &place, turn.as_ref(), moment, call.cancellation()).await;
        let merged = fired.merged;
        let standing = match (merged.decision, fired.cut) {
            (Some(Decision::Deny), _) => {
                let reason = merged.reason.unwrap_or_else(|| "blocked by PreToolUse hook".to_owned());
                return Verdict::Denied { reason };
            }
            // One that its caller gave up is not made anyway, and is told as that.
            (_, Some(cut)) if !call.is_cancelled_by_caller() => {
                return Verdict::Denied { reason: self.not_judged(cut) };
            }
            (Some(Decision::Ask), _) if self.rules.can_ask() => Standing::Asked { reason: merged.reason },
            (Some(Decision::Ask | Decision::Allow) | None, _) => Standing::Allowed,
        };
        match merged.updated_input {
            Some(arguments) if !is_same(&arguments, call.arguments()) => {
                Verdict::Rewritten { arguments, standing }
            }
            Some(_) | None => Verdict::Stands(standing),
        }
    }

    fn not_judged(&self, cut: Cut) -> String {
        let plugin = self.plugin();
        match cut {
            Cut::Unloaded => format!(
                "`{plugin}` was unloaded before its PreToolUse hooks had answered: call the tool again"
            ),
            Cut::Cancelled => format!(
                "the PreToolUse hooks of `{plugin}` were cancelled before they had answered: call the tool again"
            ),
        }
    }

    fn withheld(&self, cut: Cut) -> String {
        let plugin = self.plugin();
        let what = match cut {
            Cut::Unloaded => format!("`{plugin}` was unloaded"),
            Cut::Cancelled => "Error: tool call aborted".to_owned(),
        };
        format!(
            "{what} before the PostToolUse hooks of `{plugin}` had judged the result of this call, so it is withheld: look at \
             what the call has done before you make it again"
        )
    }
}

/// What comes of a call about which somebody is to be asked: those behind may still refuse it, or have it judged anew.
fn and_asked(reason: Option<String>, theirs: PreDecision) -> PreDecision {
    match theirs {
        PreDecision::Allow => PreDecision::Ask { reason },
        PreDecision::Ask { reason: more } => {
            let reasons: Vec<_> = [reason, more].into_iter().flatten().collect();
            PreDecision::Ask { reason: (!reasons.is_empty()).then(|| reasons.join("\n\n")) }
        }
        PreDecision::Deny { .. } | PreDecision::Replace { .. } => theirs,
    }
}

fn is_same(arguments: &serde_json::Map<String, Value>, given: &Value) -> bool {
    given.as_object() == Some(arguments)
}

fn tool_use(call: &ToolCall) -> ToolUse<'_> {
    ToolUse { name: call.name(), input: call.arguments(), id: call.id() }
}
