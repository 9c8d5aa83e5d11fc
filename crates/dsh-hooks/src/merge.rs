//! What all the hooks that ran for one thing come to.

use serde_json::{Map, Value};

use crate::output::{HookOutput, Stop};
use crate::said::Decision;

/// What all the hooks that ran for one thing come to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Merged {
    /// The strongest decision.
    pub decision: Option<Decision>,
    /// Why those who made it did, a blank line between any two; none for [`Decision::Allow`].
    pub reason: Option<String>,
    /// The first wish to stop.
    pub stop: Option<Stop>,
    /// What the user is to be told, in the hooks' order.
    pub system_messages: Vec<String>,
    /// What the model is to be told, in the hooks' order.
    pub additional_contexts: Vec<String>,
    /// The arguments that the tool is to get: the last that were given.
    pub updated_input: Option<Map<String, Value>>,
}

/// Takes the answers of all hooks that ran, in the order of the configuration, together.
#[must_use]
pub fn merge(outputs: &[HookOutput]) -> Merged {
    let decision = outputs.iter().filter_map(HookOutput::decision).max();
    Merged {
        decision,
        reason: decision.filter(|it| *it > Decision::Allow).and_then(|it| reasons(outputs, it)),
        stop: outputs.iter().find_map(|output| output.stop.clone()),
        system_messages: texts(outputs, |output| output.system_message.as_deref()),
        additional_contexts: texts(outputs, |output| output.additional_context.as_deref()),
        updated_input: outputs.iter().rev().find_map(|output| output.updated_input.clone()),
    }
}

fn reasons(outputs: &[HookOutput], decision: Decision) -> Option<String> {
    let reasons =
        texts(outputs, |output| output.reason.as_deref().filter(|_| output.decision() == Some(decision)));
    (!reasons.is_empty()).then(|| reasons.join("\n\n"))
}

fn texts(outputs: &[HookOutput], text: impl Fn(&HookOutput) -> Option<&str>) -> Vec<String> {
    outputs.iter().filter_map(text).filter(|text| !text.is_empty()).map(str::to_owned).collect()
}
