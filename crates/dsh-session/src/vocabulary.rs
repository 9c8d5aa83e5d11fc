//! The event types that this build knows.

use std::collections::HashSet;
use std::sync::LazyLock;

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
    match KNOWN.binary_search(&kind) {
        Ok(index) => Some(KNOWN[index]),
        Err(_) => OF_PLUGINS.get(kind).copied(),
    }
}

/// An event type of a plugin; see [`event_type`](crate::event_type).
#[doc(hidden)]
pub struct EventType(pub &'static str);

inventory::collect!(EventType);

static OF_PLUGINS: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| inventory::iter::<EventType>().map(|kind| kind.0).collect());

/// Tells readers that the program knows an event type of a plugin: without it a log that holds one cannot be read again. For
/// the item level of the crate that writes it.
///
/// # Examples
/// ```
/// dsh_session::event_type!("weather/mood");
/// assert!(dsh_session::is_known("weather/mood"));
/// ```
#[macro_export]
macro_rules! event_type {
    ($name:expr) => {
        $crate::inventory::submit! { $crate::EventType($name) }
    };
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
