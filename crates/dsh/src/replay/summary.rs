//! The sum of a replay.

use serde::Serialize;

use crate::replay::compare::Verdict;

/// How many calls came to what. Every call is counted in `calls` and in one of the verdicts: `same`, `different`, `denied`,
/// `aborted`, `not_compared`, `not_logged`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Summary {
    /// The calls that were made.
    pub(crate) calls: usize,
    /// The calls of the log that were not made, because the replay was interrupted.
    pub(crate) left_out: usize,
    pub(crate) same: usize,
    pub(crate) different: usize,
    pub(crate) denied: usize,
    pub(crate) aborted: usize,
    /// No plugin offers the tool, and the log has another result.
    pub(crate) not_compared: usize,
    /// The log has no result to compare with.
    pub(crate) not_logged: usize,
    /// The calls of tools that no plugin offers, whatever they came to.
    pub(crate) unknown_tool: usize,
    /// The results that are errors, where the log has another result or none.
    pub(crate) errors: usize,
    /// Whether the replay was told to end before its end.
    pub(crate) interrupted: bool,
    /// The names that no plugin offers, also where the log has the same result.
    pub(crate) unknown_names: Vec<String>,
    pub(crate) duration_ms: u64,
}

impl Summary {
    pub(crate) fn add(&mut self, verdict: Verdict, is_error: bool) {
        self.calls += 1;
        self.errors += usize::from(is_error && verdict.hides_an_error());
        *match verdict {
            Verdict::Same => &mut self.same,
            Verdict::Different => &mut self.different,
            Verdict::Denied => &mut self.denied,
            Verdict::Aborted => &mut self.aborted,
            Verdict::UnknownTool => &mut self.not_compared,
            Verdict::NotLogged => &mut self.not_logged,
        } += 1;
    }

    /// Adds that the tool of a call is unknown.
    pub(crate) fn add_unknown(&mut self, name: &str) {
        self.unknown_tool += 1;
        if !self.unknown_names.iter().any(|known| known == name) {
            self.unknown_names.push(name.to_owned());
        }
    }
}
