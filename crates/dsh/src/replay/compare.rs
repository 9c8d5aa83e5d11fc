//! The new result of a call beside the logged one. Nothing is normalised.

use std::time::{Duration, Instant};

use dsh_tools::{ErrorInfo, ToolOutcome};
use serde::Serialize;
use similar::TextDiff;

use crate::replay::plan::LoggedResult;
use crate::visible::shortened;

/// How many lines of a difference are shown.
const MAX_LINES: usize = 24;
/// How long the lines that are the same are searched for. It takes the square of what differs, and a log can hold anything.
const TIMEOUT: Duration = Duration::from_secs(1);

/// What the replay of a call came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Verdict {
    /// Text, error flag and error code are those of the log.
    Same,
    /// At least one of them is not.
    Different,
    /// A policy or a guard refused the call.
    Denied,
    /// The call was interrupted.
    Aborted,
    /// No plugin offers the tool, and the log has a result of it.
    UnknownTool,
    /// The log ends before the call's result.
    NotLogged,
}

impl Verdict {
    pub(crate) fn of(logged: Option<&LoggedResult>, outcome: &ToolOutcome) -> Self {
        match logged {
            _ if outcome.is_denied() => Self::Denied,
            Some(logged) if *logged == replayed(outcome) => Self::Same,
            _ if is_aborted(outcome) => Self::Aborted,
            None => Self::NotLogged,
            Some(_) if is_unknown(outcome) => Self::UnknownTool,
            Some(_) => Self::Different,
        }
    }

    /// Whether an error that the call ended in is news, and not told by the verdict.
    pub(crate) fn hides_an_error(self) -> bool {
        matches!(self, Self::Different | Self::NotLogged)
    }

    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Different => "different",
            Self::Denied => "denied",
            Self::Aborted => "aborted",
            Self::UnknownTool => "unknown tool",
            Self::NotLogged => "not logged",
        }
    }
}

fn is_aborted(outcome: &ToolOutcome) -> bool {
    [ErrorInfo::ABORTED, ErrorInfo::ABORTED_BEFORE_DISPATCH]
        .iter()
        .any(|error| outcome.code() == Some(&*error.code))
}

/// Whether no plugin offers the tool that was called.
pub(crate) fn is_unknown(outcome: &ToolOutcome) -> bool {
    outcome.code() == Some(&*ErrorInfo::UNKNOWN_TOOL.code)
}

/// The first line in which the texts differ, counted from 1.
pub(crate) fn first_difference(logged: &LoggedResult, outcome: &ToolOutcome) -> Option<usize> {
    let content = outcome.text();
    if logged.content == content {
        return None;
    }
    let same = logged.content.split('\n').zip(content.split('\n')).take_while(|(old, new)| old == new);
    Some(same.count() + 1)
}

/// The difference in a few lines, none wider than `max_columns`: `-` was logged, `+` is new. Safe to print.
pub(crate) fn difference(logged: &LoggedResult, outcome: &ToolOutcome, max_columns: usize) -> Vec<String> {
    let replayed = replayed(outcome);
    let mut lines = Vec::new();
    if logged.is_error != replayed.is_error {
        lines.push(format!("- is an error: {}", logged.is_error));
        lines.push(format!("+ is an error: {}", replayed.is_error));
    }
    if logged.code != replayed.code {
        for (sign, code) in [('-', &logged.code), ('+', &replayed.code)] {
            lines.push(format!("{sign} code: {}", code.as_deref().unwrap_or("none")));
        }
    }
    let deadline = Instant::now() + TIMEOUT;
    let diff = TextDiff::configure()
        .deadline(deadline)
        .diff_lines(logged.content.as_str(), replayed.content.as_str());
    let cut_off = Instant::now() > deadline;
    // Only where the end of the text is what differs.
    let hint = logged.content.ends_with('\n') != replayed.content.ends_with('\n');
    let unified = diff.unified_diff().context_radius(1).missing_newline_hint(hint).to_string();
    lines.extend(unified.lines().map(str::to_owned));
    if lines.len() > MAX_LINES {
        let more = lines.len() - MAX_LINES;
        lines.truncate(MAX_LINES);
        lines.push(format!("… {more} more lines"));
    }
    if cut_off {
        lines.push(format!(
            "… the comparison was cut off after {} s, so lines that are the same can be shown as different",
            TIMEOUT.as_secs()
        ));
    }
    lines.iter().map(|line| shortened(line, max_columns)).collect()
}

