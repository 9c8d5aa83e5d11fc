//! The event types that this build knows.

/// Sorted, so that a lookup is a binary search.
const KNOWN: &[&str] = &[
    "agent-preset/selected",
    "agent/inbox/spliced",
    "approval/asked",
    "approval/decided",
    "approval/policy",
    "assistant/chunk",
    "assistant/message",
    "command/done",
    "command/run",
    "compaction/end",
    "compaction/prune",
    "compaction/start",
    "compaction/summary",
    "feedback/record",
    "goal/change",
    "hook/invoked",
    "hook/result",
    "llm/retry",
    "llm/retry-started",
    "permission/preset",
    "plan/mode",
    "request/context",
    "request/header",
    "sandbox/mode",
    "schedule/change",
    "session/end-seed",
    "session/title",
    "session/title-llm-request",
    "step/end",
    "step/start",
    "subagent/descriptor",
    "team/member",
    "team/message/delivered",
    "team/message/queued",
    "team/task",
    "todo/write",
    "tool-workflow/agent-end",
    "tool-workflow/agent-start",
    "tool-workflow/run-end",
    "tool-workflow/run-start",
    "tool/call",
    "tool/code-dispatch",
    "tool/code-dispatch-start",
    "tool/result",
    "turn/end",
    "turn/start",
    "user/message",
    "web/deepseek-search-llm-request",
];

/// Whether a reader may meet this event type without `ignorable`.
///
/// Source: the event types that the reference's reader accepts.
#[must_use]
pub fn is_known(kind: &str) -> bool {
    known(kind).is_some()
}

/// The shared text of a known type.
pub(crate) fn known(kind: &str) -> Option<&'static str> {
    KNOWN.binary_search(&kind).ok().map(|index| KNOWN[index])
}

#[cfg(test)]
mod tests {
    use super::{KNOWN, is_known};

    #[test]
    fn the_table_is_sorted_without_duplicates() {
        assert!(KNOWN.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn a_core_type_is_known_and_a_made_up_one_is_not() {
        assert!(is_known("tool/call"));
        assert!(!is_known("tool/calls"));
    }
}
