//! What is shown of a question.

use std::fmt::Write as _;

use dsh_approval::{ApprovalOutcome, ApprovalRequest};

use crate::visible::visible;

/// What is asked, and the mark behind it. The mark is shown last, and says that a line is waited for.
pub(crate) struct Prompt {
    pub(crate) text: String,
    pub(crate) mark: &'static str,
}

/// Shown when a question ends without an answer while its line is waited for.
pub(crate) const WITHDRAWN: &str = "\nThis question was withdrawn. Press Enter to go on.\n";
/// Shown when that line has come.
pub(crate) const UNUSED: &str = "That line was not used: its question had been withdrawn.\n";

/// A question with everything that would be done.
pub(crate) fn question(request: &ApprovalRequest) -> Prompt {
    let quoted = |text: &str| visible(&serde_json::Value::from(text).to_string());
    let tool = quoted(&request.tool_name);
    let mut shown = format!(
        "\nApproval needed: agent {} wants to use the tool {tool}",
        quoted(request.agent.id().as_str())
    );
    if let Some(call) = &request.call_id {
        let _ = write!(shown, " (call {})", quoted(call));
    }
    let reason = request.reason.as_deref().map_or_else(|| "none given".to_owned(), quoted);
    let _ = write!(shown, "\nReason: {reason}\nArguments: ");
    match &request.arguments {
        None => shown.push_str("none given"),
        // Escaped before it is broken into lines: the line breaks are ours.
        Some(arguments) => shown.push_str(&visible(&format!("{arguments:#}")).replace('\n', "\n  ")),
    }
    let _ = write!(shown, "\nAllow the tool {tool} to do this once?");
    Prompt { text: shown, mark: " [y/n] " }
}

/// Asked when a line is no answer.
pub(crate) fn again() -> Prompt {
    Prompt { text: "Answer y to allow it once, or n to reject it".to_owned(), mark: ": " }
}

/// What a line answers, if it is an answer.
pub(crate) fn answer(line: &str) -> Option<ApprovalOutcome> {
    match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Some(ApprovalOutcome::AllowedOnce),
        "n" | "no" => Some(ApprovalOutcome::Rejected),
        _ => None,
    }
}