fn replayed(outcome: &ToolOutcome) -> LoggedResult {
    LoggedResult {
        content: outcome.text(),
        is_error: outcome.is_error(),
        code: outcome.code().map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use dsh_tools::{ErrorInfo, Failure, ToolOutcome};

    use super::{LoggedResult, Verdict, difference, first_difference};

    fn logged(content: &str, is_error: bool, code: Option<&str>) -> LoggedResult {
        LoggedResult { content: content.to_owned(), is_error, code: code.map(str::to_owned) }
    }

    fn coded(message: &str, kind: ErrorInfo) -> ToolOutcome {
        ToolOutcome::failure(Failure::new(message).coded(kind))
    }

    #[test]
    fn a_result_is_the_same_in_text_flag_and_code_or_different() {
        let outcome = ToolOutcome::success("a\nb");
        assert_eq!(Verdict::of(Some(&logged("a\nb", false, None)), &outcome), Verdict::Same);
        for other in
            [logged("a\nb\n", false, None), logged("a\nb", true, None), logged("a\nb", false, Some("X"))]
        {
            assert_eq!(Verdict::of(Some(&other), &outcome), Verdict::Different);
        }
        assert_eq!(Verdict::of(None, &outcome), Verdict::NotLogged);
    }

    #[test]
    fn an_unknown_tool_is_no_difference() {
        let outcome = coded("unknown tool \"x\"", ErrorInfo::UNKNOWN_TOOL);
        assert_eq!(Verdict::of(Some(&logged("ok", false, None)), &outcome), Verdict::UnknownTool);
        let same = logged("Error: unknown tool \"x\"", true, Some("UNKNOWN_TOOL"));
        assert_eq!(Verdict::of(Some(&same), &outcome), Verdict::Same);
    }

    #[test]
    fn a_denied_call_is_denied_whatever_the_log_says() {
        let outcome = ToolOutcome::denied("no");
        assert_eq!(Verdict::of(Some(&logged("Error: no", true, None)), &outcome), Verdict::Denied);
        assert_eq!(Verdict::of(None, &outcome), Verdict::Denied);
    }

    #[test]
    fn an_aborted_call_is_no_difference() {
        let outcome = coded("bash aborted", ErrorInfo::ABORTED);
        assert_eq!(Verdict::of(Some(&logged("ok", false, None)), &outcome), Verdict::Aborted);
        assert_eq!(Verdict::of(None, &outcome), Verdict::Aborted);
        let same = logged("Error: bash aborted", true, Some("ABORTED"));
        assert_eq!(Verdict::of(Some(&same), &outcome), Verdict::Same);
    }

    #[test]
    fn a_difference_is_short_and_safe_to_print() {
        let old = logged("a\nb\x1b[2J\nc\n", false, None);
        let new = ToolOutcome::success("a\nB\nc\n");
        assert_eq!(first_difference(&old, &new), Some(2));
        let lines = difference(&old, &new, 80);
        assert!(lines.contains(&"-b\\u{1b}[2J".to_owned()), "{lines:?}");
        assert!(lines.contains(&"+B".to_owned()), "{lines:?}");
        let long = ToolOutcome::success("x\n".repeat(1_000));
        assert!(difference(&old, &long, 80).len() <= super::MAX_LINES + 1);
    }
}
