//! What hooks have answered for which arguments of a call.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dsh_tools::{CallToken, RunContext, ToolCall};
use parking_lot::Mutex;
use serde_json::Value;

/// Which bridge: several may be mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BridgeId(u64);

/// What hooks decide about a call that they do not refuse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It may go on.
    Allowed,
    /// Somebody is to be asked.
    Asked {
        /// Why.
        reason: Option<String>,
    },
}

/// What travels with a call: nested calls have the same list, so it says for which call an answer is.
#[derive(Default)]
struct Answers(Mutex<Vec<Answer>>);

struct Answer {
    bridge: BridgeId,
    call: CallToken,
    arguments: Value,
    standing: Standing,
}

impl BridgeId {
    pub(crate) fn fresh() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// What the bridge's hooks have decided about the call with its present arguments, if they made them.
pub(crate) fn recall(bridge: BridgeId, call: &ToolCall) -> Option<Standing> {
    let answers = call.context().get::<Answers>()?;
    let answers = answers.0.lock();
    let is_of = |answer: &&Answer| {
        answer.bridge == bridge && answer.call == call.token() && answer.arguments == **call.arguments()
    };
    answers.iter().rev().find(is_of).map(|answer| answer.standing.clone())
}

/// Remembers what the bridge's hooks have decided about the call with arguments that they made.
pub(crate) fn remember(bridge: BridgeId, call: &ToolCall, arguments: Value, standing: Standing) {
    let answer = Answer { bridge, call: call.token(), arguments, standing };
    answers(call.context()).0.lock().push(answer);
}

fn answers(context: &RunContext) -> Arc<Answers> {
    if let Some(answers) = context.get::<Answers>() {
        return answers;
    }
    context.insert(Answers::default());
    context.get::<Answers>().unwrap_or_default()
}
